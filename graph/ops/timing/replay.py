"""Time a recording again: compute how much sooner events come if some of the work before them is faster.

Every event keeps the causes that it waited for. Along a strand, an event follows the previous one by the same work,
or by less if the work is faster. An event with incoming edges keeps its delay after the latest of the previous event
and the edges' sources. Strands that share a thread, such as the tasks of an event loop, keep their order. The causes
are found once (`Joins`) and reused for any choice of faster work. Invariants: without changed work every event keeps
its time, and times are computed only along edges that go forward in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_times import passive_kinds
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.graph import ExecutionGraph

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

Between = Callable[[I64, I64], F64]
"""Return the faster work, in ns, from events to later events on the same strands."""


@dataclass(frozen=True, eq=False)
class Joins:
    """The events that edges lead to, in row order, and the causes of each: its edges' sources and the previous
    event on its strand.
    """

    graph: ExecutionGraph
    start: I64
    """The first row of each strand."""
    rows: I64
    first: I64
    """The offsets of the causes: join i has the causes `first[i]` up to `first[i + 1]`."""
    causes: I64
    at: I64
    """The join's row for each cause."""

    @staticmethod
    def of(graph: ExecutionGraph, since_ns: int, end_ns: int) -> Joins:
        """Return the joins that events up to `end_ns` depend on, if work is faster only after `since_ns`."""
        start = np.array([strand.start for strand in graph.strands], np.int64)
        edges = np.flatnonzero(graph.ts[graph.edge_dst] <= end_ns)
        sources, (at, woken) = graph.edge_src[edges], join_rows(graph, edges)
        turns, following = thread_turns(graph, woken, graph.ts[sources])
        sources, at = np.concatenate((sources, turns)), np.concatenate((at, following))
        # Events before the first faster work keep their times.
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
        """Return the last join on each event's strand up to the event (-1 for none), and its row or the strand's
        beginning.
        """
        start = self.start[self.graph.strand[events]]
        join = np.searchsorted(self.rows, events, "right") - 1
        row = np.append(self.rows, -1)[join]
        return np.where(row >= start, join, -1), np.maximum(row, start)

    @cached_property
    def before(self) -> tuple[I64, I64]:
        """Return the result of `since` for the causes."""
        return self.since(self.causes)

    @cached_property
    def _own_strand(self) -> I64:
        """Return the causes that are on their joins' own strands."""
        return np.flatnonzero(self.graph.strand[self.causes] == self.graph.strand[self.at])

    @cached_property
    def order(self) -> I64:
        """Return the joins, each after those that it depends on."""
        return _causes_first(self.graph.ts[self.rows], self.at_join, self.before[0])

    @cached_property
    def at_join(self) -> I64:
        """Return the join of each cause."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.first))

    @cached_property
    def _time(self) -> I64:
        return np.ascontiguousarray(self.graph.ts[self.causes], np.int64)

    def saved(self, between: Between, rate: float) -> F64:
        """Return for each join how many ns sooner it comes if the work takes `rate` less of its time; NaN if
        undetermined.
        """
        other, row = self.before
        done = np.ascontiguousarray(between(row, self.causes), np.float64)
        # The work between a join and its previous event, during which the strand did not wait for another cause.
        gap = np.zeros(len(self.causes))
        gap[self._own_strand] = between(self.causes[self._own_strand], self.at[self._own_strand])
        return Timed(self.order, self.first, other, self._time, done, gap).saved(rate)

    def saved_at(self, events: I64, joins: F64, between: Between, rate: float) -> F64:
        """Return how many ns sooner events come, given how much sooner `joins` come."""
        join, row = self.since(events)
        known = np.append(joins, 0.0)[join]
        return np.where(np.isnan(known), 0.0, known) + rate * between(row, events)


class Timed(NamedTuple):
    """The data that determines how much sooner joins come. All columns but the first two have one row per cause."""

    order: I64
    """The joins, each after those that it depends on."""
    first: I64
    other: I64
    """The last join before the cause on its strand, -1 for none."""
    time: I64
    done: F64
    """The work since that join."""
    gap: F64
    """The work between the cause and its join, if they are adjacent on a strand."""

    def saved(self, rate: float) -> F64:
        """Return the saving of each join, NaN if undetermined."""
        saved = np.full(len(self.order), np.nan)
        kernels.retime(*self, rate, saved)
        return saved


def _causes_first(time: I64, join: I64, other: I64) -> I64:
    """Return the joins, each after those that it depends on: by time, and depth first among equal times.

    Joins in cycles, which equal times permit, have an arbitrary order.
    """
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
    """Return where a strand had to wait for its turn on the thread.

    The result pairs the other strand's last event before the turn with the strand's own first event after it. A task
    waits for its turn if everything that `woken` it was present while the thread still ran something else. `woken`
    holds the first events after pauses, and `came` the times when the causes that ended the pauses were present. A
    thread's own strand waits for its turn whenever tasks run on the thread.
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
    # Among equal times an end comes first, except the end of a single event.
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
    """Return for each edge the event that cannot come before the edge's source, and the first passive record before
    the target.

    The event is the edge's target, or the end of the wait if the target is recorded after it. All causes that a
    strand waits for at once are joined at one event, in whatever order they are recorded. The passive records are
    those that lead up to the target.
    """
    targets, place = np.unique(graph.edge_dst[edges], return_inverse=True)
    begin, first = (rows[place] for rows in _passive_begin(graph, targets))
    target, came = graph.edge_dst[edges], graph.ts[graph.edge_src[edges]]
    fresh = (begin == 0) | (graph.strand[np.maximum(begin - 1, 0)] != graph.strand[begin])
    waited = fresh | (graph.ts[np.maximum(begin - 1, 0)] < came)
    low, high = np.where(waited, begin, first), np.where(waited, target, first)
    # Times never decrease along a strand, so bisection finds the run's first event that is not before the source.
    while np.any(low < high):
        middle = (low + high) // 2
        late = graph.ts[middle] >= came
        high = np.where(late, middle, high)
        low = np.where(late, low, np.minimum(middle + 1, high))
    return low, begin


def _passive_begin(graph: ExecutionGraph, targets: I64) -> tuple[I64, I64]:
    """Return for each target, ascending, the first of the unbroken passive records before it, and the first target
    among those.
    """
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
    # A later target that the sequence reaches without a break shares the beginning of the first.
    head = np.maximum.accumulate(np.where(linked, 0, np.arange(len(targets))))
    return begin[head], targets[head]
