"""Renaming in all specs of the workspace at once: names of specs, and parameters of the program's functions in their
rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import uri_of

if TYPE_CHECKING:
    from clew.esl.assist.references import Occurrence
    from clew.server.lsp.server import ClewServer
    from clew.server.session.specs import Specs


class CannotRename(ClewError):
    """The new name is not valid."""


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: types.PrepareRenameParams) -> types.Range | None:
        spec = _opened(server, params.text_document.uri)
        if spec is None:
            return None
        offset = spec.offset(params.position)
        place = await server.work("clew: rename", lambda _: _place(server.specs, spec, offset))
        return spec.range(*place) if place is not None else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        from clew.server.lsp.server import RequestFailed

        spec = _opened(server, params.text_document.uri)
        if spec is None:
            return None
        offset, new = spec.offset(params.position), params.new_name
        try:
            return await server.work("clew: rename", lambda _: renamed(server.specs, spec, offset, new))
        except CannotRename as error:
            raise RequestFailed(str(error)) from None


def _opened(server: ClewServer, uri: str) -> SpecText | None:
    document = server.open_document(uri)
    return SpecText.of(document) if is_spec(uri) and document is not None else None


def _place(specs: Specs, spec: SpecText, offset: int) -> tuple[int, int] | None:
    from clew.esl.assist.rename import parameter_at
    from clew.esl.syntax.parser import parse

    name = _name(specs, spec, offset)
    if name is not None:
        return name.span.start, name.span.end
    found = parameter_at(parse(spec.text).tree, offset, str(specs.workspace))
    return (found[2].start, found[2].end) if found is not None else None


def _name(specs: Specs, spec: SpecText, offset: int) -> Occurrence | None:
    from clew.esl.assist.hover import name_at

    return name_at(next(names for _, _, names in specs.names(spec.path, spec.text)), offset)


def renamed(specs: Specs, spec: SpecText, offset: int, new: str) -> types.WorkspaceEdit | None:
    """Return the edit. Raises `CannotRename`, whose text states the reason."""
    from clew.esl.assist import rename
    from clew.esl.syntax.parser import parse

    everywhere = list(specs.names(spec.path, spec.text))
    name = _name(specs, spec, offset)
    changes: dict[str, list[tuple[int, int, str]]] = {}
    texts = {path: text for path, text, _ in everywhere}
    if name is not None:
        reason = rename.why_not(name, new, [each for _, _, names in everywhere for each in names])
        if reason:
            raise CannotRename(reason)
        for path, text, names in everywhere:
            changes[path] = rename.edits_of(name, new, text, names)
    else:
        found = rename.parameter_at(parse(spec.text).tree, offset, str(specs.workspace))
        if found is None:
            return None
        if not new.isidentifier():
            raise CannotRename(f"`{new}` cannot be the name of a parameter")
        functions = frozenset(specs.functions_of(found[0].rule))
        for path, text, _ in everywhere:
            tree = parse(text).tree
            changes[path] = rename.parameter_edits(tree, found[1], new, functions, specs.functions_of)
    return types.WorkspaceEdit(
        changes={
            (spec.uri if path == spec.path else uri_of(path)): _edits(spec, path, texts[path], made)
            for path, made in changes.items()
            if made
        }
    )


def _edits(spec: SpecText, path: str, text: str, made: list[tuple[int, int, str]]) -> list[types.TextEdit]:
    there = spec if path == spec.path else SpecText(uri_of(path), text)
    return [types.TextEdit(there.range(start, end), new) for start, end, new in made]
