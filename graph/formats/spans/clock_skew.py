"""Puts the hosts of foreign spans onto one clock where they evidently disagree: where a span begins before its caller's.

What spans tell about messages is less than clew's own records do: a call's beginning is after its caller's on another host,
and where the caller waited, its end before the caller's. Invariant: nothing is moved when no span on another host begins before
the one that called it; durations change by no more than clocks drift.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clew.graph.build.clock_alignment import Alignment, Correction, Messages, align
from clew.graph.formats.spans.collector import ASYNC, CONSUMER, EARLIEST, LATEST, MISSING, PRODUCER, PSEUDO, Collector

if TYPE_CHECKING:
    from clew.graph.formats.spans.tree import Forest

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def host_numbers(collector: Collector) -> dict[str, int]:
    """Hosts by number, in the order in which they were met; "" where a file names none."""
    hosts: dict[str, int] = {}
    for info in collector.processes:
        hosts.setdefault(info.host, len(hosts))
    return hosts


def align_hosts(collector: Collector, forest: Forest) -> dict[str, Correction]:
    """Moves all times of the hosts whose clocks were off; per host by what, nothing when none was."""
    hosts = host_numbers(collector)
    of_process = np.array([hosts[info.host] for info in collector.processes], np.int64)
    below = np.flatnonzero((forest.parent >= 0) & ~forest.has(PSEUDO))
    below = below[~forest.has(PSEUDO)[forest.parent[below]]]
    above = forest.parent[below]
    caller, called = of_process[forest.process[above]], of_process[forest.process[below]]
    unknown = hosts.get("", -1)
    between = (caller != called) & (caller != unknown) & (called != unknown)
    below = below[between]
    if not (forest.start[below] < forest.start[above[between]]).any():
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


def _alignment(forest: Forest, of_process: I64, below: I64, hosts: int) -> Alignment:
    """By the calls to these spans."""
    start, end, above = forest.start, forest.end, forest.parent[below]
    caller, called = of_process[forest.process[above]], of_process[forest.process[below]]
    # A call that takes longer than its caller's whole span was not waited for.
    waited = ~forest.has(ASYNC | PRODUCER | CONSUMER)[below] & (end[below] - start[below] <= end[above] - start[above])
    # Files round times to microseconds: what arrives as it is sent is in order.
    requests = Messages(caller.astype(np.intp), start[above], called.astype(np.intp), start[below] + 1)
    answers = Messages(
        called[waited].astype(np.intp), end[below[waited]], caller[waited].astype(np.intp), end[above[waited]] + 1
    )
    both = Messages(*(np.concatenate(pair) for pair in zip(_columns(requests), _columns(answers), strict=True)))
    found = align(hosts, both)
    # Not every caller waits: where some evidently did not, only beginnings tell.
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
