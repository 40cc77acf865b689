"""Times of a request's calls by a clock that stands still while their event loop runs anything.

A suspended task waits for what it awaits, and then for its turn. Nobody knows when its turn began, but it cannot have come
before the loop was free: so only while the loop idles does a task wait for something of its own, and where one function
keeps the loop busy, no other waits for longer. Invariant: what runs in no task has the clock of all.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from clew.compare.requests.own_time import CallTimes, add_waiting, call_times, cumulated
from clew.compare.stats.tests import F64, I64
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows, Mask


def times_alone(flows: Flows, requests: I64) -> CallTimes:
    """Of requests of one category, as `call_times` alone; what runs in a task waits itself only while its loop idles."""
    times = call_times(flows, requests, alone=True)
    idle, on_loop = idle_times(flows, requests, times, alone=True)
    return times._replace(own=np.where(on_loop, times.work + idle.own, times.own))


def idle_times(flows: Flows, requests: I64, times: CallTimes, *, alone: bool = False) -> tuple[CallTimes, Mask]:
    """Of requests of one category: their calls' times in which their loop idled, and which of them run on it."""
    on_loop = np.zeros(times.begin.shape, bool)
    start, begin, end, waiting = times.begin - times.delay, times.begin.copy(), times.begin + times.total, times.waiting
    waiting = waiting.copy()
    for number in np.unique(flows.run[requests]).tolist():
        graph, turns = flows.runs[number].graph, _turns(flows.runs[number])
        rows = np.flatnonzero(flows.run[requests] == number)
        event = flows.matrix("event", requests[rows]).astype(np.int64)
        loop = turns.loop[graph.strand[event]]
        # That of the first task: requests with calls on two loops of one process are none that anyone makes.
        mine = loop.max(axis=1) if loop.size else np.zeros(0, np.int64)
        zero = graph.ts[event[:, 0]].astype(np.float64)
        waiting[rows] = np.maximum(waiting[rows] - turns.held(event), 0)
        for one in np.unique(mine[mine >= 0]).tolist():
            of = np.flatnonzero(mine == one)
            for column in (start, begin, end):
                column[rows[of]] -= turns.ran(one, column[rows[of]] + zero[of, None]) - turns.ran(one, zero[of, None])
        on_loop[rows] = (loop >= 0) & (loop == mine[:, None])
    nothing = np.zeros_like(begin)
    delay = np.where(times.delay > 0, begin - start, 0.0)
    found = CallTimes(begin, end - begin, nothing, waiting, delay, delay.copy())
    if on_loop.any():
        add_waiting(flows, requests, found, times if alone else None)
    return found, on_loop


def held_back(flows: Flows, requests: I64) -> F64:
    """Per request of one category for how long (ns) its event loop ran others until it was answered; 0 of what has none."""
    found = np.zeros(len(requests))
    for number in np.unique(flows.run[requests]).tolist():
        graph, turns = flows.runs[number].graph, _turns(flows.runs[number])
        rows = np.flatnonzero(flows.run[requests] == number)
        event = flows.matrix("event", requests[rows]).astype(np.int64)
        loop = turns.loop[graph.strand[event]]
        mine = loop.max(axis=1)
        begin = graph.ts[event[:, 0]].astype(np.float64)
        end = begin + flows.response_ns[requests[rows]]
        worked = np.where((loop >= 0) & (loop == mine[:, None]), flows.matrix("self_ns", requests[rows]), 0).sum(axis=1)
        for one in np.unique(mine[mine >= 0]).tolist():
            of = np.flatnonzero(mine == one)
            ran = turns.ran(one, end[of]) - turns.ran(one, begin[of])
            found[rows[of]] = np.maximum(ran - worked[of], 0)
    return found


class _Turns:
    """Of one run."""

    def __init__(self, graph: ExecutionGraph) -> None:
        is_task = np.array([strand.kind == "task" for strand in graph.strands], bool)
        thread = np.array([(strand.process << 32) + strand.thread for strand in graph.strands], np.int64)
        self.loop: I64 = np.where(is_task, thread, -1)
        """Per strand the thread of its event loop, -1 for what is no task."""
        rows = np.arange(max(len(graph.ts) - 1, 0) if is_task.any() else 0)
        rows = rows[np.isin(thread, thread[is_task])[graph.strand[rows]]]
        rows = rows[graph.strand[rows] == graph.strand[rows + 1]]
        idle, ts = graph.idle[rows], graph.ts
        ran, waits = rows[~idle], rows[idle]
        self._busy = {
            number: cumulated(ts[of].astype(np.float64), ts[of + 1].astype(np.float64))
            for number in np.unique(self.loop[is_task]).tolist()
            for of in [ran[thread[graph.strand[ran]] == number]]
        }
        waits = waits[is_task[graph.strand[waits]] & (graph.inner[waits] >= 0)]
        held = np.zeros(len(waits))
        for number in self._busy:
            of = np.flatnonzero(thread[graph.strand[waits]] == number)
            held[of] = self.ran(number, ts[waits[of] + 1].astype(float)) - self.ran(number, ts[waits[of]].astype(float))
        self._enter, which = np.unique(graph.inner[waits], return_inverse=True)
        self._held = np.bincount(which, held, len(self._enter))

    def ran(self, loop: int, instants: F64) -> F64:
        """For how long a loop's thread has run anything until then."""
        return np.asarray(np.interp(instants, *self._busy[loop]))

    def held(self, event: I64) -> F64:
        """Per call, by the event that it begins with, for how long its loop ran others while it was suspended itself."""
        if not len(self._enter):
            return np.zeros(event.shape)
        at = np.minimum(np.searchsorted(self._enter, event), len(self._enter) - 1)
        return np.where(self._enter[at] == event, self._held[at], 0.0)


_known: WeakKeyDictionary[OpenRun, _Turns] = WeakKeyDictionary()
"""Of the runs that are open: they are asked for once per category."""


def _turns(run: OpenRun) -> _Turns:
    if run not in _known:
        _known[run] = _Turns(run.graph)
    return _known[run]
