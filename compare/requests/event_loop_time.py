"""Measure times of a request's calls by a clock that stops while their event loop runs anything.

A suspended task waits for what it awaits and then queues for the event loop. The recording does not show when queueing
starts, but it cannot end before the loop is free. Therefore a task waits for something of its own only while its loop
idles. A function that keeps the loop busy does not make other tasks look slow. Invariant: calls outside of tasks use the
ordinary clock.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from clew.compare.requests.own_time import CallTimes, add_waiting, call_times, cumulative_union
from clew.compare.stats.tests import F64, I64
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.flows.flows import Flows, Mask
from clew.records.format.event import Kind


def exclusive_times(flows: Flows, requests: I64) -> CallTimes:
    """Return the exclusive times (see `call_times`) of requests of one category; a call in a task waits only while its
    loop idles."""
    times = call_times(flows, requests, exclusive=True)
    idle, on_loop = idle_times(flows, requests, times, exclusive=True)
    return times._replace(own=np.where(on_loop, times.work + idle.own, times.own))


def idle_times(flows: Flows, requests: I64, times: CallTimes, *, exclusive: bool = False) -> tuple[CallTimes, Mask]:
    """Return the times of calls during which their loop idled, for requests of one category, and which calls run on the
    loop."""
    on_loop = np.zeros(times.begin.shape, bool)
    start, begin, end, waiting = times.begin - times.delay, times.begin.copy(), times.begin + times.total, times.waiting
    waiting = waiting.copy()
    for number in np.unique(flows.run[requests]).tolist():
        graph, clocks = flows.runs[number].graph, _clocks_of(flows.runs[number])
        rows = np.flatnonzero(flows.run[requests] == number)
        event = flows.matrix("event", requests[rows]).astype(np.int64)
        loop = clocks.loop[graph.strand[event]]
        # Use one loop per request: requests with calls on two loops of one process do not occur in practice.
        loop_of_request = loop.max(axis=1) if loop.size else np.zeros(0, np.int64)
        zero = graph.ts[event[:, 0]].astype(np.float64)
        waiting[rows] = np.maximum(waiting[rows] - clocks.held(event), 0)
        for one in np.unique(loop_of_request[loop_of_request >= 0]).tolist():
            of = np.flatnonzero(loop_of_request == one)
            for column in (start, begin, end):
                column[rows[of]] -= clocks.ran(one, column[rows[of]] + zero[of, None]) - clocks.ran(one, zero[of, None])
        on_loop[rows] = (loop >= 0) & (loop == loop_of_request[:, None])
    nothing = np.zeros_like(begin)
    delay = np.where(times.delay > 0, begin - start, 0.0)
    found = CallTimes(begin, end - begin, nothing, waiting, nothing, delay, delay.copy())
    if on_loop.any():
        add_waiting(flows, requests, found, times if exclusive else None)
    return found, on_loop


def queueing_times(flows: Flows, requests: I64) -> F64:
    """Return, per request of one category, how long its event loop ran other work until the answer, in ns; 0 without a
    loop."""
    found = np.zeros(len(requests))
    for number in np.unique(flows.run[requests]).tolist():
        graph, clocks = flows.runs[number].graph, _clocks_of(flows.runs[number])
        rows = np.flatnonzero(flows.run[requests] == number)
        event = flows.matrix("event", requests[rows]).astype(np.int64)
        loop = clocks.loop[graph.strand[event]]
        loop_of_request = loop.max(axis=1)
        begin = graph.ts[event[:, 0]].astype(np.float64)
        end = begin + flows.response_ns[requests[rows]]
        worked = np.where(
            (loop >= 0) & (loop == loop_of_request[:, None]), flows.matrix("self_ns", requests[rows]), 0
        ).sum(axis=1)
        for one in np.unique(loop_of_request[loop_of_request >= 0]).tolist():
            of = np.flatnonzero(loop_of_request == one)
            ran = clocks.ran(one, end[of]) - clocks.ran(one, begin[of])
            found[rows[of]] = np.maximum(ran - worked[of], 0)
    return found


class _LoopClocks:
    """The clocks of the event loops of one run."""

    def __init__(self, graph: ExecutionGraph) -> None:
        is_task = np.array([strand.kind == "task" for strand in graph.strands], bool)
        thread = np.array([(strand.process << 32) + strand.thread for strand in graph.strands], np.int64)
        self.loop: I64 = np.where(is_task, thread, -1)
        """Per strand the thread of its event loop, -1 for what is no task."""
        rows = np.arange(max(len(graph.ts) - 1, 0) if is_task.any() else 0)
        rows = rows[np.isin(thread, thread[is_task])[graph.strand[rows]]]
        rows = rows[graph.strand[rows] == graph.strand[rows + 1]]
        # A task that pauses keeps its loop from running others.
        paused = is_task[graph.strand[rows]] & (graph.kind[rows] == Kind.PAUSE)
        idle, ts = graph.idle[rows] & ~paused, graph.ts
        ran, waits = rows[~idle], rows[idle]
        self._busy = {
            number: cumulative_union(ts[of].astype(np.float64), ts[of + 1].astype(np.float64))
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
        """Return how long the thread of a loop has run anything until the given instants."""
        return np.asarray(np.interp(instants, *self._busy[loop]))

    def held(self, event: I64) -> F64:
        """Return, per call (by its first event), how long its loop ran other work while the call was suspended."""
        if not len(self._enter):
            return np.zeros(event.shape)
        at = np.minimum(np.searchsorted(self._enter, event), len(self._enter) - 1)
        return np.where(self._enter[at] == event, self._held[at], 0.0)


_clocks_by_run: WeakKeyDictionary[OpenRun, _LoopClocks] = WeakKeyDictionary()
"""The clocks of open runs, cached because each category needs them."""


def _clocks_of(run: OpenRun) -> _LoopClocks:
    if run not in _clocks_by_run:
        _clocks_by_run[run] = _LoopClocks(run.graph)
    return _clocks_by_run[run]
