"""Find the calls that made a category slower: repeat the test of the response time for each call of the flow.

The *own* time of a call is its work, the delay on the edge to it, and its waiting while no call that it led to ran. The
time of an *edge* is the time that the caller sees: the delay and the whole call. Invariant: own times exclude the calls
below, so the first call in the list is the cause and not one of its callers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.event_loop_time import exclusive_times, queueing_times
from clew.compare.requests.own_time import CallTimes
from clew.compare.stats.tests import F64, I64, Samples, benjamini_hochberg, p_not_slower, spaced
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Flows

MOST = 1 << 19
"""The maximum number of values of a column that are examined."""
LEAST = 1 << 8
"""The minimum number of requests that are examined."""


@dataclass(frozen=True)
class EdgeChange:
    """A call whose time changed. Times are means per request, in ns."""

    place: int
    """The index of the call in the flow of its category."""
    source: str
    """The label of the caller; "" for the root."""
    target: str
    channel: str
    """The channel that opened the call; "" for a plain call."""
    own_before_ns: float
    own_after_ns: float
    edge_before_ns: float
    edge_after_ns: float
    p: float
    """The probability of equal own times, corrected for the number of calls of the flow."""
    p_edge: float
    """The same probability for the times of the edge."""

    @property
    def growth_ns(self) -> float:
        return self.own_after_ns - self.own_before_ns

    def sentence(self) -> str:
        by = f" (by {self.channel})" if self.channel else ""
        return f"{self.target}{by} itself {duration(self.own_before_ns)} -> {duration(self.own_after_ns)}"


def sampled_times(flows: Flows, requests: I64) -> CallTimes:
    """Return the exclusive times of requests; of more than `MOST` values, those of evenly spaced requests."""
    at = flows.places(int(requests[0]))
    most = max(MOST // (at.stop - at.start), LEAST)
    return exclusive_times(flows, requests[spaced(len(requests), most)])


def mean_queueing_times(pairing: Pairing, category: int) -> tuple[float, float]:
    """Return the mean event-loop queueing time of a category's requests until their answer, before and after, in ns."""
    at = pairing.example(category)[0].places(pairing.example(category)[1])
    most = max(MOST // (at.stop - at.start), LEAST)
    before, after = (
        float(queueing_times(flows, requests[spaced(len(requests), most)]).mean())
        for side, flows in enumerate(pairing.sides)
        for requests in [pairing.requests(side, category)]
    )
    return before, after


def edge_changes(pairing: Pairing, category: int, alpha: float) -> Iterator[EdgeChange]:
    """Yield the calls whose own time grew with p at most `alpha`, the largest increase first."""
    flows, request = pairing.example(category)
    at = flows.places(request)
    parent, label, channel = flows.parent[at], flows.label[at].tolist(), flows.channel[at].tolist()
    sides = [sampled_times(flows, pairing.requests(side, category)) for side, flows in enumerate(pairing.sides)]
    owns, edges = [side.own for side in sides], [side.edge for side in sides]
    p, p_edge = slower_by_call(*owns), slower_by_call(*edges)
    means = [[columns.mean(axis=0) for columns in pair] for pair in (owns, edges)]
    growth = means[0][1] - means[0][0]
    for place in np.argsort(-growth, kind="stable").tolist():
        if growth[place] > 0 and p[place] <= alpha:
            above = int(parent[place])
            yield EdgeChange(
                place=place,
                source=flows.labels[label[above]] if above >= 0 else "",
                target=flows.labels[label[place]],
                channel=flows.channels[channel[place]],
                own_before_ns=float(means[0][0][place]),
                own_after_ns=float(means[0][1][place]),
                edge_before_ns=float(means[1][0][place]),
                edge_after_ns=float(means[1][1][place]),
                p=float(p[place]),
                p_edge=float(p_edge[place]),
            )


def slower_by_call(before: F64, after: F64) -> F64:
    """Return, per column, the probability that it is not slower after, corrected for the number of columns."""
    return benjamini_hochberg(p_not_slower(_by_call(before), _by_call(after)))


def _by_call(columns: F64) -> Samples:
    """Return a group per column."""
    rows, width = columns.shape
    return Samples(columns.T.ravel(), np.arange(width + 1) * rows)
