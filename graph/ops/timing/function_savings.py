"""Estimate how long the recorded requests would take if one function's own work were faster, for all functions of a
run.

The module also returns the share of each function's work in the requests' critical paths. In a run of up to
`MOST_EVENTS` events, the recording is timed again (`replay.py`) with the function's work faster from the run's
beginning. In a longer run, the same number of events is examined in `WINDOWS` time windows spread evenly over the
run. In each window the work is faster from the window's beginning, and the requests inside the windows are a sample
of all requests. Invariant: the saving of a request equals the result of timing the recording again up to each of its
two ends (`what_if.sooner`).

A run without requests counts as one request, from its first to its last event. If such a run is too long to examine
in full, it is not timed again. The function's share of its critical path is then an upper bound of the saving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels, labels_of
from clew.graph.ops.timing.backward_pass import Pieces, Walker
from clew.graph.ops.timing.call_path import CallPaths, Flow, request_spans
from clew.graph.ops.timing.replay import Joins
from clew.graph.ops.timing.what_if import gap_codes, work_gaps
from clew.graph.runtime.progress import Progress, no_progress
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

MOST_EVENTS = 4_000_000
WINDOWS = 4
MOST_PATHS = 2_000
"""The maximum number of requests whose critical paths are walked. If more requests are examined, they are sampled
evenly.
"""
MOST_LABELS = 200
"""The maximum number of functions reported: those with the most work in the examined events."""
_PART = 1 << 22
_MANY = 1_000
_Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Saving:
    """The saving from a faster function. Times are in nanoseconds."""

    on_path: float
    """The function's share of the critical paths, from 0 to 1."""
    request: str = ""
    """The name of the requests with the largest total saving; "" for the run itself, or if no request would be
    faster.
    """
    p95_ns: int = 0
    """The 95th percentile of those requests' durations, as recorded."""
    saved_ns: int = 0
    """The reduction of that percentile."""
    bound: bool = False
    """Whether `saved_ns` is an upper bound rather than an estimate."""


@dataclass(frozen=True)
class Savings:
    percent: float
    requests: int
    """The number of requests that were recorded to their ends."""
    sampled: int
    """The number of those requests that were examined."""
    by_label: dict[str, Saving]


class _Requests(NamedTuple):
    """Columns of requests: the index of the name in the graph's strings, and the first and last event."""

    name: I64
    begin: I64
    end: I64

    def take(self, which: I64) -> _Requests:
        return _Requests(*(column[which] for column in self))

    def response(self, graph: ExecutionGraph) -> I64:
        return graph.ts[self.end] - graph.ts[self.begin]


def find_savings(graph: ExecutionGraph, percent: float, progress: Progress = no_progress) -> Savings:
    """Return the savings with every function's own work `percent` % faster, one function at a time."""
    if not len(graph):
        return Savings(percent, 0, 0, {})
    labels = labels_of(graph, "function")
    found = _requests(graph)
    whole_run = not len(found.begin)
    requests = _run_itself(graph) if whole_run else found
    windows = _windows(graph, whole_run=whole_run)
    paths, faster = _Paths(graph, labels), _Faster(graph, labels, percent / 100)
    parts = []
    for number, window in enumerate(windows):
        inside = np.flatnonzero((graph.ts[requests.begin] > window.since) & (graph.ts[requests.end] <= window.until))
        if not len(inside):
            continue
        mine = requests.take(inside)
        report = partial(progress, f"what-if, part {number + 1} of {len(windows)}")
        paths.add(mine.take(_spread(len(inside), MOST_PATHS // len(windows))), report)
        if window.timed:
            parts.append((mine, faster.saved(mine, window, report)))
    if whole_run and not parts:
        total = int(requests.response(graph)[0])
        bounds = {
            label: Saving(share, "", total, round(share * total * percent / 100), bound=True)
            for label, share in paths.shares().items()
        }
        return Savings(percent, 0, 0, bounds)
    sampled = 0 if whole_run else sum(len(mine.begin) for mine, _ in parts)
    return Savings(percent, len(found.begin), sampled, _rows(graph, parts, paths.shares()))


def _requests(graph: ExecutionGraph) -> _Requests:
    """Return the requests whose ends were recorded."""
    rows = graph.rows_of([Kind.REQUEST])
    if not len(rows):
        return _Requests(rows, rows, rows)
    begin, end, ended = request_spans(graph, rows)
    name = graph.extensions.channel[graph.ext[rows]].astype(np.int64)
    return _Requests(name, begin, end).take(np.flatnonzero(ended & (begin >= 0) & (end > begin)))


def _run_itself(graph: ExecutionGraph) -> _Requests:
    first, last = int(np.argmin(graph.ts)), int(np.argmax(graph.ts))
    return _Requests(*(np.array([value], np.int64) for value in (-1, first, last)))


class _Window(NamedTuple):
    since: int
    until: int
    timed: bool = True


def _windows(graph: ExecutionGraph, *, whole_run: bool) -> list[_Window]:
    everything = _Window(int(graph.ts.min()) - 1, int(graph.ts.max()), len(graph) <= MOST_EVENTS)
    if everything.timed or whole_run:
        return [everything]
    # A sample of the times is enough to find how the events are distributed.
    times = np.sort(graph.ts[:: max(1, len(graph) // 100_000)])
    half = MOST_EVENTS / WINDOWS / len(graph) / 2
    middle = (np.arange(WINDOWS) + 0.5) / WINDOWS
    low, high = np.quantile(times, middle - half), np.quantile(times, middle + half)
    return [_Window(int(since), int(until)) for since, until in zip(low, high, strict=True)]


def _spread(count: int, most: int) -> I64:
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


# Critical paths


class _Paths:
    """The sums of the work on some critical paths."""

    def __init__(self, graph: ExecutionGraph, labels: Labels) -> None:
        self.graph, self.labels = graph, labels
        self.paths = CallPaths(Walker.of_all(graph))
        self.total = 0
        self.by_code: dict[int, int] = {}

    def add(self, requests: _Requests, report: _Report) -> None:
        graph, count = self.graph, len(requests.begin)
        for done, (begin, end) in enumerate(zip(requests.begin.tolist(), requests.end.tolist(), strict=True)):
            if done % 100 == 0:
                report(done, 2 * count)
            since = int(graph.ts[begin])
            self.total += int(graph.ts[end]) - since
            for codes, lengths in path_work(graph, self.labels, self.paths.to(end, Flow(graph, begin), since), since):
                known, place = np.unique(codes, return_inverse=True)
                sums = np.bincount(place, lengths, len(known))
                for code, ns in zip(known.tolist(), sums.tolist(), strict=True):
                    self.by_code[code] = self.by_code.get(code, 0) + int(ns)

    def shares(self) -> dict[str, float]:
        """Return the share of each label."""
        return {self.labels.name(code): ns / self.total for code, ns in self.by_code.items() if self.total}


def path_work(graph: ExecutionGraph, labels: Labels, pieces: Pieces, since_ns: int) -> Iterator[tuple[I64, I64]]:
    """Yield the gaps of a path in which work was done, in chunks: the codes of their labels, and their lengths."""
    last = np.cumsum(pieces.stretches) - 1
    # A piece begins only after all events that lead to it are over.
    floor = np.maximum.accumulate(np.append(since_ns, graph.ts[pieces.stop[last[:-1]] - 1]))
    floor = np.repeat(floor, pieces.stretches)
    low, stop = pieces.low, pieces.stop - 1
    part = np.cumsum(stop - low) // _PART
    for first, after in pairwise([0, *(np.flatnonzero(part[1:] != part[:-1]) + 1).tolist(), len(low)]):
        yield _path_gaps(graph, labels, low[first:after], stop[first:after], floor[first:after])


def _path_gaps(graph: ExecutionGraph, labels: Labels, low: I64, stop: I64, floor: I64) -> tuple[I64, I64]:
    begin, floor = expand(low, stop), np.repeat(floor, stop - low)
    work = np.flatnonzero(~graph.idle[begin])
    begin, floor = begin[work], floor[work]
    lengths = np.maximum(graph.ts[begin + 1], floor) - np.maximum(graph.ts[begin], floor)
    return gap_codes(graph, labels, begin, begin + 1), lengths


# Savings


class _Work:
    """All work of a window, cut at the marks: joins, their causes and the ends of requests."""

    def __init__(self, graph: ExecutionGraph, labels: Labels, window: _Window, marks: I64) -> None:
        self.marks = marks
        gaps = list(work_gaps(graph, labels, window.since, window.until))
        rows, lengths, codes = (np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*gaps, strict=True))
        order = np.argsort(codes, kind="stable")
        # The first mark after each gap.
        self._place = np.searchsorted(marks, rows[order], "right")
        self._length = lengths[order]
        self.codes, self._first = np.unique(codes[order], return_index=True)
        self._after = np.append(self._first[1:], len(order))
        self.total = np.add.reduceat(self._length, self._first) if len(order) else self._length

    def until(self, number: int) -> F64:
        """Return the work of one label before each mark."""
        mine = slice(int(self._first[number]), int(self._after[number]))
        done = np.bincount(self._place[mine], self._length[mine], len(self.marks) + 1)
        return np.cumsum(done, dtype=np.float64)[:-1]


class _Faster(NamedTuple):
    """Times a run again with one function faster at a time."""

    graph: ExecutionGraph
    labels: Labels
    rate: float

    def saved(self, requests: _Requests, window: _Window, report: _Report) -> dict[str, F64]:
        """Return for each function how much less time each of the requests would take, in ns."""
        joins = Joins.of(self.graph, window.since, window.until)
        ends = np.concatenate((requests.begin, requests.end))
        marks = np.unique(np.concatenate((joins.rows, joins.causes, joins.before[1], ends, joins.since(ends)[1])))
        work = _Work(self.graph, self.labels, window, marks)
        functions = {site.label for site in self.graph.sites if not site.is_adapter}
        known = [number for number, code in enumerate(work.codes.tolist()) if self.labels.name(code) in functions]
        known.sort(key=lambda number: -int(work.total[number]))
        saved: dict[str, F64] = {}
        for done, number in enumerate(known[:MOST_LABELS]):
            report(len(known) + done, 2 * len(known))
            until = work.until(number)

            def between(low: I64, high: I64, until: F64 = until) -> F64:
                difference: F64 = until[np.searchsorted(marks, high)] - until[np.searchsorted(marks, low)]
                return difference

            sooner = joins.saved_at(ends, joins.saved(between, self.rate), between, self.rate)
            count = len(requests.begin)
            saved[self.labels.name(int(work.codes[number]))] = sooner[count:] - sooner[:count]
        return saved


def _rows(
    graph: ExecutionGraph, parts: list[tuple[_Requests, dict[str, F64]]], on_path: dict[str, float]
) -> dict[str, Saving]:
    if not parts:
        return {label: Saving(share) for label, share in on_path.items()}
    name = np.concatenate([requests.name for requests, _ in parts])
    response = np.concatenate([requests.response(graph) for requests, _ in parts])
    names, kind = np.unique(name, return_inverse=True)
    members = [np.flatnonzero(kind == number) for number in range(len(names))] if len(names) <= _MANY else None
    rows = {}
    for label in dict.fromkeys([*on_path, *(label for _, found in parts for label in found)]):
        share = on_path.get(label, 0.0)
        saved = np.concatenate([found.get(label, np.zeros(len(requests.name))) for requests, found in parts])
        best = int(np.argmax(np.bincount(kind, saved, len(names))))
        mine = members[best] if members else np.flatnonzero(kind == best)
        before, after = _p95(response[mine]), _p95(response[mine] - saved[mine])
        request = graph.strings[int(names[best])] if names[best] >= 0 else ""
        rows[label] = Saving(share, request, round(before), round(before - after))
    return rows


def _p95(values: npt.NDArray[np.number]) -> float:
    return float(np.percentile(values, 95, method="inverted_cdf"))
