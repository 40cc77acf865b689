"""Stretches of threads that go on being written, decoded: with the strand and the time of every record.

Invariant: of what is decoded together nothing is later than what is left for the next time, so that a cause is met before its
effect whichever thread is read first. What was left once is decoded the next time, even if the clock, of which little is known
at first, has it in the future.
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
from clew.records.read.tail import Place, ProcessTail, Stretch

I64 = npt.NDArray[np.int64]

Stack = tuple[int, ...]
"""Keys of the strands that are under way on a thread, the outermost first; its own, 0, is not said."""


class Clock(NamedTuple):
    """From ticks to nanoseconds since the run's start."""

    map: ClockMap
    since: int
    """Added to monotonic ns."""

    def ns(self, ticks: npt.NDArray[np.uint64]) -> I64:
        found: I64 = monotonic_ns(self.map, ticks) + np.int64(self.since)
        return found


class Decoded(NamedTuple):
    """Records of one thread that follow each other."""

    process: ProcessRecords
    serial: int
    columns: Columns
    ns: I64
    keys: npt.NDArray[np.uint64]
    """Of every record its strand's, 0 for the thread's own."""
    stack: Stack
    """Behind them."""


def decoded(
    tail: ProcessTail, clock: Clock, horizon: int, stacks: Mapping[int, Stack], left: dict[int, int], *, most: int
) -> list[Decoded]:
    """What is new of a process, up to the horizon: ns since the run's start. `stacks` are by thread, and so is what is `left`:
    ticks up to which there are records that have been seen."""
    found: list[Decoded] = []
    held: set[int] = set()
    now, seen = dict(stacks), dict(left)
    left.clear()
    for stretch in tail.look(most):
        columns = decode([stretch.records])
        ticks, ns = columns.ticks, clock.ns(columns.ticks)
        if stretch.serial in held:
            left[stretch.serial] = int(ticks[-1]) if len(ticks) else left[stretch.serial]
            continue
        later = int(np.searchsorted(ns, horizon, "right"))
        later = max(later, int(np.searchsorted(ticks, np.uint64(seen.get(stretch.serial, 0)), "right")))
        if later < len(ns):
            held.add(stretch.serial)
            left[stretch.serial] = int(ticks[-1])
            offset = _offset(stretch, columns, later)
            tail.go_back(stretch.serial, Place(stretch.begin.number, stretch.begin.offset + offset))
            if not offset:
                continue
            columns = decode([stretch.records[:offset]])
            ns = ns[:later]
        keys, stack = _split(columns, () if stretch.lost else now.get(stretch.serial, ()))
        now[stretch.serial] = stack
        if len(columns):
            found.append(Decoded(tail.found, stretch.serial, columns, ns, keys, stack))
    return found


def _offset(stretch: Stretch, columns: Columns, row: int) -> int:
    """Where a row's record begins."""
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
    """Every record's strand, and who is under way behind them."""
    known = list(dict.fromkeys((0, *stack)))
    under_way = (0, *(known.index(key) for key in stack))
    steps = Steps(np.array(known, np.uint64), np.zeros(len(known), np.int64), 0, under_way)
    strand, steps = split(steps, columns.kind, columns.site, columns.ext, columns.key)
    keys = steps.keys
    return keys[strand], tuple(keys[list(steps.stack[1:])].tolist())
