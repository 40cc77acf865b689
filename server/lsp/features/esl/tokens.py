"""Semantic tokens: each word of a spec as the grammar has read it, for the whole text or the visible range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server.lsp.features.esl.spec_text import SpecText, is_spec

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

TYPES = (
    "namespace", "class", "function", "method", "parameter", "variable", "property", "enum", "enumMember", "event",
    "keyword", "string", "number", "operator", "comment", "type",
)  # fmt: skip
MODIFIERS = ("declaration", "defaultLibrary", "readonly")
LEGEND = types.SemanticTokensLegend(token_types=list(TYPES), token_modifiers=list(MODIFIERS))


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def full(params: types.SemanticTokensParams) -> types.SemanticTokens | None:
        return await _tokens(server, params.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, LEGEND)
    async def part(params: types.SemanticTokensRangeParams) -> types.SemanticTokens | None:
        return await _tokens(server, params.text_document.uri, params.range)


async def _tokens(server: ClewServer, uri: str, place: types.Range | None) -> types.SemanticTokens | None:
    document = server.open_document(uri)
    if not is_spec(uri) or document is None:
        return None
    spec = SpecText.of(document)
    return types.SemanticTokens(data=await server.work("clew: colours", lambda _: encoded(spec, place)))


def encoded(spec: SpecText, place: types.Range | None = None) -> list[int]:
    """Return five numbers per token, relative to the one before. A token of several lines gives one per line."""
    from clew.esl.assist.semantic_tokens import tokens_of

    begin = spec.offset(place.start) if place else 0
    end = spec.offset(place.end) if place else len(spec.text)
    data: list[int] = []
    row = column = 0
    for start, stop, kind, modifier in tokens_of(spec.text, begin, end):
        bits = 1 << MODIFIERS.index(modifier) if modifier else 0
        first = start
        for part in spec.text[start:stop].split("\n"):
            at, after = spec.position(first), spec.position(first + len(part))
            first += len(part) + 1
            length = after.character - at.character
            if length <= 0:
                continue
            same = at.line == row
            data += [at.line - row, at.character - (column if same else 0), length, TYPES.index(kind), bits]
            row, column = at.line, at.character
    return data
