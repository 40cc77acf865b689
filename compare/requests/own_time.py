"""Compute the own time of each call of some requests: its work, and its waiting that the calls it led to do not explain.

Invariant: own times exclude the calls below, so the first call in a list of them is the cause and not one of its callers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import F64, I64
from clew.graph.ops.flows.flows import Flows

Parents = npt.NDArray[np.int32]


class CallTimes(NamedTuple):
    """The times of requests of one category, as matrices of requests by calls, in ns."""

    begin: F64
    total: F64
    work: F64
    waiting: F64
    taken: F64
    """The time that others had the processor or the GIL. It is part of `total` only."""
    delay: F64
    own: F64

    @property
    def edge(self) -> F64:
        return np.asarray(self.total + self.delay)


def call_times(flows: Flows, requests: I64, *, exclusive: bool = False) -> CallTimes:
    """Return the times of the calls of requests of one category.

    With `exclusive`, waiting counts only while nothing of the request runs. Raises `IndexError` without requests.
    """
    at = flows.places(int(requests[0]))
    named = np.array([name != "" for name in flows.channels])
    begin, total, work, waiting, taken, delay = (
        flows.matrix(column, requests).astype(np.float64)
        for column in ("begin_ns", "total_ns", "self_ns", "waiting_ns", "taken_ns", "delay_ns")
    )
    delay[:, 0] = 0  # the delay of the root is before the request
    found = CallTimes(begin, total, work, waiting, taken, delay, work + delay)
    response = flows.response_ns[requests].astype(np.float64)
    later = _Ends(begin + total, response) if exclusive else None
    _add_waiting(found, response, flows.parent[at], named[flows.channel[at]], later)
    return found


def add_waiting(flows: Flows, requests: I64, times: CallTimes, measured: CallTimes | None) -> None:
    """Add to the own times the waiting of calls that the calls they led to do not explain, by the clock of `times`.

    `requests` are of one category. With `measured`, the times by the ordinary clock, waiting counts as with `exclusive`;
    they determine which call ended last.
    """
    named = np.array([name != "" for name in flows.channels])
    at = flows.places(int(requests[0]))
    ends = None
    if measured is not None:
        ends = _Ends(measured.begin + measured.total, flows.response_ns[requests].astype(np.float64))
    _add_waiting(times, times.total[:, 0], flows.parent[at], named[flows.channel[at]], ends)


def cumulative_union(low: F64, high: F64) -> tuple[F64, F64]:
    """Return the boundaries of the union of some intervals, and the covered length up to each boundary."""
    if not len(low):
        return np.zeros(1), np.zeros(1)
    order = np.argsort(low, kind="stable")
    low, reached = low[order], np.maximum.accumulate(high[order])
    first = np.flatnonzero(np.concatenate(([True], low[1:] > reached[:-1])))
    begin, end = low[first], reached[np.append(first[1:], len(low)) - 1]
    ran = np.cumsum(end - begin)
    return np.stack((begin, end), 1).ravel(), np.stack((ran - (end - begin), ran), 1).ravel()


_Running = list[tuple[F64, F64]]
"""Per request, the times at which its running starts or stops, and how long it has run until then."""


class _Ends(NamedTuple):
    """The ends of calls and the times of the answers, by the clock that determines the last call."""

    call: F64
    response: F64


def _add_waiting(
    calls: CallTimes, response: F64, parent: Parents, by_edge: npt.NDArray[np.bool_], ends: _Ends | None
) -> None:
    """Add to the own times (work and delay) the waiting while no call that the call had led to ran or waited, until the
    response.

    With `ends`, the time in which anything of the request ran is excluded. If siblings wait at the same time, the waiting
    belongs to the one that ends last, because the ends of the others do not matter.
    """
    running = _running(calls, parent, by_edge) if ends is not None else None
    start, end = calls.begin - calls.delay, calls.begin + calls.total
    width = len(parent)
    # Per call, the descendants that edges led to, at any depth, and its plain children. Children come after their parents.
    by_edges: list[list[int]] = [[] for _ in range(width)]
    plain: list[list[int]] = [[] for _ in range(width)]
    for place in range(width - 1, 0, -1):
        above = parent[place]
        by_edges[above] += by_edges[place]
        (by_edges if by_edge[place] else plain)[above].append(place)
    for place in range(width):
        waiting = calls.waiting[:, place]
        if not waiting.any():
            continue
        low, high = calls.begin[:, place, None], np.minimum(end[:, place], response)[:, None]
        high = np.maximum(low, high)
        children, every = plain[place], plain[place] + by_edges[place]
        first, last = start[:, every], end[:, every]
        if ends is not None:
            siblings = _later_siblings(place, parent, start, end, ends)
            first, last = np.hstack((first, *siblings[0])), np.hstack((last, *siblings[1]))
        # A coroutine is suspended while an awaited one is, so that waiting counts twice: the excess over the call's total.
        known = calls.work[:, place] + waiting + calls.taken[:, place]
        overlap = known + calls.total[:, children].sum(1) - calls.total[:, place]
        inside = _covered(np.clip(first, low, high), np.clip(last, low, high))
        if running is not None:
            inside = np.maximum(inside, _running_time(running, low[:, 0], high[:, 0]))
        inside -= _covered(np.clip(start[:, children], low, high), np.clip(end[:, children], low, high))
        waiting = np.minimum(waiting - np.maximum(overlap, 0), (high - low)[:, 0])
        calls.own[:, place] += np.maximum(waiting - inside, 0)


def _later_siblings(place: int, parent: Parents, start: F64, end: F64, ends: _Ends) -> tuple[list[F64], list[F64]]:
    """Return the intervals of siblings, of the call or of a caller, that ended later, but not after the response."""
    found: tuple[list[F64], list[F64]] = [], []
    while parent[place] >= 0:
        siblings = np.flatnonzero(parent == parent[place])
        siblings = siblings[siblings != place]
        later = (ends.call[:, siblings] > ends.call[:, [place]]) & (ends.call[:, siblings] <= ends.response[:, None])
        found[0].append(start[:, siblings])
        found[1].append(np.where(later, end[:, siblings], start[:, siblings]))
        place = int(parent[place])
    return found


def _running(calls: CallTimes, parent: Parents, by_edge: npt.NDArray[np.bool_]) -> _Running:
    """Return, per request, when its calls ran. A call runs all the time if neither it nor its callees waited."""
    runs = calls.waiting == 0
    for place in range(len(parent) - 1, 0, -1):
        if not by_edge[place]:
            runs[:, parent[place]] &= runs[:, place]
    found = []
    for row in range(len(runs)):
        of = np.flatnonzero(runs[row])
        found.append(cumulative_union(calls.begin[row, of], (calls.begin + calls.total)[row, of]))
    return found


def _running_time(running: _Running, low: F64, high: F64) -> F64:
    """Return, per request, how long it ran between `low` and `high`."""
    return np.array([np.subtract(*np.interp((high[row], low[row]), *of)) for row, of in enumerate(running)])


def _covered(low: F64, high: F64) -> F64:
    """Return, per row, the length of the union of the intervals."""
    if not low.size:
        return np.zeros(len(low))
    order = np.argsort(low, axis=1)
    low, high = np.take_along_axis(low, order, 1), np.take_along_axis(high, order, 1)
    reached = np.maximum.accumulate(high, axis=1)
    before = np.concatenate((low[:, :1], reached[:, :-1]), axis=1)
    return np.asarray(np.maximum(high - np.maximum(low, before), 0).sum(axis=1))
