"""Read and write `co_exceptiontable`. Invariant: entries are sorted by start and do not overlap.

An entry is four numbers. Each number is big-endian in groups of 6 bits (0x40: more groups follow). The first byte of
an entry has the mark 0x80.
"""

from collections.abc import Iterable, Sequence

from clew.records.fast_namedtuple import NamedTuple


class Entry(NamedTuple):
    """The handler of an exception raised in the units [start, end)."""

    start: int
    end: int
    target: int
    depth: int
    """Twice the stack depth to unwind to, plus 1 if the raising position is pushed for RERAISE."""


def parse(table: bytes) -> list[Entry]:
    numbers = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(value)
            value = 0
    quads = zip(*[iter(numbers)] * 4, strict=True)
    return [Entry(start, start + length, target, depth) for start, length, target, depth in quads]


def _number(value: int, mark: int) -> bytes:
    groups = [value & 0x3F]
    while value := value >> 6:
        groups.append(value & 0x3F | 0x40)
    groups[-1] |= mark
    return bytes(reversed(groups))


def serialise(entries: Iterable[Entry]) -> bytes:
    out = bytearray()
    for start, end, target, depth in entries:
        out += _number(start, 0x80)
        out += _number(end - start, 0)
        out += _number(target, 0)
        out += _number(depth, 0)
    return bytes(out)


def fill_gaps(entries: Sequence[Entry], start: int, end: int, handler: Entry) -> list[Entry]:
    """Return `entries` clipped to [start, end), with every gap between them sent to `handler`'s target and depth."""
    out = []
    position = start
    for entry in entries:
        begin = max(entry.start, start)
        if begin >= entry.end:
            continue
        if begin > position:
            out.append(handler._replace(start=position, end=begin))
        out.append(entry._replace(start=begin))
        position = entry.end
    if position < end:
        out.append(handler._replace(start=position, end=end))
    return out


def cut(entries: Iterable[Entry], target: int, spans: Sequence[tuple[int, int]]) -> list[Entry]:
    """Return `entries` where entries with this `target` no longer cover the sorted `spans` of units."""
    out = []
    for entry in entries:
        position = entry.start
        if entry.target == target:
            for begin, end in spans:
                if begin < entry.end and end > position:
                    if begin > position:
                        out.append(entry._replace(start=position, end=begin))
                    position = end
        if position < entry.end:
            out.append(entry._replace(start=position))
    return out
