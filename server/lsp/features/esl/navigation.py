"""Navigation from a pattern to its functions and back, and between the occurrences of a name, in all specs of the
workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.locations.definitions import Definition, outline
from clew.server.locations.paths import same_file_key
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import location_of, path_of, uri_of
from clew.server.session.session import Cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.esl.assist.hover import Meant
    from clew.esl.assist.references import Occurrence
    from clew.esl.index.declarations import FunctionInfo
    from clew.server.lsp.server import ClewServer
    from clew.server.session.specs import Specs

MOST = 300
"""Maximum number of functions of a definition."""


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
                server.show_once(str(error))
        return None


def definition(specs: Specs, spec: SpecText, offset: int) -> list[types.Location]:
    """Return the definition: for a pattern its functions, for a rule's first words the functions of all its patterns,
    for a name its declarations, for an included pack its text."""
    from clew.esl.assist import hover
    from clew.esl.packs.registry import path_of, shipped
    from clew.esl.syntax.parser import parse

    tree = parse(spec.text).tree
    name = hover.name_at(_names_in(specs, spec), offset)
    if name is not None:
        found = [(path, text, each) for path, text, each in _everywhere(specs, spec, name) if each.given]
        # The other ends of the channel, if it has any.
        others = [one for one in found if one[2].verb != name.verb] or found
        return [_location(spec, path, text, each) for path, text, each in others]
    pack = hover.pack_at(tree, offset)
    if pack in shipped():
        return [location_of(path_of(pack), 1)]
    meant = hover.pattern_at(tree, offset, str(specs.workspace))
    rules = [meant] if meant is not None else hover.rules_at(tree, offset, str(specs.workspace))
    functions = dict.fromkeys(function for each in rules for function in specs.functions_of(each.rule))
    return [_of_function(function) for function in list(functions)[:MOST]]


def spec_references(specs: Specs, spec: SpecText, offset: int, *, given: bool) -> list[types.Location]:
    """Return all occurrences of a name, or all rules with a function of a pattern."""
    from clew.esl.assist import hover
    from clew.esl.syntax.parser import parse

    name = hover.name_at(_names_in(specs, spec), offset)
    if name is not None:
        found = _everywhere(specs, spec, name)
        return [_location(spec, path, text, each) for path, text, each in found if given or not each.given]
    meant = hover.pattern_at(parse(spec.text).tree, offset, str(specs.workspace))
    if meant is None:
        return []
    functions = set(specs.functions_of(meant.rule))
    return [
        SpecText(uri_of(path), text).range_location(each.span)
        for path, text, each, found in rules(specs, spec.path, spec.text)
        if functions.intersection(found)
    ]


def rules_that_name(specs: Specs, path: str, text: str, line: int) -> list[types.Location]:
    """Return the rules of all specs for the function whose `def` is in a line (from 1) of a Python file."""
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
    """Yield the patterns of all specs with their functions; `text` is the text of the spec at `path`."""
    from clew.esl.assist.hover import patterns_of
    from clew.esl.syntax.parser import parse

    for where, content, _ in specs.names(path, text):
        for each in patterns_of(parse(content).tree, str(specs.workspace)):
            if each.role in ("rule", "label"):
                yield where, content, each, specs.functions_of(each.rule)


def definition_at(text: str, line: int) -> Definition | None:
    """Return the function whose `def` or decorator is in a line (from 1) of a Python text."""
    named = outline(text) or {}
    return next((one for some in named.values() for one in some if one.first_line <= line <= one.line), None)


def _names_in(specs: Specs, spec: SpecText) -> tuple[Occurrence, ...]:
    return next(names for _, _, names in specs.names(spec.path, spec.text))


def _everywhere(specs: Specs, spec: SpecText, name: Occurrence) -> list[tuple[str, str, Occurrence]]:
    """Yield all occurrences; for a parameter of a pack also those in the pack's text, which is outside the workspace."""
    known = list(specs.names(spec.path, spec.text))
    if name.kind == "parameter" and all(same_file_key(path) != name.owner for path, _, _ in known):
        known += specs.names_of_pack(name.owner)
    return [(path, text, each) for path, text, names in known for each in names if each.meaning == name.meaning]


def _location(spec: SpecText, path: str, text: str, name: Occurrence) -> types.Location:
    there = spec if path == spec.path else SpecText(uri_of(path), text)
    return there.range_location(name.span)


def _of_function(function: FunctionInfo) -> types.Location:
    return location_of(function.file, function.line)
