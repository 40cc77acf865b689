"""Describe places in a spec's text. Lines and columns count from 1 in code points, ends are exclusive; offsets count
from 0."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    line: int
    column: int
    end_line: int
    end_column: int
    """The column after the last character."""
    start: int = 0
    end: int = 0
    """Offsets into the text, `text[start:end]`."""

    def moved(self, lines: int, offset: int) -> Span:
        """Return the span moved by `lines` whole lines that have `offset` characters."""
        if not offset:
            return self
        return Span(
            self.line + lines,
            self.column,
            self.end_line + lines,
            self.end_column,
            self.start + offset,
            self.end + offset,
        )


class Lines:
    """Converts offsets of one text to spans. Only `\\n` ends a line; a `\\r` before it counts as a blank."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self._starts = [0]
        position = text.find("\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = text.find("\n", position + 1)

    def span(self, start: int, end: int) -> Span:
        """Return the span of two offsets; offsets outside the text are clamped."""
        start = min(max(start, 0), self.length)
        end = min(max(end, start), self.length)
        first, last = bisect_right(self._starts, start), bisect_right(self._starts, end)
        return Span(first, start - self._starts[first - 1] + 1, last, end - self._starts[last - 1] + 1, start, end)
