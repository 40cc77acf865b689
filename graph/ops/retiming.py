"""A recording is timed again: by how much events come sooner when some of the work before them is faster.

Every event keeps what it waited for. Along a strand it follows the one before by the same work, or less where the work is
faster; where edges lead to it, by the same delay after the latest of the event before and the edges' sources. Strands that take
turns on a thread, as an event loop's tasks do, keep their order. What waited for what is found once (`Joins`), for whichever
work is faster then. Invariant: with no work changed every event keeps its time, and times are computed along edges that go
forward in time only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model import ExecutionGraph
from clew.graph.times import passive_kinds
from clew.graph.walks import in_c, walks

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

Between = Callable[[I64, I64], F64]
"""The work that is faster, in ns, from events up to others that come later on the same strands."""


@dataclass(frozen=True, eq=False)
class Joins:
    """The events that edges lead to, in the order of rows, and what each waited for, its causes: the sources of its edges, and
    the event before it on its strand."""

    graph: ExecutionGraph
    start: I64
    """Per strand, its first row."""
    rows: I64
    first: I64
    """Join i has the causes `first[i]` up to `first[i + 1]`."""
    causes: I64
    at: I64
    """Per cause the join's row."""

    @staticmethod
    def of(graph: ExecutionGraph, since_ns: int, end_ns: int) -> Joins:
        """As far as events up to a time depend on them, where nothing is faster before another."""
        start = np.array([strand.start for strand in graph.strands], np.int64)
        edges = np.flatnonzero(graph.ts[graph.edge_dst] <= end_ns)
        sources, (at, woken) = graph.edge_src[edges], join_rows(graph, edges)
        turns, following = thread_turns(graph, woken, graph.ts[sources])
        sources, at = np.concatenate((sources, turns)), np.concatenate((at, following))
        # Nothing comes sooner before the first work that is faster.
        usable = (graph.ts[sources] <= graph.ts[at]) & (graph.ts[at] > since_ns) & (graph.ts[at] <= end_ns)
        usable &= graph.strand[sources] != graph.strand[at]
        sources, at = sources[usable], at[usable]
        rows = np.unique(at)
        own = rows[rows > start[graph.strand[rows]]]
        causes, at = np.concatenate((own - 1, sources)), np.concatenate((own, at))
        order = np.argsort(at, kind="stable")
        causes, at = causes[order], at[order]
        return Joins(graph, start, rows, np.searchsorted(at, np.append(rows, len(graph))), causes, at)

    def since(self, events: I64) -> tuple[I64, I64]:
        """The last join on each event's strand up to it (-1: none), and its row, or where the strand begins."""
        start = self.start[self.graph.strand[events]]
        join = np.searchsorted(self.rows, events, "right") - 1
        row = np.append(self.rows, -1)[join]
        return np.where(row >= start, join, -1), np.maximum(row, start)

    @cached_property
    def before(self) -> tuple[I64, I64]:
        """As `since`, of the causes."""
        return self.since(self.causes)

    @cached_property
    def _beside(self) -> I64:
        """The causes that are on their joins' own strands."""
        return np.flatnonzero(self.graph.strand[self.causes] == self.graph.strand[self.at])

    @cached_property
    def order(self) -> I64:
        """The joins, each after those that it depends on."""
        return _causes_first(self.graph.ts[self.rows], self.at_join, self.before[0])

    @cached_property
    def at_join(self) -> I64:
        """Per cause, its join."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.first))

    @cached_property
    def _time(self) -> I64:
        return np.ascontiguousarray(self.graph.ts[self.causes], np.int64)

    def saved(self, between: Between, rate: float) -> F64:
        """Per join by how many ns it comes sooner when the work takes `rate` less of its time; NaN where nothing tells."""
        other, row = self.before
        done = np.ascontiguousarray(between(row, self.causes), np.float64)
        # Between a join and the event before it, as far as nothing else was waited for.
        gap = np.zeros(len(self.causes))
        gap[self._beside] = between(self.causes[self._beside], self.at[self._beside])
        return Timed(self.order, self.first, other, self._time, done, gap).saved(rate)

    def saved_at(self, events: I64, joins: F64, between: Between, rate: float) -> F64:
        """By how many ns events come sooner, where `joins` do."""
        join, row = self.since(events)
        known = np.append(joins, 0.0)[join]
        return np.where(np.isnan(known), 0.0, known) + rate * between(row, events)


class Timed(NamedTuple):
    """What tells by how much joins come sooner; of causes but for the first two columns."""

    order: I64
    """The joins, each after those that it depends on."""
    first: I64
    other: I64
    """The last join before the cause on its strand, -1 for none."""
    time: I64
    done: F64
    """The work since that join."""
    gap: F64
    """The work between the cause and the join that it is of, where they are neighbours."""

    def saved(self, rate: float) -> F64:
        """Per join, NaN where nothing tells."""
        if not in_c:
            return self.saved_in_python(rate)
        saved = np.full(len(self.order), np.nan)
        walks.retime(*self, rate, saved)
        return saved

    def saved_in_python(self, rate: float) -> F64:
        """What the walk in C gives."""
        order, ends, others, times, works, gaps = (column.tolist() for column in self)
        known = [math.nan] * len(order)
        for join in order:
            came, comes, own = None, -math.inf, 0.0
            for cause in range(ends[join], ends[join + 1]):
                before = 0.0 if others[cause] < 0 else known[others[cause]]
                if math.isnan(before):
                    continue
                comes = max(comes, times[cause] - before - rate * works[cause])
                # A join right after its strand's own work comes sooner by what that work saves, too.
                if came is None or times[cause] > came:
                    came, own = times[cause], gaps[cause]
                elif times[cause] == came:
                    own = max(own, gaps[cause])
            known[join] = 0.0 if came is None else came - comes + rate * own
        return np.array(known, np.float64)


def _causes_first(time: I64, join: I64, other: I64) -> I64:
    """The joins, each after those that it depends on: by time, and of one time depth first. In circles, as equal times may have
    them, anywhere."""
    order = np.argsort(time, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    depends = other >= 0
    join, other = join[depends], other[depends]
    late = rank[other] >= rank[join]
    if not late.any():
        return order
    equal = time[other] == time[join]
    needs: dict[int, list[int]] = {}
    for later, sooner in zip(join[equal].tolist(), other[equal].tolist(), strict=True):
        needs.setdefault(later, []).append(sooner)
    for moment in np.unique(time[join[late]]).tolist():
        low, high = np.searchsorted(time[order], [moment, moment + 1])
        order[low:high] = _depth_first(order[low:high].tolist(), needs)
    return order


def _depth_first(joins: list[int], needs: dict[int, list[int]]) -> list[int]:
    done: dict[int, None] = {}
    entered: set[int] = set()
    stack = joins[::-1]
    while stack:
        join = stack[-1]
        if join in entered:
            stack.pop()
            done[join] = None
        else:
            entered.add(join)
            stack += [other for other in needs.get(join, ()) if other not in entered]
    return list(done)


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
