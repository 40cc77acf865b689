"""Spans as a forest: parents found by id, times made whole, and everything odd counted.

Invariant: afterwards every span has a beginning and an end that is not before it, and following parents always ends.
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
"""Further than this from the median, a beginning is odd."""


@dataclass
class Forest:
    """Columns, one row per span. Pseudo spans reach from `EARLIEST` to `LATEST`."""

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
    """By what each host's clock was corrected; empty where no clock was."""

    def __len__(self) -> int:
        return len(self.parent)

    def has(self, flag: int) -> Mask:
        return np.asarray((self.flags & flag) != 0)


def column(table: Table, name: str) -> I64:
    return np.array(table.columns[name], dtype=np.int64)


def ids(table: Table, name: str = "id") -> U64:
    return np.array(table.columns[name], dtype=np.uint64)


class Finder:
    """Finds spans by trace and id."""

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
        # Trace -1 is "none", which is as good as any.
        key: I64 = np.where(found, (trace + 1) * (len(self.known) + 1) + at, -1)
        return key

    def find(self, trace: I64, id_: U64) -> tuple[I64, I64]:
        """Per query the places in `rows` of the spans of that trace and id: from the first up to the second."""
        key = self._key(trace, id_)
        low = np.searchsorted(self.key, key, "left")
        high = np.where((id_ != 0) & (key >= 0), np.searchsorted(self.key, key, "right"), low)
        return low.astype(np.int64), high.astype(np.int64)

    def first(self, trace: I64, id_: U64) -> I64:
        """The row of the first such span, -1 for none."""
        low, high = self.find(trace, id_)
        found: I64 = np.where(high > low, np.append(self.rows, -1)[low], -1)
        return found


def one_trace(collector: Collector) -> I64:
    """Per trace number the one that stands for it: an id of 64 bits is the low half of the one of 128 bits that ends so."""
    numbers = np.arange(len(collector.traces) + 1, dtype=np.int64)
    low: dict[str, list[int]] = {}
    for text, number in collector.traces.items():
        if text[:16].strip("0"):
            low.setdefault(text[16:], []).append(number)
    for text, number in collector.traces.items():
        wide = low.get(text[16:], []) if not text[:16].strip("0") else []
        if len(wide) == 1:
            numbers[number] = wide[0]
            collector.strange("trace id", "64 bits of an id of 128; taken as the same trace")
    numbers[-1] = -1
    return numbers


def plant(collector: Collector) -> tuple[Forest, Finder, I64]:
    """The forest, a finder for its spans, and per trace number the one that stands for it."""
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
    _seat(forest)
    _cut_circles(collector, forest)
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
    collector.strange("span", "its parent is not in the file; taken as a root", int((high <= low).sum()))
    for at in several.tolist():
        row = int(named[at])
        forest.parent[row] = _nearest(forest, row, finder.rows[low[at] : high[at]])
    if len(finder.key):
        _join_halves(collector, forest, finder)


def _seat(forest: Forest) -> None:
    """Spans whose edges are all told need a parent only for their place: one called from elsewhere is in its own thread."""
    own = np.flatnonzero(forest.has(EXPLICIT) & ~forest.has(PSEUDO))
    up = np.maximum(forest.parent[own], 0)
    away = (forest.parent[own] < 0) | (forest.thread[own] != forest.thread[up])
    away |= forest.process[own] != forest.process[up]
    threads = np.flatnonzero(forest.has(PSEUDO))
    by_thread = dict(zip(forest.thread[threads].tolist(), threads.tolist(), strict=True))
    for row in own[away].tolist():
        forest.parent[row] = by_thread.get(int(forest.thread[row]), -1)


def _nearest(forest: Forest, row: int, among: I64) -> int:
    """Of spans with one id the one that a child means: of its own process, there the one that was called."""
    others = among[among != row]
    if not len(others):
        return row
    own = forest.process[others] == forest.process[row]
    called = (forest.flags[others] & (SERVER | CONSUMER)) != 0
    return int(others[np.lexsort((others, ~called, ~own))[0]])


def _join_halves(collector: Collector, forest: Forest, finder: Finder) -> None:
    """Caller and called may share one id: the called half is the caller's child. Other spans with one id are odd."""
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
    collector.strange("span", "its id was there before; kept as a span of its own", again)


def _cut_circles(collector: Collector, forest: Forest) -> None:
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
            circle = way[way.index(row) :]
            parent[min(circle, key=lambda one: (forest.start[one], one))] = -1
            collector.strange("circle of parents", "cut at its earliest span")
        for one in way:
            state[one] = 2


def depths(parent: I64) -> I64:
    """How many spans are above each; parents make no circle."""
    depth = (parent >= 0).astype(np.int64)
    far = parent.copy()
    while (far >= 0).any():
        above = far >= 0
        depth[above] += depth[far[above]]
        far = np.where(above, far[far], -1)
    return depth


def levels(depth: I64) -> list[I64]:
    """The rows of each depth, from the top."""
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=-1)) + 1))
    return np.split(order, bounds) if len(order) else []


def _complete_times(collector: Collector, forest: Forest) -> None:
    start, end, pseudo = forest.start, forest.end, forest.has(PSEUDO)
    start[pseudo], end[pseudo] = EARLIEST, LATEST
    lacks_start, lacks_end = start == MISSING, end == MISSING
    both = lacks_start & ~lacks_end
    start[both] = end[both]
    collector.strange("span", "it has no beginning; taken to begin with its parent", int(lacks_start.sum()))
    collector.strange("span", "it has no end; taken to end with the last that it has", int((lacks_end & ~pseudo).sum()))
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
        told = (owner >= 0) & (time != MISSING)
        told[told] = lacks_end[owner[told]]
        np.maximum.at(end, owner[told], time[told])
        for rows in reversed(by_depth[1:]):
            below = rows[lacks_end[np.maximum(forest.parent[rows], 0)] & (forest.parent[rows] >= 0)]
            np.maximum.at(end, forest.parent[below], end[below])
    backward = (end < start) & ~lacks_end
    collector.strange("span", "its end is before its beginning; shown to take no time", int(backward.sum()))
    end[end < start] = start[end < start]
    nothing = (end == start) & ~backward & ~lacks_end & ~pseudo
    collector.strange("span", "it takes no time", int(nothing.sum()))


def _report(collector: Collector, forest: Forest) -> None:
    pseudo = forest.has(PSEUDO)
    real = np.flatnonzero(~pseudo)
    if not len(real):
        return
    start = forest.start
    away = np.abs(start[real] - int(np.median(start[real])))
    collector.strange("span", "it begins more than 400 days from most others", int((away > FAR).sum()))
    below = real[(forest.parent[real] >= 0)]
    below = below[~pseudo[forest.parent[below]]]
    ahead = start[forest.parent[below]] - start[below]
    remote = forest.process[below] != forest.process[forest.parent[below]]
    for rows, what in (
        (ahead[remote & (ahead > 0)], "it begins before the span that called it: clocks of machines differ, by up to"),
        (ahead[~remote & (ahead > 0)], "it begins before its parent, in the same process, by up to"),
    ):
        if len(rows):
            collector.strange("span", f"{what} {int(rows.max()) / 1e6:,.3f} ms", len(rows))
    roots = real[(forest.parent[real] < 0) & (forest.trace[real] >= 0)]
    counts = np.bincount(forest.trace[roots]) if len(roots) else np.zeros(0, np.int64)
    collector.strange("trace", "it has several roots", int((counts > 1).sum()))
