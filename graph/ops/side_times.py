"""The times of one side of a comparison of runs, by label: means of a run, and how much they scatter.

Calls that are close in time are slow together. So the scatter of a label is estimated from its calls and from the stretches of
each run, and with several runs also from the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.ops.aggregation.aggregate import AggregateGraph, AggregateNode
from clew.graph.ops.aggregation.call_rates import CallRates, call_rates, joined
from clew.graph.ops.aggregation.waits import waits_of_calls
from clew.graph.ops.timing.pauses import pauses
from clew.records.format.event import Kind

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

STRETCHES = 10
"""A run is divided into at most this number of stretches, to estimate how much its parts differ."""
BUSY = 0.05
"""A machine is busy if others had the processor or the GIL for this share of the time that the code could have run."""
DOUBT = 0.25
"""The scatter of a label's calls includes one hypothetical call at this share of the mean away from it, because a
single call does not show any scatter.
"""
BUSY_DOUBT = 1.0
"""The same for waits on a machine where others had the processor for a while: what a wait ends with is late, too."""


@dataclass(frozen=True)
class _Sums:
    """The times of the calls of one label in one run."""

    waits_ns: float
    self_variance: float
    """The variance of the sum of the self times, from the scatter of the calls and of the stretches of the run."""
    waits_variance: float


def _sums(graph: AggregateGraph) -> dict[str, _Sums]:
    """Return the sums by label."""
    enters = np.flatnonzero(graph.graph.kind[graph.rows] == Kind.ENTER)
    call = np.searchsorted(graph.graph.calls.enter, graph.rows[enters])
    # Calls by label, in each label by the time of their beginning.
    enter = graph.graph.calls.enter[call]
    order = np.lexsort((graph.graph.ts[enter], graph.node_of_row[enters]))
    call, node = call[order], graph.node_of_row[enters][order]
    first = np.searchsorted(node, np.arange(len(graph) + 1))
    found = pauses(graph.graph)
    blocked = found.of_calls(found.blocked_ns, len(graph.graph.calls.enter))
    work = graph.graph.calls.self_ns[call].astype(np.float64)
    waits = (waits_of_calls(graph.graph, unexplained=True) + blocked)[call].astype(np.float64)
    is_busy = found.taken_ns.sum() >= BUSY * (work.sum() + found.taken_ns.sum())
    variances = [_variances(work, first, DOUBT), _variances(waits, first, BUSY_DOUBT if is_busy else DOUBT)]
    total = np.bincount(node, waits, len(graph))
    return {
        graph.label(number): _Sums(float(total[number]), *(float(variance[number]) for variance in variances))
        for number in range(len(graph))
    }


def _variances(values: F64, first: I64, doubt: float) -> F64:
    """Return, per group of values in the order of time, the variance of their sum.

    It is the larger of two estimates: from the scatter of the values, and from that of the sums of stretches of the group,
    which is larger if neighbours are slow together.
    """
    size = np.diff(first)
    passed = np.concatenate(([0.0], np.cumsum(values)))
    square = np.concatenate(([0.0], np.cumsum(values**2)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (passed[first[1:]] - passed[first[:-1]]) / size
        scatter = np.maximum(square[first[1:]] - square[first[:-1]] - size * mean**2, 0.0)
    stretches = np.minimum(size // 2, STRETCHES)
    parts = np.arange(STRETCHES + 1)
    # The bounds of the stretches; groups with fewer stretches have empty ones at their ends.
    bounds = first[:-1, None] + np.minimum(parts * size[:, None] // np.maximum(stretches, 1)[:, None], size[:, None])
    length = np.diff(bounds, axis=1)
    sums = passed[bounds[:, 1:]] - passed[bounds[:, :-1]]
    with np.errstate(invalid="ignore", divide="ignore"):
        between = ((sums - mean[:, None] * length) ** 2).sum(1) * stretches / (stretches - 1)
    variance = np.where(stretches > 2, np.fmax(scatter, between), scatter) + (doubt * mean) ** 2
    return np.asarray(np.nan_to_num(variance))


@dataclass(frozen=True)
class Mean:
    """The means of a label over all runs of one side, including the runs that lack the label."""

    calls: float
    counted: float
    taken_ns: float
    self_ns: Time
    waits_ns: Time


class Time(NamedTuple):
    """A time by its statistics, in ns."""

    mean: float
    within: float
    """The variance of the mean, from the scatter within the runs."""
    squares: float
    """The sum over the runs of the squared distances from the mean."""


NONE = Mean(0, 0, 0, Time(0, 0, 0), Time(0, 0, 0))


@dataclass(frozen=True)
class Side:
    """The runs of one side of a comparison."""

    graphs: list[AggregateGraph]
    """The graphs by label, one per run."""
    nodes: dict[str, AggregateNode]
    """The nodes of the last run that has them, with mean calls and self time per run."""
    means: dict[str, Mean]
    rates: CallRates
    """Of all runs together."""

    @staticmethod
    def of(graphs: Sequence[AggregateGraph]) -> Side:
        by_label = [graph.by_label() for graph in graphs]
        found: dict[str, list[tuple[AggregateNode, _Sums]]] = {}
        for graph in by_label:
            sums = _sums(graph)
            for node in graph.nodes:
                found.setdefault(node.label, []).append((node, sums[node.label]))
        nodes, means = {}, {}
        for label, seen in found.items():
            mean = means[label] = _mean(seen, len(graphs))
            last = seen[-1][0]
            own = round(mean.self_ns.mean)
            nodes[label] = replace(last, calls=round(mean.calls), self_ns=own) if graphs[1:] else last
        return Side(by_label, nodes, means, joined(map(call_rates, by_label)))


def _mean(seen: Sequence[tuple[AggregateNode, _Sums]], runs: int) -> Mean:
    return Mean(
        calls=_share(sum(node.calls for node, _ in seen), runs),
        counted=_share(sum(node.counted for node, _ in seen), runs),
        taken_ns=_share(sum(node.processor_ns + node.gil_ns for node, _ in seen), runs),
        self_ns=_time([node.self_ns for node, _ in seen], [sums.self_variance for _, sums in seen], runs),
        waits_ns=_time([sums.waits_ns for _, sums in seen], [sums.waits_variance for _, sums in seen], runs),
    )


def _time(values: Sequence[float], variances: Sequence[float], runs: int) -> Time:
    """Return the statistics of a time over the runs of one side; it is 0 in runs without a value."""
    times = np.zeros(runs)
    times[: len(values)] = values
    return Time(_share(sum(values), runs), sum(variances) / runs**2, float(((times - times.mean()) ** 2).sum()))


def _share(total: float, runs: int) -> float:
    """Return the quotient, as an integer if it is whole."""
    return total / runs if total % runs else total // runs


def deviation(old: Time, new: Time, runs: tuple[int, int]) -> float:
    """Return the standard deviation of the difference of two means.

    The scatter between runs is pooled from both sides (Student's test with equal variances). It is widened because
    few runs estimate it poorly.
    """
    within = old.within + new.within
    freedom = sum(runs) - 2
    if not freedom:
        return math.sqrt(within)
    from scipy.special import stdtrit

    widened = stdtrit(freedom, 0.975) / stdtrit(math.inf, 0.975)
    between = (old.squares + new.squares) / freedom * (1 / runs[0] + 1 / runs[1]) * widened**2
    return math.sqrt(max(within, between))
