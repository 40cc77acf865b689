"""How much sooner an event would have come, had some of the work before it been faster: the recording is timed again.

Every event keeps what it waited for. Along a strand it follows the one before by the same work, or less where the work is
faster; where edges lead to it, by the same delay after the latest of the event before and the edges' sources. Strands that take
turns on a thread, as an event loop's tasks do, keep their order. Invariant: with no work changed every event keeps its time,
and times are computed along edges that go forward in time only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.levels import Labels
from clew.graph.model import ExecutionGraph
from clew.graph.times import passive_kinds
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_PART = 1 << 22
"""Events whose labels are found at a time."""


@dataclass(frozen=True)
class WhatIf:
    """What a label's work being `percent` % faster would change. Times in nanoseconds."""

    label: str
    percent: float
    total_ns: int
    """From the path's beginning to its end, as it was."""
    saved_ns: int
    """How much sooner the end would have come; negative when a slower label delays it."""
    work_ns: int
    """The label's own work up to the end, on the path or beside it."""

    @property
    def after_ns(self) -> int:
        return self.total_ns - self.saved_ns


def gap_codes(graph: ExecutionGraph, labels: Labels, begin: I64, end: I64) -> I64:
    """The label of what runs between some events and those that follow."""
    running = labels.running(begin)
    # What follows a scope is no more the scope's.
    after = (graph.kind[begin] == Kind.SCOPE_END) & (graph.region[begin] != graph.region[end])
    codes = running.copy()
    outside = np.flatnonzero(running < 0)
    codes[outside] = labels.of(np.where(after, end, begin)[outside])
    return codes


def sooner(
    graph: ExecutionGraph, labels: Labels, label: str, percent: float, *, end: int, since_ns: int
) -> tuple[int, int]:
    """By how many nanoseconds `end` would come sooner if the label's work since a time were `percent` % faster, and how long
    that work took."""
    work = _Work.of(graph, labels, label, int(graph.ts[end]), since_ns)
    if not len(work.rows):
        return 0, 0
    joins = _Joins(graph, work, percent / 100, int(graph.ts[end]))
    return round(joins.saved(end)), int(work.until[-1])


@dataclass(frozen=True)
class _Work:
    """The gaps in which a label's work was done: the events they follow, and the sums of their lengths up to each."""

    rows: I64
    until: I64
    first_ns: int

    @classmethod
    def of(cls, graph: ExecutionGraph, labels: Labels, label: str, end_ns: int, since_ns: int) -> _Work:
        rows, lengths = [], []
        for start in range(0, len(graph) - 1, _PART):
            part = np.arange(start, min(start + _PART, len(graph) - 1))
            busy = (graph.strand[part] == graph.strand[part + 1]) & ~graph.idle[part]
            busy &= graph.ts[part] < end_ns
            busy &= graph.ts[part + 1] > since_ns
            part = part[busy]
            codes = gap_codes(graph, labels, part, part + 1)
            wanted = [code for code in np.unique(codes).tolist() if labels.name(code) == label]
            part = part[np.isin(codes, wanted)]
            begun = np.maximum(graph.ts[part], since_ns)
            rows.append(part)
            lengths.append(np.minimum(graph.ts[part + 1], end_ns) - begun)
        chosen = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        until = np.cumsum(np.concatenate(([0], *lengths)), dtype=np.int64)
        return cls(chosen, until, int(graph.ts[chosen].min()) if len(chosen) else 0)


class _Joins:
    """The events that edges lead to, in the order of rows; only those that the asked event depends on are timed again.

    What one waited for are its causes: the sources of its edges, and the event before it on its strand.
    """

    def __init__(self, graph: ExecutionGraph, work: _Work, rate: float, end_ns: int) -> None:
        self.graph = graph
        self.work = work
        self.rate = rate
        self.start = np.array([strand.start for strand in graph.strands], np.int64)
        edges = np.flatnonzero(graph.ts[graph.edge_dst] <= end_ns)
        sources, (at, woken) = graph.edge_src[edges], join_rows(graph, edges)
        turns, following = thread_turns(graph, woken, graph.ts[sources])
        sources, at = np.concatenate((sources, turns)), np.concatenate((at, following))
        # Nothing comes sooner before the first work that is faster.
        usable = (graph.ts[sources] <= graph.ts[at]) & (graph.ts[at] > work.first_ns)
        usable &= graph.strand[sources] != graph.strand[at]
        sources, at = sources[usable], at[usable]
        self.rows = np.unique(at)
        own = self.rows[self.rows > self.start[graph.strand[self.rows]]]
        causes, at = np.concatenate((own - 1, sources)), np.concatenate((own, at))
        order = np.argsort(at, kind="stable")
        causes, at = causes[order], at[order]
        self.first: list[int] = np.searchsorted(at, np.append(self.rows, len(graph))).tolist()
        self.time: list[int] = graph.ts[causes].tolist()
        joins, done = self._since_join(causes)
        self.join: list[int] = joins.tolist()
        self.done: list[int] = done.tolist()
        # Between a join and the event before it, as far as nothing else was waited for.
        gap = np.where(graph.strand[causes] == graph.strand[at], self._before(at) - self._before(causes), 0)
        self.gap: list[int] = gap.tolist()
        self.known: dict[int, float] = {}

    def _before(self, rows: I64) -> I64:
        """The work before events, from whichever strand's: only differences along a strand mean something."""
        return self.work.until[np.searchsorted(self.work.rows, rows)]

    def _since_join(self, events: I64) -> tuple[I64, I64]:
        """The last join on each event's strand up to it (-1: none), and the work since then, or since the strand began."""
        start = self.start[self.graph.strand[events]]
        join = np.searchsorted(self.rows, events, "right") - 1
        row = np.append(self.rows, -1)[join]
        join, row = np.where(row >= start, join, -1), np.maximum(row, start)
        return join, self._before(events) - self._before(row)

    def saved(self, event: int) -> float:
        """By how much an event comes sooner."""
        join, done = (int(found[0]) for found in self._since_join(np.array([event], np.int64)))
        if join >= 0:
            self._solve(join)
        return (self.known[join] if join >= 0 else 0.0) + self.rate * done

    def _solve(self, wanted: int) -> None:
        """Depth first, each join after what it depends on; what depends on itself, as equal times may have it, is left out."""
        known, stack, entered = self.known, [wanted], set[int]()
        while stack:
            join = stack[-1]
            if join in known:
                stack.pop()
                continue
            causes = range(self.first[join], self.first[join + 1])
            if join not in entered:
                entered.add(join)
                stack += [
                    other
                    for at in causes
                    if (other := self.join[at]) >= 0 and other not in known and other not in entered
                ]
                continue
            came, comes, gap = 0, 0.0, 0
            for number, at in enumerate(causes):
                other, time = self.join[at], self.time[at]
                if other >= 0 and other not in known:
                    continue
                sooner = time - (known[other] if other >= 0 else 0.0) - self.rate * self.done[at]
                comes = sooner if number == 0 else max(comes, sooner)
                # A join right after its strand's own work comes sooner by what that work saves, too.
                if number == 0 or time > came:
                    came, gap = time, self.gap[at]
                elif time == came:
                    gap = max(gap, self.gap[at])
            known[join] = came - comes + self.rate * gap


def thread_turns(graph: ExecutionGraph, woken: I64, came: I64) -> tuple[I64, I64]:
    """Where a strand had to wait for its turn on the thread: the other strand's last event before, and its own first after.

    A task waits for its turn when all that `woken` it (the first events after pauses, and when what ended them `came`) was
    there while the thread still ran something else; a thread's own strand, whenever tasks run on it.
    """
    threads = {(strand.process, strand.thread) for strand in graph.strands}
    number = {thread: index for index, thread in enumerate(sorted(threads))}
    of_strand = np.array([number[strand.process, strand.thread] for strand in graph.strands], np.int64)
    start = np.array([strand.start for strand in graph.strands], np.int64)
    shared = np.bincount(of_strand, minlength=len(number))[of_strand] > 1
    if not shared.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    pauses = np.flatnonzero(graph.idle)
    pauses = pauses[shared[graph.strand[pauses]]]
    pauses = pauses[pauses + 1 < np.append(start, len(graph))[graph.strand[pauses].astype(np.int64) + 1]]
    ends = np.concatenate((pauses, np.append(start[1:], len(graph))[shared] - 1))
    begins = np.concatenate((pauses + 1, start[shared]))
    rows = np.concatenate((ends, begins))
    begun = np.arange(len(rows)) >= len(ends)
    # Of equal times an end comes first, but for that of a single event.
    place = np.where(begun, 1, np.where(np.isin(rows, begins), 2, 0))
    order = np.lexsort((place, graph.ts[rows], of_strand[graph.strand[rows]]))
    rows, begun = rows[order], begun[order]
    latest = np.maximum.accumulate(np.where(begun, -1, np.arange(len(rows))))
    latest, following = latest[begun & (latest >= 0)], rows[begun & (latest >= 0)]
    turns = rows[latest]
    same = of_strand[graph.strand[turns]] == of_strand[graph.strand[following]]
    same &= graph.strand[turns] != graph.strand[following]
    turns, following = turns[same], following[same]
    at, place = np.unique(woken, return_inverse=True)
    ready = np.full(len(at), np.iinfo(np.int64).min)
    np.maximum.at(ready, place, came)
    found = np.searchsorted(at, following)
    known = np.append(at, -1)[found] == following
    waited = known & (np.append(ready, 0)[found] <= graph.ts[turns])
    own = np.array([strand.kind == "thread" for strand in graph.strands], bool)[graph.strand[following]]
    return turns[waited | own], following[waited | own]


def join_rows(graph: ExecutionGraph, edges: I64) -> tuple[I64, I64]:
    """Per edge the event that could not come before the edge's source: the target, or where the wait is over that the target
    is recorded after. All that a strand waits for at once is joined at one event, in whatever order it is recorded.

    Besides, the first of the passive records that lead up to the target.
    """
    targets, place = np.unique(graph.edge_dst[edges], return_inverse=True)
    begin, first = (rows[place] for rows in _passive_begin(graph, targets))
    target, came = graph.edge_dst[edges], graph.ts[graph.edge_src[edges]]
    fresh = (begin == 0) | (graph.strand[np.maximum(begin - 1, 0)] != graph.strand[begin])
    waited = fresh | (graph.ts[np.maximum(begin - 1, 0)] < came)
    low, high = np.where(waited, begin, first), np.where(waited, target, first)
    # Along a strand times never fall: the first of the run's events that is not before the source.
    while np.any(low < high):
        middle = (low + high) // 2
        late = graph.ts[middle] >= came
        high = np.where(late, middle, high)
        low = np.where(late, low, np.minimum(middle + 1, high))
    return low, begin


def _passive_begin(graph: ExecutionGraph, targets: I64) -> tuple[I64, I64]:
    """Per target, ascending, the first row of the passive records that lead up to it without a break, and the first target
    among those."""
    passive = passive_kinds()
    begin = targets.copy()
    linked = np.zeros(len(targets), bool)
    previous = np.concatenate(([-1], targets[:-1]))
    open_ = np.arange(len(targets))
    while len(open_):
        before = begin[open_] - 1
        on = (before >= 0) & (graph.strand[np.maximum(before, 0)] == graph.strand[targets[open_]])
        on &= passive[graph.kind[np.maximum(before, 0)]]
        open_, before = open_[on], before[on]
        begin[open_] = before
        met = before == previous[open_]
        linked[open_[met]] = True
        open_ = open_[~met]
    # What meets the target before it goes on where that one began.
    head = np.maximum.accumulate(np.where(linked, 0, np.arange(len(targets))))
    return begin[head], targets[head]
