"""Find the complete records in a chunk's data, and decode them.

Invariant: any bytes have an end, and every record before it is complete, of a known kind, with its extension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.records.compress import _codec
from clew.records.format.event import Extension, unpack_extension

_SLOTS = re.compile(rb"[^\0]")
NO_TICKS = bytes(8)


def records(extent: memoryview) -> Iterator[tuple[int, int, Extension | None]]:
    """Yield (ticks, word, extension) of complete records."""
    words = extent.cast("Q")
    at = 0
    while at < len(words):
        word = words[at + 1]
        slots = word >> 8 & 0xFF
        after = at + 2 + 2 * slots
        yield words[at], word, unpack_extension(extent[at * 8 + 16 : after * 8]) if slots else None
        at = after


def find_end(chunk: bytes | memoryview, kinds: bytes) -> tuple[int, str]:
    """Return the offset in bytes where the complete records of a chunk's data end, and the problem there; "" for an
    ordinary end."""
    return _codec.find_end(chunk, kinds)


def extended(slots: bytes) -> Iterator[int]:
    """Yield the units of a chunk that are records with an extension, given the slot-count byte of each unit."""
    search, at = _SLOTS.search, 0
    while found := search(slots, at):
        place = found.start()
        yield place
        at = place + 1 + slots[place]
