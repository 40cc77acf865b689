"""Insert units into `co_linetable`. Invariant: the positions of the existing units do not change.

An entry is a head byte (0x80, form in bits 3-6, units - 1 in bits 0-2) and a payload of bytes below 0x80. Lines are
relative to the previous entry, columns are absolute. So an entry can be repeated for more units if its line delta is
set to zero.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable

from clew.records.fast_namedtuple import NamedTuple

_HEAD = re.compile(rb"[\x80-\xff]")
_PAYLOADS = bytes(range(0x80))
_UNITS = bytes((byte & 7) + 1 for byte in range(256))

_ONE_LINE, _NO_COLUMNS, _LONG, _NO_LOCATION = 10, 13, 14, 15
"""Forms of an entry. Forms below 10 have no line delta; forms 10 to 12 have a line delta of 0 to 2."""


class Inserted(NamedTuple):
    unit: int
    """Old position of the unit that follows the new units."""
    units: int
    like: int
    """Old position of the adjacent unit whose location the new units share; -1 for no location."""


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
    """Return `count` more units at the location of `entry`, which immediately precedes them."""
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


class _Open:
    """An entry that units are inserted into, written in chunks; only the first chunk has its line delta."""

    def __init__(self, entry: bytes, start: int, end: int) -> None:
        self._entry = entry
        self._written = start
        self._end = end
        self._begun = False

    def up_to(self, unit: int, more: int = 0) -> bytes:
        """Return the unwritten units of the entry before `unit`, and `more` units at the same location."""
        unit = min(unit, self._end)
        count = unit - self._written + more
        self._written = unit
        if self._begun or not count:
            return _again(self._entry, count)
        self._begun = True
        first = min(count, 8)
        return bytes((self._entry[0] & ~7 | first - 1,)) + self._entry[1:] + _again(self._entry, count - first)

    def rest(self) -> bytes:
        return self.up_to(self._end)


def insert(table: bytes, insertions: Iterable[Inserted]) -> bytes:
    """Return `table` updated for `insertions` (sorted by unit) into its code object."""
    starts = [match.start() for match in _HEAD.finditer(table)]
    starts.append(len(table))
    ends = list(itertools.accumulate(table.translate(None, _PAYLOADS).translate(_UNITS)))
    pieces: list[bytes] = []
    copied, current, entry = 0, -1, None
    for unit, added, like in insertions:
        index = bisect_right(ends, unit if like < 0 else like)
        if index >= len(ends):
            break  # the table does not cover the positions from here on
        if index != current:
            if entry is not None:
                pieces.append(entry.rest())
            pieces.append(table[copied : starts[index]])
            copied, current = starts[index + 1], index
            entry = _Open(table[starts[index] : copied], ends[index - 1] if index else 0, ends[index])
        assert entry is not None
        pieces.append(entry.up_to(unit) + no_location(added) if like < 0 else entry.up_to(unit, added))
    if entry is not None:
        pieces.append(entry.rest())
    pieces.append(table[copied:])
    return b"".join(pieces)
