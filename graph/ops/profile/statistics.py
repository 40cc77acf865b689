"""Compute statistics per function: call count, duration, and the function's own work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind


@dataclass(frozen=True)
class FunctionStatistics:
    """The statistics of one code location.

    Times are in nanoseconds. Total, median and 95th percentile cover only calls that ended.
    """

    site: int
    label: str
    calls: int
    total_ns: int
    self_ns: int
    """The time excluding calls to other recorded functions, suspensions and recorded waits."""
    waiting_ns: int
    p50_ns: int
    p95_ns: int
    errors: int
    """Calls that ended with an exception."""
    counted: int
    """Additional calls that were only counted."""


def function_statistics(graph: ExecutionGraph) -> dict[int, FunctionStatistics]:
    """Return by site the statistics of every function that was called."""
    calls = graph.calls
    ended = calls.exit >= 0
    sites = graph.site[calls.enter] if len(calls.enter) else np.zeros(0, np.uint32)
    order = np.argsort(sites, kind="stable")
    found, first = np.unique(sites[order], return_index=True)
    failed = np.zeros(len(ended), bool)
    failed[ended] = graph.kind[calls.exit[ended]] == Kind.UNWIND
    result: dict[int, FunctionStatistics] = {}
    for site, rows in zip(found.tolist(), np.split(order, first[1:]) if len(order) else [], strict=True):
        total = calls.total_ns[rows[ended[rows]]]
        result[site] = FunctionStatistics(
            site=site,
            label=graph.sites[site].label,
            calls=len(rows),
            total_ns=int(total.sum()),
            self_ns=int(calls.self_ns[rows].sum()),
            waiting_ns=int(calls.waiting_ns[rows].sum()),
            p50_ns=_percentile(total, 50),
            p95_ns=_percentile(total, 95),
            errors=int(failed[rows].sum()),
            counted=graph.counted.get(site, 0),
        )
    for site, count in graph.counted.items():
        if site not in result:
            result[site] = FunctionStatistics(site, graph.sites[site].label, 0, 0, 0, 0, 0, 0, 0, count)
    return result


def _percentile(values: npt.NDArray[np.int64], percent: int) -> int:
    """Return a measured value, never an interpolated one."""
    return int(np.percentile(values, percent, method="inverted_cdf")) if len(values) else 0
