"""Align the clocks of hosts in foreign spans if they evidently disagree.

A clock is evidently behind if a span starts before its caller. It is evidently ahead if all calls from one host to another end
after their callers, by about the same time: work that goes on after its caller ends earlier or later, as long as it takes.

Spans contain less about messages than records of clew: a call starts after its caller on another host, and if the caller
waited, it ends before the caller. Invariant: times change only if clocks evidently disagree. Durations change only by the drift
of clocks.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clew.graph.build.clock_alignment import ENOUGH, Alignment, Correction, Messages, align
from clew.graph.formats.spans.collector import ASYNC, CONSUMER, EARLIEST, LATEST, MISSING, PRODUCER, PSEUDO, Collector

if TYPE_CHECKING:
    from clew.graph.formats.spans.tree import Forest

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def host_numbers(collector: Collector) -> dict[str, int]:
    """Number the hosts in the order of their first appearance; "" is an unknown host."""
    hosts: dict[str, int] = {}
    for info in collector.processes:
        hosts.setdefault(info.host, len(hosts))
    return hosts


def align_hosts(collector: Collector, forest: Forest) -> dict[str, Correction]:
    """Correct all times of hosts whose clocks were off. Return the correction of each host, or {} if there was none."""
    hosts = host_numbers(collector)
    of_process = np.array([hosts[info.host] for info in collector.processes], np.int64)
    below = np.flatnonzero((forest.parent >= 0) & ~forest.has(PSEUDO))
    below = below[~forest.has(PSEUDO)[forest.parent[below]]]
    above = forest.parent[below]
    caller, called = of_process[forest.process[above]], of_process[forest.process[below]]
    unknown = hosts.get("", -1)
    between = (caller != called) & (caller != unknown) & (called != unknown)
    below = below[between]
    behind = (forest.start[below] < forest.start[above[between]]).any()
    if not behind and not _is_ahead(forest, below, caller[between] * len(hosts) + called[between]):
        return {}
    corrections = _alignment(forest, of_process, below, len(hosts)).corrections
    _move(forest.start, of_process[forest.process], corrections)
    _move(forest.end, of_process[forest.process], corrections)
    points, links = collector.points, collector.links
    owner = np.array(points.columns["owner"], np.int64)
    process = np.array(points.columns["process"], np.int64)
    if len(owner):
        process = np.where(owner >= 0, forest.process[np.maximum(owner, 0)], process)
        points.columns["time"] = _moved(points.columns["time"], of_process[process], corrections)
    for end in ("source", "target"):
        row = np.array(links.columns[end], np.int64)
        if len(row):
            host = np.where(row >= 0, of_process[forest.process[np.maximum(row, 0)]], 0)
            links.columns[f"{end}_time"] = _moved(links.columns[f"{end}_time"], host, corrections)
    return {name: corrections[number] for name, number in hosts.items() if name}


def _is_ahead(forest: Forest, below: I64, pair: I64) -> bool:
    """Return whether the calls between the hosts of one pair, a number per call, all end after their callers, and as late."""
    waited = _may_be_waited_for(forest, below)
    below, pair = below[waited], pair[waited]
    late = forest.end[below] - forest.end[forest.parent[below]]
    took = forest.end[below] - forest.start[below]
    for number in np.unique(pair[late > 0]).tolist():
        here = pair == number
        if here.sum() >= ENOUGH and (late[here] > 0).all() and 2 * late[here].std() < took[here].std():
            return True
    return False


def _may_be_waited_for(forest: Forest, below: I64) -> Mask:
    """Return whether the callers may have waited for these calls: a longer call than its whole caller was not waited for."""
    start, end, above = forest.start, forest.end, forest.parent[below]
    return ~forest.has(ASYNC | PRODUCER | CONSUMER)[below] & (end[below] - start[below] <= end[above] - start[above])


def _alignment(forest: Forest, of_process: I64, below: I64, hosts: int) -> Alignment:
    """Estimate the corrections from the calls to these spans."""
    start, end, above = forest.start, forest.end, forest.parent[below]
    caller, called = of_process[forest.process[above]], of_process[forest.process[below]]
    waited = _may_be_waited_for(forest, below)
    # Files round times to microseconds, so equal times of send and receive are in order.
    requests = Messages(caller.astype(np.intp), start[above], called.astype(np.intp), start[below] + 1)
    answers = Messages(
        called[waited].astype(np.intp), end[below[waited]], caller[waited].astype(np.intp), end[above[waited]] + 1
    )
    both = Messages(*(np.concatenate(pair) for pair in zip(_columns(requests), _columns(answers), strict=True)))
    found = align(hosts, both)
    # Some callers evidently did not wait, so use only the starts.
    return align(hosts, requests) if found.backward_ns else found


def _columns(messages: Messages) -> tuple[npt.NDArray[np.intp], I64, npt.NDArray[np.intp], I64]:
    return messages.sender, messages.sent, messages.receiver, messages.received


def _move(times: I64, host: I64, corrections: tuple[Correction, ...]) -> None:
    real = (times != MISSING) & (times != EARLIEST) & (times != LATEST)
    for number, correction in enumerate(corrections):
        own = real & (host == number)
        if own.any():
            times[own] = correction.apply(times[own])


def _moved(column: array[int], host: I64, corrections: tuple[Correction, ...]) -> array[int]:
    times = np.array(column, np.int64)
    _move(times, host, corrections)
    return array(column.typecode, times.tobytes())
