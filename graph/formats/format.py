"""Define a format of foreign traces: its name, how a file of it is recognised, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.graph.formats.json_stream import Cut, JsonStream
from clew.graph.formats.source import FormatError, Source
from clew.graph.formats.spans.collector import Collector

Reader = Callable[[Source, Collector, str], None]
"""A function that reads a source into a collector; the text is the user's pattern, "" for none."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format that clew imports."""

    name: str
    """The value of `clew import --format`."""
    title: str
    """The name in a message that lists all formats."""
    suffixes: tuple[str, ...]
    """The usual ends of file names; they are left out of the run's name and never decide about the format."""
    read: Reader
    json_sign: bytes = b""
    """A regular expression for the members that JSON of this format begins with; b"" for a format that is not JSON."""
    looks_like: Callable[[bytes], bool] | None = None
    """A function that recognises a file that is not JSON by its first bytes."""
    takes_pattern: bool = False
    """Whether `clew import --pattern` is for this format."""


def begins_json(start: bytes) -> bool:
    """Test whether the first bytes are those of a JSON object or array."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def json_reader(
    read: Callable[[JsonStream, Collector], None], parse_float: Callable[[str], Any] | None = None
) -> Reader:
    """Make a reader from a function that reads a stream of JSON. The reader raises `FormatError` for a file that is cut off."""

    def reader(source: Source, collector: Collector, _pattern: str) -> None:
        stream = JsonStream(source, parse_float)
        try:
            read(stream, collector)
        except Cut:
            raise FormatError(
                f"{source.path}: the file is cut off at character {stream.position:,}; copy or download it again"
            ) from None
        if stream.replaced:
            collector.count_odd("file", "some of its text is not UTF-8; shown as \ufffd")

    return reader
