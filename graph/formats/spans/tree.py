"""Arrange spans into a forest: find parents by id, complete missing times, and count oddities.

Invariant: every span has a start and an end that is not before it, and the parents form no cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.build.clock_alignment import Correction
from clew.graph.formats.spans.clock_skew import align_hosts
from clew.graph.formats.spans.collector import (
    CLIENT,
    CONSUMER,
    EARLIEST,
    EXPLICIT,
    LATEST,
    MISSING,
    PRODUCER,
    PSEUDO,
    SERVER,
    Collector,
    Table,
)

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
FAR = 400 * 86_400 * 10**9
"""The distance from the median in nanoseconds beyond which a start is odd."""


@dataclass
class Forest:
    """The columns of the spans. Pseudo spans reach from `EARLIEST` to `LATEST`."""

    parent: I64
    start: I64
    end: I64
    process: I64
    thread: I64
    flags: I64
    site: I64
    trace: I64
    id: U64
    attributes: I64
    depth: I64
    clocks: dict[str, Correction] = field(default_factory=dict)
    """The clock correction of each host; empty if no clock was corrected."""

    def __len__(self) -> int:
        return len(self.parent)

    def has(self, flag: int) -> Mask:
        return np.asarray((self.flags & flag) != 0)


def column(table: Table, name: str) -> I64:
    return np.array(table.columns[name], dtype=np.int64)


def ids(table: Table, name: str = "id") -> U64:
    return np.array(table.columns[name], dtype=np.uint64)


class Finder:
    """An index of spans by trace and id."""

    def __init__(self, trace: I64, id_: U64) -> None:
        self.known = np.unique(id_)
        self.rows = np.flatnonzero(id_ != 0)
        key = self._key(trace[self.rows], id_[self.rows])
        order = np.argsort(key, kind="stable")
        self.rows, self.key = self.rows[order], key[order]

    def _key(self, trace: I64, id_: U64) -> I64:
        place = np.searchsorted(self.known, id_)
        at = np.minimum(place, max(len(self.known) - 1, 0))
        found = (self.known[at] == id_) if len(self.known) else np.zeros(len(id_), bool)
        # Trace -1 means none, and is a valid key.
        key: I64 = np.where(found, (trace + 1) * (len(self.known) + 1) + at, -1)
        return key

    def find(self, trace: I64, id_: U64) -> tuple[I64, I64]:
        """Return for each query the range of indices in `rows` of the spans with this trace and id."""
        key = self._key(trace, id_)
        low = np.searchsorted(self.key, key, "left")
        high = np.where((id_ != 0) & (key >= 0), np.searchsorted(self.key, key, "right"), low)
        return low.astype(np.int64), high.astype(np.int64)

    def first(self, trace: I64, id_: U64) -> I64:
        """Return the row of the first span of each query, or -1."""
        low, high = self.find(trace, id_)
        found: I64 = np.where(high > low, np.append(self.rows, -1)[low], -1)
        return found


def one_trace(collector: Collector) -> I64:
    """Map each trace number to its canonical one: a 64-bit id equals the 128-bit id that has it as its low half."""
    numbers = np.arange(len(collector.traces) + 1, dtype=np.int64)
    low: dict[str, list[int]] = {}
    for text, number in collector.traces.items():
        if text[:16].strip("0"):
            low.setdefault(text[16:], []).append(number)
    for text, number in collector.traces.items():
        wide = low.get(text[16:], []) if not text[:16].strip("0") else []
        if len(wide) == 1:
            numbers[number] = wide[0]
            collector.count_odd("trace id", "64 bits of an id of 128; taken as the same trace")
    numbers[-1] = -1
    return numbers


def build_forest(collector: Collector) -> tuple[Forest, Finder, I64]:
    """Return the forest, an index of its spans, and the canonical number of each trace."""
    spans = collector.spans
    same = one_trace(collector)
    forest = Forest(
        column(spans, "parent"),
        column(spans, "start"),
        column(spans, "end"),
        column(spans, "process"),
        column(spans, "thread"),
        column(spans, "flags"),
        column(spans, "site"),
        same[column(spans, "trace")],
        ids(spans),
        column(spans, "attributes"),
        np.zeros(len(spans), np.int64),
    )
    finder = Finder(forest.trace, forest.id)
    _find_parents(collector, forest, finder, ids(spans, "parent_id"))
    _move_to_threads(forest)
    _cut_cycles(collector, forest)
    forest.depth = depths(forest.parent)
    _complete_times(collector, forest)
    forest.clocks = align_hosts(collector, forest)
    _report(collector, forest)
    return forest, finder, same


def _find_parents(collector: Collector, forest: Forest, finder: Finder, parent_id: U64) -> None:
    named = np.flatnonzero((parent_id != 0) & (forest.parent < 0))
    low, high = finder.find(forest.trace[named], parent_id[named])
    several = np.flatnonzero(high - low > 1)
    forest.parent[named] = np.where(high > low, np.append(finder.rows, -1)[low], -1)
    collector.count_odd("span", "its parent is not in the file; taken as a root", int((high <= low).sum()))
    for at in several.tolist():
        row = int(named[at])
        forest.parent[row] = _nearest(forest, row, finder.rows[low[at] : high[at]])
    if len(finder.key):
        _join_halves(collector, forest, finder)


def _move_to_threads(forest: Forest) -> None:
    """Make the thread the parent of spans with explicit edges that have no parent in their own thread.

    The parents of such spans only determine their strands.
    """
    own = np.flatnonzero(forest.has(EXPLICIT) & ~forest.has(PSEUDO))
    up = np.maximum(forest.parent[own], 0)
    away = (forest.parent[own] < 0) | (forest.thread[own] != forest.thread[up])
    away |= forest.process[own] != forest.process[up]
    threads = np.flatnonzero(forest.has(PSEUDO))
    by_thread = dict(zip(forest.thread[threads].tolist(), threads.tolist(), strict=True))
    for row in own[away].tolist():
        forest.parent[row] = by_thread.get(int(forest.thread[row]), -1)


def _nearest(forest: Forest, row: int, among: I64) -> int:
    """Return which of the spans with one id is the parent: prefer one of the same process, then a called one."""
    others = among[among != row]
    if not len(others):
        return row
    own = forest.process[others] == forest.process[row]
    called = (forest.flags[others] & (SERVER | CONSUMER)) != 0
    return int(others[np.lexsort((others, ~called, ~own))[0]])


def _join_halves(collector: Collector, forest: Forest, finder: Finder) -> None:
    """Make the called half of a shared id the child of the calling half, and count other repeated ids."""
    begins = np.flatnonzero(np.concatenate(([True], finder.key[1:] != finder.key[:-1])))
    ends = np.append(begins[1:], len(finder.key))
    again = 0
    for begin, end in zip(begins[ends - begins > 1].tolist(), ends[ends - begins > 1].tolist(), strict=True):
        rows = finder.rows[begin:end]
        called = rows[(forest.flags[rows] & (SERVER | CONSUMER)) != 0]
        callers = rows[(forest.flags[rows] & (CLIENT | PRODUCER)) != 0]
        if len(called) and len(callers):
            forest.parent[called] = callers[0]
            again += len(rows) - 2
        else:
            again += len(rows) - 1
    collector.count_odd("span", "its id is not unique; taken as a separate span", again)


def _cut_cycles(collector: Collector, forest: Forest) -> None:
    far = forest.parent.copy()
    for _ in range(max(len(far), 1).bit_length()):
        far = np.where(far >= 0, far[far], -1)
    into = np.flatnonzero(far >= 0).tolist()
    if not into:
        return
    parent, state = forest.parent, dict.fromkeys(into, 0)
    for row in into:
        way = []
        while row >= 0 and state[row] == 0:
            state[row] = 1
            way.append(row)
            row = int(parent[row])  # noqa: PLW2901  # walks up
        if row >= 0 and state[row] == 1:
            cycle = way[way.index(row) :]
            parent[min(cycle, key=lambda one: (forest.start[one], one))] = -1
            collector.count_odd("cycle of parents", "cut at its earliest span")
        for one in way:
            state[one] = 2


def depths(parent: I64) -> I64:
    """Return the number of ancestors of each span; parents must not form a cycle."""
    depth = (parent >= 0).astype(np.int64)
    far = parent.copy()
    while (far >= 0).any():
        above = far >= 0
        depth[above] += depth[far[above]]
        far = np.where(above, far[far], -1)
    return depth


def levels(depth: I64) -> list[I64]:
    """Return the rows of each depth, from the top."""
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=-1)) + 1))
    return np.split(order, bounds) if len(order) else []


def _complete_times(collector: Collector, forest: Forest) -> None:
    start, end, pseudo = forest.start, forest.end, forest.has(PSEUDO)
    start[pseudo], end[pseudo] = EARLIEST, LATEST
    lacks_start, lacks_end = start == MISSING, end == MISSING
    both = lacks_start & ~lacks_end
    start[both] = end[both]
    collector.count_odd("span", "it has no start; taken to start with its parent", int(lacks_start.sum()))
    collector.count_odd("span", "it has no end; taken to end with its last event", int((lacks_end & ~pseudo).sum()))
    by_depth = levels(forest.depth)
    if (start == MISSING).any():
        known = start[(start != MISSING) & ~pseudo]
        first = int(known.min()) if len(known) else 0
        for rows in by_depth:
            open_ = rows[start[rows] == MISSING]
            above = forest.parent[open_]
            begins = np.where((above >= 0) & ~pseudo[above], start[above], first)
            start[open_] = begins
    if lacks_end.any():
        end[lacks_end] = start[lacks_end]
        owner, time = column(collector.points, "owner"), column(collector.points, "time")
        chosen = (owner >= 0) & (time != MISSING)
        chosen[chosen] = lacks_end[owner[chosen]]
        np.maximum.at(end, owner[chosen], time[chosen])
        for rows in reversed(by_depth[1:]):
            below = rows[lacks_end[np.maximum(forest.parent[rows], 0)] & (forest.parent[rows] >= 0)]
            np.maximum.at(end, forest.parent[below], end[below])
    backward = (end < start) & ~lacks_end
    collector.count_odd("span", "its end is before its start; shown with no duration", int(backward.sum()))
    end[end < start] = start[end < start]
    nothing = (end == start) & ~backward & ~lacks_end & ~pseudo
    collector.count_odd("span", "it has no duration", int(nothing.sum()))


def _report(collector: Collector, forest: Forest) -> None:
    pseudo = forest.has(PSEUDO)
    real = np.flatnonzero(~pseudo)
    if not len(real):
        return
    start = forest.start
    away = np.abs(start[real] - int(np.median(start[real])))
    collector.count_odd("span", "it starts more than 400 days from most others", int((away > FAR).sum()))
    below = real[(forest.parent[real] >= 0)]
    below = below[~pseudo[forest.parent[below]]]
    ahead = start[forest.parent[below]] - start[below]
    remote = forest.process[below] != forest.process[forest.parent[below]]
    for rows, what in (
        (ahead[remote & (ahead > 0)], "it starts before its caller, because the clocks of machines differ, by up to"),
        (ahead[~remote & (ahead > 0)], "it starts before its parent, in the same process, by up to"),
    ):
        if len(rows):
            collector.count_odd("span", f"{what} {int(rows.max()) / 1e6:,.3f} ms", len(rows))
    roots = real[(forest.parent[real] < 0) & (forest.trace[real] >= 0)]
    counts = np.bincount(forest.trace[roots]) if len(roots) else np.zeros(0, np.int64)
    collector.count_odd("trace", "it has several roots", int((counts > 1).sum()))
