"""Decode the new records of live threads, with the strand and the time of each record.

Invariant: no record decoded in one pass is later than a record left for the next pass. So a cause is read before its effect,
whichever thread is read first. A record that was left once is decoded in the next pass, even if the clock estimate, which is
poor at first, places it in the future.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.build.decode_records import Columns, decode
from clew.graph.build.split_strands import Steps, split
from clew.graph.build.tick_conversion import monotonic_ns
from clew.records.format.event import RECORD_SIZE
from clew.records.format.record_scan import records
from clew.records.read.clock_map import ClockMap
from clew.records.read.process_records import ProcessRecords
from clew.records.read.tail import Place, ProcessTail, Segment

I64 = npt.NDArray[np.int64]

Stack = tuple[int, ...]
"""The keys of the strands running on a thread, the outermost first, without 0, the key of the thread's own strand."""


class Clock(NamedTuple):
    """Converts ticks to nanoseconds since the start of the run."""

    map: ClockMap
    since: int
    """The offset added to monotonic nanoseconds."""

    def ns(self, ticks: npt.NDArray[np.uint64]) -> I64:
        found: I64 = monotonic_ns(self.map, ticks) + np.int64(self.since)
        return found


class Decoded(NamedTuple):
    """Consecutive records of one thread."""

    process: ProcessRecords
    serial: int
    columns: Columns
    ns: I64
    keys: npt.NDArray[np.uint64]
    """The key of the strand of each record, 0 for the thread's own strand."""
    stack: Stack
    """The strands running after the last record."""


def decoded(
    tail: ProcessTail, clock: Clock, horizon: int, stacks: Mapping[int, Stack], left: dict[int, int], *, most: int
) -> list[Decoded]:
    """Decode the new records of a process up to the horizon, in ns since the start of the run.

    `stacks` are by thread. `left` maps each thread that was not read to the end to the ticks of its last record seen; it is
    updated.
    """
    found: list[Decoded] = []
    held_back: set[int] = set()
    current, seen = dict(stacks), dict(left)
    left.clear()
    for stretch in tail.poll(most):
        columns = decode([stretch.records])
        ticks, ns = columns.ticks, clock.ns(columns.ticks)
        if stretch.serial in held_back:
            left[stretch.serial] = int(ticks[-1]) if len(ticks) else left[stretch.serial]
            continue
        later = int(np.searchsorted(ns, horizon, "right"))
        later = max(later, int(np.searchsorted(ticks, np.uint64(seen.get(stretch.serial, 0)), "right")))
        if later < len(ns):
            held_back.add(stretch.serial)
            left[stretch.serial] = int(ticks[-1])
            offset = _offset(stretch, columns, later)
            tail.go_back(stretch.serial, Place(stretch.begin.number, stretch.begin.offset + offset))
            if not offset:
                continue
            columns = decode([stretch.records[:offset]])
            ns = ns[:later]
        keys, stack = _split(columns, () if stretch.lost else current.get(stretch.serial, ()))
        current[stretch.serial] = stack
        if len(columns):
            found.append(Decoded(tail.found, stretch.serial, columns, ns, keys, stack))
    return found


def _offset(stretch: Segment, columns: Columns, row: int) -> int:
    """Return the byte offset of a row's record."""
    units = np.frombuffer(stretch.records, "<u8").reshape(-1, 2)
    alike = np.flatnonzero(units[row:, 0] == columns.ticks[row])
    if len(alike) == 1:
        return int(alike[0] + row) * RECORD_SIZE
    offset = 0
    for place, (_, word, _) in enumerate(records(memoryview(stretch.records))):
        if place == row:
            break
        offset += RECORD_SIZE * (1 + (word >> 8 & 0xFF))
    return offset


def _split(columns: Columns, stack: Stack) -> tuple[npt.NDArray[np.uint64], Stack]:
    """Return the strand key of each record, and the stack after the last record."""
    known = list(dict.fromkeys((0, *stack)))
    under_way = (0, *(known.index(key) for key in stack))
    steps = Steps(np.array(known, np.uint64), np.zeros(len(known), np.int64), 0, under_way)
    strand, steps = split(steps, columns.kind, columns.site, columns.ext, columns.key)
    keys = steps.keys
    return keys[strand], tuple(keys[list(steps.stack[1:])].tolist())
