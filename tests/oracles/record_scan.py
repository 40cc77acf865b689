"""Reference implementation of the search for the end of a chunk's complete records, in Python."""

from __future__ import annotations

import re

from clew.records.format.event import RECORD_SIZE
from clew.records.format.record_scan import NO_TICKS

_EXTENDED = re.compile(rb"[^\0]")
_MAX_RECORD = RECORD_SIZE * 256


def find_end(chunk: bytes | memoryview, kinds: bytes) -> tuple[int, str]:
    """Return the offset where a chunk's complete records end, and the problem there ("" for a normal end).

    Records with an extension are visited one by one; sequences of plain records are checked by searching in them.
    """
    body = bytes(chunk[: len(chunk) // RECORD_SIZE * RECORD_SIZE])
    kind_bytes, slot_bytes = body[8::RECORD_SIZE], body[9::RECORD_SIZE]
    count = len(kind_bytes)
    at = 0
    while at < count:
        slots = slot_bytes[at]
        if slots and at + slots < count and kind_bytes[at] in kinds and not body.startswith(NO_TICKS, at * RECORD_SIZE):
            at += 1 + slots
            continue
        match = _EXTENDED.search(slot_bytes, at)
        extended = match.start() if match else count
        # Plain records from `at` to `extended - 1`, then a record with an extension.
        heads = min(extended + 1, count)
        unfinished = _first_without_ticks(body, at, heads)
        strange = kind_bytes[at:unfinished].translate(None, kinds)
        if strange:
            place = kind_bytes.index(strange[:1], at)
            return place * RECORD_SIZE, f"a record of unknown kind {strange[0]}"
        if unfinished < heads:
            rest = len(body.rstrip(b"\0")) - unfinished * RECORD_SIZE
            # After the end, only a record that was being written can follow.
            return unfinished * RECORD_SIZE, "" if rest <= _MAX_RECORD else "an unfinished record in the middle"
        if extended == count:
            break
        at = extended + 1 + slot_bytes[extended]
        if at > count:
            return extended * RECORD_SIZE, "a record that reaches beyond its chunk"
    return count * RECORD_SIZE, ""


def _first_without_ticks(body: bytes, first: int, stop: int) -> int:
    """Return the first 16-byte unit from `first` to `stop - 1` whose ticks are 0, or `stop`."""
    place = first * RECORD_SIZE
    while True:
        place = body.find(NO_TICKS, place, stop * RECORD_SIZE - 8)
        if place < 0:
            return stop
        unit, inside = divmod(place, RECORD_SIZE)
        if not inside:
            return unit
        place = (unit + 1) * RECORD_SIZE
