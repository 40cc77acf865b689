"""JSON read piece by piece: arrays and objects are entered, their parts decoded by the standard library's scanner.

A document of any size takes the memory of its largest part. The scanner is in C and several times as fast as a
parser of single tokens; it does not say where in a file a mistake is, nor go on with a cut array, so this does.
Invariant: positions that errors name are characters from the text's beginning, as is `Cut`'s.
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
"""What is left of a number or a word at the text's end."""
_NEAR = 16
LARGEST_PART = 1 << 28
"""Characters; a single span of more is damage."""


class Cut(Exception):
    """The text ended inside an array or object."""


class JsonStream:
    """A cursor over the text of a file. Raises `FormatError` where it is no JSON and `Cut` where it ends too soon."""

    def __init__(self, source: Source, parse_float: Callable[[str], Any] | None = None) -> None:
        self.source = source
        self._decoder = json.JSONDecoder(parse_float=parse_float, strict=False)
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._at = 0
        self._before = 0
        self._over = False
        self.replaced = False
        """Was anything no UTF-8?"""
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
        """The next character that is no space, "" at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _expect(self, wanted: str) -> None:
        found = self.peek()
        if not found:
            raise Cut
        if found != wanted:
            raise self.error(f"{wanted!r} is expected, not {found!r}")
        self._at += 1

    def error(self, what: str) -> FormatError:
        return FormatError(
            f"{self.source.path}: no JSON at character {self.position:,}: {what}; write or download the file again"
        )

    def value(self) -> Any:
        """The next value, whole."""
        first = self.peek()
        if not first:
            raise Cut
        size = 0
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                # A number may go on in the next piece.
                if end < len(self._text) or self._over or first in '"{[':
                    if first not in '"{[' and end < len(self._text) and self._text[end] not in _PRIMITIVE_END:
                        raise self.error(f"{self._text[self._at : end + 1]!r}")
                    self._at = end
                    return value
            except RecursionError:
                raise self.error("it is nested too deeply") from None
            except ValueError as error:
                # A text that only ends too soon is wrong at its very end, or in a string without one.
                cut = "Unterminated" in str(error) or getattr(error, "pos", 0) > len(self._text) - _NEAR
                if self._over or not cut:
                    self._fail(error)
            # Twice as much each time, so that a large part is not scanned too often.
            size = max(2 * size, len(self._text) - self._at, 1)
            if size > LARGEST_PART:
                raise self.error("one part of it has no end")
            while len(self._text) - self._at < 2 * size and self._more():
                pass

    def _fail(self, error: ValueError) -> None:
        at = getattr(error, "pos", self._at)
        if self._over and ("Unterminated" in str(error) or _BEGUN.fullmatch(self._text, at)):
            raise Cut from None
        self._at = at
        raise self.error(str(getattr(error, "msg", error))) from None

    def items(self) -> Iterator[None]:
        """Enters an array: at each step an item comes next, which the caller has to read."""
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
            if self.peek() == "]":  # many writers leave a comma behind the last item
                self._at += 1
                return

    def members(self) -> Iterator[str]:
        """Enters an object: at each step the value of the key comes next, which the caller has to read."""
        self._expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() not in ('"', ""):
                raise self.error(f"a key is expected, not {self.peek()!r}")
            key = str(self.value())
            self._expect(":")
            yield key
            following = self.peek()
            if following == "}":
                self._at += 1
                return
            self._expect(",")

    def array(self) -> Iterator[Any]:
        """The items of an array, one by one; nothing of what is no array."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            yield self.value()
            # Most of the items that follow are whole in the text that is there.
            while following := _NEXT.match(self._text, self._at):
                try:
                    value, self._at = self._decoder.raw_decode(self._text, following.end())
                except (ValueError, RecursionError):
                    break
                yield value

    def documents(self) -> Iterator[str]:
        """Stands before each of the texts that follow each other, as JSON lines do; gives its first character."""
        while first := self.peek():
            yield first
