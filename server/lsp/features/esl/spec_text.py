"""A spec in the editor: its text at one version, and its positions in the editor's units.

Invariant: it is created on the event loop; a worker thread does not read the editor's document.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument

from clew.server.lsp.positions import path_of

if TYPE_CHECKING:
    from clew.esl import Span

SUFFIX = ".esl"


def is_spec(uri: str) -> bool:
    return uri.endswith(SUFFIX)


class SpecText:
    def __init__(self, uri: str, text: str, codec: PositionCodec | None = None, version: int | None = None) -> None:
        self.uri = uri
        self.path = path_of(uri) or uri
        self.text = text
        self.version = version
        self._codec = codec or PositionCodec()
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @classmethod
    def of(cls, document: TextDocument) -> SpecText:
        return cls(document.uri, document.source, document.position_codec, document.version)

    @property
    def name(self) -> str:
        return Path(self.path).name

    def offset(self, position: types.Position) -> int:
        """Return the offset into the text. Positions after a line's end, or the text's, mean that end."""
        if position.line >= len(self._lines):
            return len(self.text)
        row = max(0, position.line)
        line = self._lines[row]
        if line.isascii():
            column = position.character
        else:
            column = units = 0
            while column < len(line) and units < position.character:
                units += self._codec.client_num_units(line[column])
                column += 1
        return self._starts[row] + min(max(0, column), len(line))

    def position(self, offset: int) -> types.Position:
        offset = min(max(0, offset), len(self.text))
        row = bisect_right(self._starts, offset, hi=len(self._lines)) - 1
        line, column = self._lines[row], offset - self._starts[row]
        return types.Position(row, column if line.isascii() else self._codec.client_num_units(line[:column]))

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def range_of(self, span: Span) -> types.Range:
        return self.range(span.start, span.end)

    def range_location(self, span: Span) -> types.Location:
        return types.Location(self.uri, self.range_of(span))
