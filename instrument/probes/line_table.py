"""Inserts units into `co_linetable`. Invariant: the positions of the units that were there do not change.

An entry is a head byte (0x80, form in bits 3-6, units - 1 in bits 0-2) and a payload of bytes below 0x80: lines relative to
the entry before, columns absolute. So an entry can be repeated for more units once its line delta is set to zero.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

_HEAD = re.compile(rb"[\x80-\xff]")
_PAYLOADS = bytes(range(0x80))
_UNITS = bytes((byte & 7) + 1 for byte in range(256))

_ONE_LINE, _NO_COLUMNS, _LONG, _NO_LOCATION = 10, 13, 14, 15
"""Forms; those below 10 carry no line delta, 10 to 12 one of 0 to 2."""


class Inserted(NamedTuple):
    unit: int
    """Old position of the unit that the new ones come before."""
    units: int
    like: int
    """Old position of the adjoining unit whose location the new ones share; -1 for no location."""


def _run(form: int, payload: bytes, count: int) -> bytes:
    out = bytearray()
    while count > 0:
        length = min(count, 8)
        out.append(0x80 | form << 3 | length - 1)
        out += payload
        count -= length
    return bytes(out)


def no_location(count: int) -> bytes:
    return _run(_NO_LOCATION, b"", count)


def _again(entry: bytes, count: int) -> bytes:
    """`count` more units at the location of `entry`, which comes right before."""
    form, payload = entry[0] >> 3 & 15, entry[1:]
    if _ONE_LINE < form < _NO_COLUMNS:
        form = _ONE_LINE
    elif form == _NO_COLUMNS:
        payload = b"\0"
    elif form == _LONG:
        delta = 1
        while entry[delta] & 0x40:
            delta += 1
        payload = b"\0" + entry[delta + 1 :]
    return _run(form, payload, count)


def insert(table: bytes, insertions: Iterable[Inserted]) -> bytes:
    """`table` for a code object into which `insertions` (sorted by unit) were made."""
    starts = [match.start() for match in _HEAD.finditer(table)]
    starts.append(len(table))
    heads = table.translate(None, _PAYLOADS)
    ends = list(itertools.accumulate(heads.translate(_UNITS)))
    pieces: list[bytes] = []
    copied = 0
    for unit, added, like in insertions:
        index = bisect_right(ends, unit if like < 0 else like)
        if index >= len(ends):
            continue  # nothing is known about positions from here on
        first, after = starts[index], starts[index + 1]
        if like >= 0:
            pieces += (table[copied:after], _again(table[first:after], added))
            copied = after
            continue
        inside = unit - (ends[index - 1] if index else 0)
        if not inside:
            pieces += (table[copied:first], no_location(added))
            copied = first
        else:
            entry = table[first:after]
            head = entry[0] & ~7 | inside - 1
            rest = ends[index] - unit
            pieces += (table[copied:first], bytes((head,)), entry[1:], no_location(added), _again(entry, rest))
            copied = after
    pieces.append(table[copied:])
    return b"".join(pieces)
