"""From a pattern to the functions that it means and back, and between the places of a name, in all specs of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.features.esl.spec_text import SpecText, is_spec
from clew.server.files import same_file_key
from clew.server.outline import Definition, outline
from clew.server.positions import location_of, path_of, uri_of
from clew.server.session import Cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.esl.about import Meant
    from clew.esl.functions import FunctionInfo
    from clew.esl.names import Occurrence
    from clew.server.server import ClewServer
    from clew.server.specs import Specs

MOST = 300
"""Functions that a definition leads to."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location] | None:
        uri, position = params.text_document.uri, params.position
        path, document = path_of(uri), server.open_document(uri)
        if document is None:
            return None
        text = document.source
        try:
            if is_spec(uri):
                spec = SpecText.of(document)
                return await server.work(
                    "clew: references",
                    lambda _: spec_references(
                        server.specs, spec, spec.offset(position), given=params.context.include_declaration
                    ),
                )
            if path.endswith(".py"):
                return await server.work(
                    "clew: references", lambda _: rules_that_name(server.specs, path, text, position.line + 1)
                )
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.tell_once(str(error))
        return None


def definition(specs: Specs, spec: SpecText, offset: int) -> list[types.Location]:
    """Of a pattern its functions, of a rule's first words those of all its patterns, of a name the places that give it, of an
    included pack its text."""
    from clew.esl import about
    from clew.esl.packs import path_of, shipped
    from clew.esl.parser import parse

    tree = parse(spec.text).tree
    name = about.name_at(_names_in(specs, spec), offset)
    if name is not None:
        found = [(path, text, each) for path, text, each in _everywhere(specs, spec, name) if each.given]
        # The other ends of a channel, where it has some.
        others = [one for one in found if one[2].verb != name.verb] or found
        return [_location(spec, path, text, each) for path, text, each in others]
    pack = about.pack_at(tree, offset)
    if pack in shipped():
        return [location_of(path_of(pack), 1)]
    meant = about.pattern_at(tree, offset, str(specs.workspace))
    rules = [meant] if meant is not None else about.rules_at(tree, offset, str(specs.workspace))
    functions = dict.fromkeys(function for each in rules for function in specs.functions_of(each.rule))
    return [_of_function(function) for function in list(functions)[:MOST]]


def spec_references(specs: Specs, spec: SpecText, offset: int, *, given: bool) -> list[types.Location]:
    """Of a name all its places, of a pattern all rules that mean one of its functions."""
    from clew.esl import about
    from clew.esl.parser import parse

    name = about.name_at(_names_in(specs, spec), offset)
    if name is not None:
        found = _everywhere(specs, spec, name)
        return [_location(spec, path, text, each) for path, text, each in found if given or not each.given]
    meant = about.pattern_at(parse(spec.text).tree, offset, str(specs.workspace))
    if meant is None:
        return []
    functions = set(specs.functions_of(meant.rule))
    return [
        SpecText(uri_of(path), text).range_location(each.span)
        for path, text, each, found in rules(specs, spec.path, spec.text)
        if functions.intersection(found)
    ]


def rules_that_name(specs: Specs, path: str, text: str, line: int) -> list[types.Location]:
    """The rules of all specs that mean the function whose `def` stands in a line (from 1) of a Python file."""
    definition = definition_at(text, line)
    if definition is None:
        return []
    file = same_file_key(path)
    return [
        SpecText(uri_of(where), content).range_location(each.span)
        for where, content, each, found in rules(specs)
        if any(other.name == definition.qualname and same_file_key(other.file) == file for other in found)
    ]


def rules(specs: Specs, path: str = "", text: str = "") -> Iterator[tuple[str, str, Meant, tuple[FunctionInfo, ...]]]:
    """The patterns of all specs with the functions they mean; those of the spec at `path` as they are in `text`."""
    from clew.esl.about import patterns_of
    from clew.esl.parser import parse

    for where, content, _ in specs.names(path, text):
        for each in patterns_of(parse(content).tree, str(specs.workspace)):
            if each.role in ("rule", "label"):
                yield where, content, each, specs.functions_of(each.rule)


def definition_at(text: str, line: int) -> Definition | None:
    """The function whose `def`, or decorator, stands in a line (from 1) of a Python text."""
    named = outline(text) or {}
    return next((one for some in named.values() for one in some if one.first_line <= line <= one.line), None)


def _names_in(specs: Specs, spec: SpecText) -> tuple[Occurrence, ...]:
    return next(names for _, _, names in specs.names(spec.path, spec.text))


def _everywhere(specs: Specs, spec: SpecText, name: Occurrence) -> list[tuple[str, str, Occurrence]]:
    """A pack's parameter in its text, too, which is none of the workspace."""
    known = list(specs.names(spec.path, spec.text))
    if name.kind == "parameter" and all(same_file_key(path) != name.owner for path, _, _ in known):
        known += specs.names_of_pack(name.owner)
    return [(path, text, each) for path, text, names in known for each in names if each.meaning == name.meaning]


def _location(spec: SpecText, path: str, text: str, name: Occurrence) -> types.Location:
    there = spec if path == spec.path else SpecText(uri_of(path), text)
    return there.range_location(name.span)


def _of_function(function: FunctionInfo) -> types.Location:
    return location_of(function.file, function.line)
