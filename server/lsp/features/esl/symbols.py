"""The outline of a spec, workspace symbols by a part of the name, folding ranges, and selection ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.positions import uri_of

if TYPE_CHECKING:
    from clew.esl.assist.outline import Symbol
    from clew.server.lsp.server import ClewServer

MOST = 500
"""Maximum number of names in the result of a workspace search."""
KINDS = {
    "include": types.SymbolKind.Package,
    "scope": types.SymbolKind.Namespace,
    "act": types.SymbolKind.Event,
    "request": types.SymbolKind.Function,
    "setting": types.SymbolKind.Constant,
    "level": types.SymbolKind.Enum,
    "label": types.SymbolKind.EnumMember,
    "entity": types.SymbolKind.Class,
    "watch": types.SymbolKind.Field,
    "event": types.SymbolKind.Event,
    "channel": types.SymbolKind.Event,
    "parameter": types.SymbolKind.Constant,
}


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
        from clew.esl.assist.outline import symbols_of
        from clew.esl.syntax.parser import parse

        spec = _opened(server, params.text_document.uri)
        if spec is None:
            return None
        found = await server.work("clew: outline", lambda _: symbols_of(parse(spec.text).tree, spec.text))
        return [_symbol(each, spec) for each in found]

    @server.feature(types.WORKSPACE_SYMBOL)
    async def workspace_symbols(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        return await server.work("clew: names", lambda _: _named(server, params.query))

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding(params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        from clew.esl.assist.outline import folds_of

        spec = _opened(server, params.text_document.uri)
        if spec is None:
            return None
        found = await server.work("clew: folds", lambda _: list(folds_of(spec.text)))
        comment = types.FoldingRangeKind.Comment
        return [
            types.FoldingRange(first - 1, last - 1, kind=comment if is_comment else None)
            for first, last, is_comment in found
        ]

    @server.feature(types.TEXT_DOCUMENT_SELECTION_RANGE)
    async def selection(params: types.SelectionRangeParams) -> list[types.SelectionRange] | None:
        from clew.esl.assist.outline import around
        from clew.esl.syntax.parser import parse

        spec = _opened(server, params.text_document.uri)
        if spec is None:
            return None
        offsets = [spec.offset(position) for position in params.positions]

        def chains() -> list[tuple[tuple[int, int], ...]]:
            tree = parse(spec.text).tree
            return [around(tree, spec.text, offset) for offset in offsets]

        return [_nested(spec, chain) for chain in await server.work("clew: selection", lambda _: chains())]


def _opened(server: ClewServer, uri: str) -> SpecText | None:
    document = server.open_document(uri)
    return SpecText.of(document) if is_spec(uri) and document is not None else None


def _symbol(symbol: Symbol, spec: SpecText) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=symbol.name or "?",
        detail=symbol.detail,
        kind=KINDS[symbol.kind],
        range=spec.range_of(symbol.span),
        selection_range=spec.range_of(symbol.name_span),
        children=[_symbol(child, spec) for child in symbol.children],
    )


def _named(server: ClewServer, query: str) -> list[types.SymbolInformation]:
    """Return the names that specs declare, each once per spec."""
    found: dict[tuple[str, ...], types.SymbolInformation] = {}
    for path, text, names in server.specs.names():
        near = [each for each in names if each.given and query.lower() in each.name.lower()]
        there = SpecText(uri_of(path), text) if near else None
        for each in near:
            if there is not None and each.kind not in ("watch", "label"):
                place = there.range_location(each.span)
                inside = f"{each.kind} in {there.name}"
                symbol = types.SymbolInformation(place, each.name, KINDS[each.kind], container_name=inside)
                found.setdefault((path, *each.meaning), symbol)
    return list(found.values())[:MOST]


def _nested(spec: SpecText, chain: tuple[tuple[int, int], ...]) -> types.SelectionRange:
    outer: types.SelectionRange | None = None
    for start, end in reversed(chain):
        outer = types.SelectionRange(spec.range(start, end), outer)
    assert outer is not None
    return outer
