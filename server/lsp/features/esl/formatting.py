"""Formatting of specs: the whole text, the statements of a range, and the text before a typed `;` or `}`.

Invariant: only changed lines are sent, so that cursors and folds elsewhere stay.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.session.session import Cancelled

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(server, params.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_RANGE_FORMATTING)
    async def range_formatting(params: types.DocumentRangeFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(server, params.text_document.uri, params.range)

    @server.feature(
        types.TEXT_DOCUMENT_ON_TYPE_FORMATTING, types.DocumentOnTypeFormattingOptions(";", more_trigger_character=["}"])
    )
    async def on_type(params: types.DocumentOnTypeFormattingParams) -> list[types.TextEdit] | None:
        return await _edits(server, params.text_document.uri, types.Range(params.position, params.position))


async def _edits(server: ClewServer, uri: str, place: types.Range | None) -> list[types.TextEdit] | None:
    from clew.esl.syntax.formatter import format_text

    document = server.open_document(uri)
    if not is_spec(uri) or document is None:
        return None
    spec = SpecText.of(document)
    try:
        formatted = await server.work("clew: formatting", lambda _: format_text(spec.text))
    except ClewError as error:
        if not isinstance(error, Cancelled):
            server.show_once(str(error))
        return None
    return edits(spec, formatted, place)


def edits(spec: SpecText, formatted: str, place: types.Range | None = None) -> list[types.TextEdit]:
    """Return the edits that make the text the formatted one; with a range, only the edits that touch its lines."""
    before, after = spec.text.splitlines(keepends=True), formatted.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    first = spec.offset(types.Position(place.start.line, 0)) if place else 0
    last = spec.offset(place.end) if place else len(spec.text)
    made = []
    for tag, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal" and starts[begin] <= last and starts[end] >= first:
            text = "".join(after[new_begin:new_end])
            made.append(types.TextEdit(spec.range(starts[begin], starts[end]), text))
    return made
