"""Compute how much sooner an event would come if some of the work before it were faster, by timing the recording
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels
from clew.graph.ops.timing.replay import Joins
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

_PART = 1 << 22
"""The number of events whose labels are found at a time."""


@dataclass(frozen=True)
class WhatIf:
    """The effect of a label's work being `percent` % faster. Times are in nanoseconds."""

    label: str
    percent: float
    total_ns: int
    """The recorded time from the path's beginning to its end."""
    saved_ns: int
    """How much sooner the end would come; negative if a slower label delays it."""
    work_ns: int
    """The label's own work up to the end, on the path or outside it."""

    @property
    def after_ns(self) -> int:
        return self.total_ns - self.saved_ns


def gap_codes(graph: ExecutionGraph, labels: Labels, begin: I64, end: I64) -> I64:
    """Return the label of the code that runs between each event and its successor."""
    running = labels.running(begin)
    # The code after a scope no longer belongs to the scope.
    after = (graph.kind[begin] == Kind.SCOPE_END) & (graph.region[begin] != graph.region[end])
    codes = running.copy()
    outside = np.flatnonzero(running < 0)
    codes[outside] = labels.of(np.where(after, end, begin)[outside])
    return codes


def work_gaps(graph: ExecutionGraph, labels: Labels, since_ns: int, end_ns: int) -> Iterator[tuple[I64, I64, I64]]:
    """Yield the gaps in which work was done between two times, in chunks.

    Each chunk holds the events that the gaps follow (ascending), their lengths within the two times, and the codes of
    their labels.
    """
    for start in range(0, len(graph) - 1, _PART):
        stop = min(start + _PART, len(graph) - 1)
        part = start + np.flatnonzero((graph.ts[start:stop] < end_ns) & (graph.ts[start + 1 : stop + 1] > since_ns))
        part = part[(graph.strand[part] == graph.strand[part + 1]) & ~graph.idle[part]]
        begun = np.maximum(graph.ts[part], since_ns)
        lengths = np.minimum(graph.ts[part + 1], end_ns) - begun
        yield part, lengths, gap_codes(graph, labels, part, part + 1)


def sooner(
    graph: ExecutionGraph, labels: Labels, label: str, percent: float, *, end: int, since_ns: int
) -> tuple[int, int]:
    """Return how many ns sooner `end` would come if the label's work since a time were `percent` % faster, and that
    work's duration.
    """
    end_ns = int(graph.ts[end])
    rows, lengths = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
    for part, length, codes in work_gaps(graph, labels, since_ns, end_ns):
        mine = np.isin(codes, [code for code in np.unique(codes).tolist() if labels.name(code) == label])
        rows.append(part[mine])
        lengths.append(length[mine])
    chosen, until = np.concatenate(rows), np.cumsum(np.concatenate(lengths))
    if not len(chosen):
        return 0, 0

    def between(low: I64, high: I64) -> F64:
        done: F64 = (until[np.searchsorted(chosen, high)] - until[np.searchsorted(chosen, low)]).astype(np.float64)
        return done

    joins = Joins.of(graph, since_ns, end_ns)
    rate = percent / 100
    found = joins.saved_at(np.array([end], np.int64), joins.saved(between, rate), between, rate)
    return round(float(found[0])), int(until[-1])
