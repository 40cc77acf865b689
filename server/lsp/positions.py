"""Conversion between the editor's positions (URIs, ranges that count from 0 in UTF-16 units) and the trace's (paths,
lines from 1)."""

from __future__ import annotations

import re
from pathlib import Path

from lsprotocol import types
from pygls import uris


def path_of(uri: str) -> str:
    """Return the file system path of a `file:` URI, "" for any other scheme (untitled, git, …)."""
    return uris.to_fs_path(uri) or ""


def uri_of(path: str) -> str:
    return uris.from_fs_path(str(Path(path).absolute())) or ""


def line_range(line: int, start: int = 0, end: int | None = None) -> types.Range:
    """Return the range in `line` (from 1) between two columns (from 0); without `end`, to the line's end."""
    row = max(0, line - 1)
    # A range may end after the line's end: clients clip it there.
    return types.Range(
        start=types.Position(line=row, character=start),
        end=types.Position(line=row, character=2**31 - 1 if end is None else end),
    )


def location_of(path: str, line: int) -> types.Location:
    row = max(0, line - 1)
    return types.Location(uri=uri_of(path), range=types.Range(start=types.Position(row, 0), end=types.Position(row, 0)))


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def def_range(line: int, text: str, qualname: str) -> types.Range:
    """Return the range of a function's name after `def` in a line (from 1). If the name is not there, as for a lambda,
    return the range of the line's text."""
    name = qualname.rpartition(".")[2]
    found = re.search(rf"\bdef\s+({re.escape(name)})\b", text) if name else None
    if found is None:
        return line_range(line, utf16_length(text) - utf16_length(text.lstrip()), utf16_length(text))
    start = utf16_length(text[: found.start(1)])
    return line_range(line, start, start + utf16_length(name))
