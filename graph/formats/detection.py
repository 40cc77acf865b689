"""Detect the format of a foreign file by its first bytes. Invariant: the file's name is ignored."""

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
        # The first match decides, because a later attribute can have any name.
        found = [
            (match.start(), each.name)
            for each in known
            if each.json_sign and (match := re.search(each.json_sign, stripped))
        ]
        if found:
            return min(found)[1]
        if stripped[1:].strip() in (b"", b"]", b"}"):
            raise FormatError(f"{path}: an empty JSON document: it contains no trace")
    for each in known:
        if each.looks_like is not None and each.looks_like(start):
            return each.name
    if start.startswith((b"CLEW", b"PAR1", b"SQLite format")):
        raise FormatError(f"{path}: not a foreign trace; open a run of clew by its folder")
    what = "JSON, but not in a format that clew reads" if begins_json(start) else "not in a format that clew reads"
    titles = ", ".join(each.title for each in known)
    raise FormatError(
        f"{path}: {what}: {titles}. For a log with vector clocks in another form, "
        "describe its events with `clew import --pattern REGEX`"
    )
