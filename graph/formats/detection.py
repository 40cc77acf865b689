"""Tells the format of a foreign file by its first bytes. Invariant: the file's name counts for nothing."""

from __future__ import annotations

import re
from pathlib import Path

from clew.graph.formats.format import begins_json
from clew.graph.formats.registry import formats
from clew.graph.formats.source import FormatError, Source

START = 1 << 16


def recognise(path: Path) -> str:
    """Return the name of the file's format. Raises `FormatError`."""
    known = formats()
    with Source(path) as source:
        start = source.start(START)
    stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begins_json(start):
        # The sign that comes first: an attribute further on may be called anything.
        found = [
            (match.start(), each.name)
            for each in known
            if each.json_sign and (match := re.search(each.json_sign, stripped))
        ]
        if found:
            return min(found)[1]
        if stripped[1:].strip() in (b"", b"]", b"}"):
            raise FormatError(f"{path}: an empty JSON document: there is no trace in it")
    for each in known:
        if each.looks_like is not None and each.looks_like(start):
            return each.name
    if start.startswith((b"CLEW", b"PAR1", b"SQLite format")):
        raise FormatError(f"{path}: no trace that others wrote; a run of clew's own is opened by its folder")
    what = "JSON, but of none of the formats" if begins_json(start) else "of no format"
    titles = ", ".join(each.title for each in known)
    raise FormatError(
        f"{path}: {what} that clew knows: {titles}. Where it is a log with vector clocks in a form of its own, "
        "`clew import --pattern REGEX` says how its events are written"
    )
