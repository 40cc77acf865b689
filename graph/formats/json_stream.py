"""Read JSON incrementally: enter arrays and objects, and decode their parts with the standard library's scanner.

A document of any size needs only the memory of its largest part. The C scanner is several times as fast as a tokenizer. This
module adds the position of an error in the file, and reading truncated arrays.
Invariant: positions in errors and of `Cut` are characters from the beginning of the text.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from clew.graph.formats.source import FormatError, Source

_BLANK = re.compile(r"[ \t\n\r]*")
_NEXT = re.compile(r'[ \t\n\r]*,[ \t\n\r]*(?=[{\["])')
_PRIMITIVE_END = frozenset(" \t\n\r,]}")
_BEGUN = re.compile(r"\s*[-+.\\\w]{0,8}\s*")
"""The beginning of a number or a word at the end of the text."""
_NEAR = 16
LARGEST_PART = 1 << 28
"""The maximum size of a part in characters; a larger span means that the file is damaged."""


class Cut(Exception):
    """The text ended inside an array or object."""


class JsonStream:
    """A cursor over the text of a file. Raises `FormatError` for invalid JSON and `Cut` at a premature end."""

    def __init__(self, source: Source, parse_float: Callable[[str], Any] | None = None) -> None:
        self.source = source
        self._decoder = json.JSONDecoder(parse_float=parse_float, strict=False)
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._at = 0
        self._before = 0
        self._over = False
        self.replaced = False
        """Whether invalid UTF-8 was replaced."""
        if self.peek() == "\ufeff":
            self._at += 1

    @property
    def position(self) -> int:
        return self._before + self._at

    def _more(self) -> bool:
        if self._over:
            return False
        data = self.source.read()
        text = self._characters.decode(data, not data)
        self.replaced = self.replaced or ("\ufffd" in text and b"\xef\xbf\xbd" not in data)
        self._over = not data
        self._before += self._at
        self._text = self._text[self._at :] + text
        self._at = 0
        return True

    def peek(self) -> str:
        """Return the next character that is not white space, "" at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _expect(self, expected: str) -> None:
        found = self.peek()
        if not found:
            raise Cut
        if found != expected:
            raise self.error(f"expected {expected!r}, found {found!r}")
        self._at += 1

    def error(self, what: str) -> FormatError:
        return FormatError(
            f"{self.source.path}: invalid JSON at character {self.position:,}: {what}; write or download the file again"
        )

    def value(self) -> Any:
        """Read the next value completely."""
        first = self.peek()
        if not first:
            raise Cut
        size = 0
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                # A number can continue in the next chunk.
                if end < len(self._text) or self._over or first in '"{[':
                    if first not in '"{[' and end < len(self._text) and self._text[end] not in _PRIMITIVE_END:
                        raise self.error(f"{self._text[self._at : end + 1]!r}")
                    self._at = end
                    return value
            except RecursionError:
                raise self.error("nested too deeply") from None
            except ValueError as error:
                # A truncated text fails at its very end, or inside an unterminated string.
                cut = "Unterminated" in str(error) or getattr(error, "pos", 0) > len(self._text) - _NEAR
                if self._over or not cut:
                    self._fail(error)
            # Double the size each time, so that a large part is not scanned too often.
            size = max(2 * size, len(self._text) - self._at, 1)
            if size > LARGEST_PART:
                raise self.error("a value has no end")
            while len(self._text) - self._at < 2 * size and self._more():
                pass

    def _fail(self, error: ValueError) -> None:
        at = getattr(error, "pos", self._at)
        if self._over and ("Unterminated" in str(error) or _BEGUN.fullmatch(self._text, at)):
            raise Cut from None
        self._at = at
        raise self.error(str(getattr(error, "msg", error))) from None

    def items(self) -> Iterator[None]:
        """Enter an array; at each step, the caller has to read the next item."""
        self._expect("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            following = self.peek()
            if following == "]":
                self._at += 1
                return
            self._expect(",")
            if self.peek() == "]":  # many writers leave a comma after the last item
                self._at += 1
                return

    def members(self) -> Iterator[str]:
        """Enter an object and yield its keys; at each step, the caller has to read the value."""
        self._expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() not in ('"', ""):
                raise self.error(f"expected a key, found {self.peek()!r}")
            key = str(self.value())
            self._expect(":")
            yield key
            following = self.peek()
            if following == "}":
                self._at += 1
                return
            self._expect(",")

    def array(self) -> Iterator[Any]:
        """Yield the items of an array; skip a value that is not an array."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            yield self.value()
            # Most of the following items are completely in memory already.
            while following := _NEXT.match(self._text, self._at):
                try:
                    value, self._at = self._decoder.raw_decode(self._text, following.end())
                except (ValueError, RecursionError):
                    break
                yield value

    def documents(self) -> Iterator[str]:
        """Move to each of several consecutive documents, such as JSON lines, and yield its first character."""
        while first := self.peek():
            yield first
