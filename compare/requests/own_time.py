"""What each call of some requests took itself: what it worked, and what it waited for nothing that it had led to.

Invariant: own times are without those of calls below, so that the first in a list of them is where to look, not above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import F64, I64
from clew.graph.ops.flows.flows import Flows

Parents = npt.NDArray[np.int32]


class CallTimes(NamedTuple):
    """Of requests of one category, requests by calls."""

    begin: F64
    total: F64
    work: F64
    waiting: F64
    delay: F64
    own: F64

    @property
    def edge(self) -> F64:
        return np.asarray(self.total + self.delay)


def call_times(flows: Flows, requests: I64, *, alone: bool = False) -> CallTimes:
    """Of requests of one category; with `alone` waiting counts as long as nothing of the request runs anywhere. Raises
    `IndexError` for no requests, whose calls nobody knows."""
    at = flows.places(int(requests[0]))
    named = np.array([name != "" for name in flows.channels])
    begin, total, work, waiting, delay = (
        flows.matrix(column, requests).astype(np.float64)
        for column in ("begin_ns", "total_ns", "self_ns", "waiting_ns", "delay_ns")
    )
    delay[:, 0] = 0  # is before the request
    found = CallTimes(begin, total, work, waiting, delay, work + delay)
    response = flows.response_ns[requests].astype(np.float64)
    later = _Ends(begin + total, response) if alone else None
    _add_waiting(found, response, flows.parent[at], named[flows.channel[at]], later)
    return found


def add_waiting(flows: Flows, requests: I64, times: CallTimes, measured: CallTimes | None) -> None:
    """To own times what calls of requests of one category waited for nothing that they had led to, by the clock of `times`.
    With times as they were `measured`, which tell which call ended last, waiting counts as with `alone`."""
    named = np.array([name != "" for name in flows.channels])
    at = flows.places(int(requests[0]))
    ends = None
    if measured is not None:
        ends = _Ends(measured.begin + measured.total, flows.response_ns[requests].astype(np.float64))
    _add_waiting(times, times.total[:, 0], flows.parent[at], named[flows.channel[at]], ends)


def cumulated(low: F64, high: F64) -> tuple[F64, F64]:
    """Times at which one of some intervals begins or all end, and for how long there was one until then."""
    if not len(low):
        return np.zeros(1), np.zeros(1)
    order = np.argsort(low, kind="stable")
    low, reached = low[order], np.maximum.accumulate(high[order])
    first = np.flatnonzero(np.concatenate(([True], low[1:] > reached[:-1])))
    begin, end = low[first], reached[np.append(first[1:], len(low)) - 1]
    ran = np.cumsum(end - begin)
    return np.stack((begin, end), 1).ravel(), np.stack((ran - (end - begin), ran), 1).ravel()


_Running = list[tuple[F64, F64]]
"""Per request the times at which something of it begins or ceases to run, and for how long it has run until then."""


class _Ends(NamedTuple):
    """When calls ended and requests were answered, by the clock that tells what came last."""

    call: F64
    response: F64


def _add_waiting(
    calls: CallTimes, response: F64, parent: Parents, by_edge: npt.NDArray[np.bool_], ends: _Ends | None
) -> None:
    """To work and what lies on the edge, the waiting in which nothing ran, or waited, that the call had led to, as far as the
    response could be waiting for it. With `ends` it is without what anything of the request ran, and of calls side by side
    that wait at one time it is that of the one which ends last: the others' ends make no difference."""
    running = _running(calls, parent, by_edge) if ends is not None else None
    start, end = calls.begin - calls.delay, calls.begin + calls.total
    width = len(parent)
    # Below each call what edges led to, at any depth, and what it called plainly; children come after their parents.
    far: list[list[int]] = [[] for _ in range(width)]
    near: list[list[int]] = [[] for _ in range(width)]
    for place in range(width - 1, 0, -1):
        above = parent[place]
        far[above] += far[place]
        (far if by_edge[place] else near)[above].append(place)
    for place in range(width):
        waiting = calls.waiting[:, place]
        if not waiting.any():
            continue
        low, high = calls.begin[:, place, None], np.minimum(end[:, place], response)[:, None]
        high = np.maximum(low, high)
        kids, every = near[place], near[place] + far[place]
        first, last = start[:, every], end[:, every]
        if ends is not None:
            beside = _ending_later(place, parent, start, end, ends)
            first, last = np.hstack((first, *beside[0])), np.hstack((last, *beside[1]))
        # A coroutine is suspended while one that it awaits is: what times add up to beyond the call's own is that.
        twice = calls.work[:, place] + waiting + calls.total[:, kids].sum(1) - calls.total[:, place]
        inside = _covered(np.clip(first, low, high), np.clip(last, low, high))
        if running is not None:
            inside = np.maximum(inside, _between(running, low[:, 0], high[:, 0]))
        inside -= _covered(np.clip(start[:, kids], low, high), np.clip(end[:, kids], low, high))
        waiting = np.minimum(waiting - np.maximum(twice, 0), (high - low)[:, 0])
        calls.own[:, place] += np.maximum(waiting - inside, 0)


def _ending_later(place: int, parent: Parents, start: F64, end: F64, ends: _Ends) -> tuple[list[F64], list[F64]]:
    """When calls ran that began beside a call, or beside one that it is in, and ended later, but not after the request."""
    found: tuple[list[F64], list[F64]] = [], []
    while parent[place] >= 0:
        beside = np.flatnonzero(parent == parent[place])
        beside = beside[beside != place]
        later = (ends.call[:, beside] > ends.call[:, [place]]) & (ends.call[:, beside] <= ends.response[:, None])
        found[0].append(start[:, beside])
        found[1].append(np.where(later, end[:, beside], start[:, beside]))
        place = int(parent[place])
    return found


def _running(calls: CallTimes, parent: Parents, by_edge: npt.NDArray[np.bool_]) -> _Running:
    """A call runs all the time if neither it nor what it called waited."""
    runs = calls.waiting == 0
    for place in range(len(parent) - 1, 0, -1):
        if not by_edge[place]:
            runs[:, parent[place]] &= runs[:, place]
    found = []
    for row in range(len(runs)):
        of = np.flatnonzero(runs[row])
        found.append(cumulated(calls.begin[row, of], (calls.begin + calls.total)[row, of]))
    return found


def _between(running: _Running, low: F64, high: F64) -> F64:
    """Per request for how long something of it ran from `low` to `high`."""
    return np.array([np.subtract(*np.interp((high[row], low[row]), *of)) for row, of in enumerate(running)])


def _covered(low: F64, high: F64) -> F64:
    """Per row the length that intervals cover together."""
    if not low.size:
        return np.zeros(len(low))
    order = np.argsort(low, axis=1)
    low, high = np.take_along_axis(low, order, 1), np.take_along_axis(high, order, 1)
    reached = np.maximum.accumulate(high, axis=1)
    before = np.concatenate((low[:, :1], reached[:, :-1]), axis=1)
    return np.asarray(np.maximum(high - np.maximum(low, before), 0).sum(axis=1))
