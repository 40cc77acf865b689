"""Which calls made a category slower: the test of its response time, once more for each call in its flow.

A call's *own* time is its work, what lies on the edge that led to it, and what it waited while nothing ran that it had led to;
the time of an *edge* is all that its caller sees: delay and the whole call. Invariant: own times are without those of calls
below, so that the first in the list is where to look, not above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clew.compare.requests.category_pairs import Pairing
from clew.compare.requests.event_loop_time import held_back, times_alone
from clew.compare.requests.own_time import CallTimes
from clew.compare.stats.tests import F64, I64, Samples, benjamini_hochberg, spaced, surely_slower
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Flows

MOST = 1 << 19
"""So many values of a column are looked at,"""
LEAST = 1 << 8
"""and of so many requests at least."""


@dataclass(frozen=True)
class EdgeChange:
    """Means per request, ns."""

    place: int
    """Of the call in its category's flow."""
    source: str
    """"" at the root."""
    target: str
    channel: str
    """"" for a plain call."""
    own_before_ns: float
    own_after_ns: float
    edge_before_ns: float
    edge_after_ns: float
    p: float
    """Of the own times, corrected for the calls of the flow."""
    p_edge: float

    @property
    def growth_ns(self) -> float:
        return self.own_after_ns - self.own_before_ns

    def sentence(self) -> str:
        by = f" (by {self.channel})" if self.channel else ""
        return f"{self.target}{by} itself {duration(self.own_before_ns)} -> {duration(self.own_after_ns)}"


def spaced_times(flows: Flows, requests: I64) -> CallTimes:
    """Alone, and of more than `MOST` values those of evenly spaced requests."""
    at = flows.places(int(requests[0]))
    most = max(MOST // (at.stop - at.start), LEAST)
    return times_alone(flows, requests[spaced(len(requests), most)])


def turns_before_and_after(pairing: Pairing, category: int) -> tuple[float, float]:
    """For how long the event loop of a category's requests ran others until they were answered: means, ns."""
    at = pairing.example(category)[0].places(pairing.example(category)[1])
    most = max(MOST // (at.stop - at.start), LEAST)
    before, after = (
        float(held_back(flows, requests[spaced(len(requests), most)]).mean())
        for side, flows in enumerate(pairing.sides)
        for requests in [pairing.requests(side, category)]
    )
    return before, after


def edge_changes(pairing: Pairing, category: int, alpha: float) -> Iterator[EdgeChange]:
    """Those whose own time grew, with p at most alpha; what costs most first."""
    flows, request = pairing.example(category)
    at = flows.places(request)
    parent, label, channel = flows.parent[at], flows.label[at].tolist(), flows.channel[at].tolist()
    sides = [spaced_times(flows, pairing.requests(side, category)) for side, flows in enumerate(pairing.sides)]
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
    """How likely each column is no slower after, corrected for the number of columns."""
    return benjamini_hochberg(surely_slower(_by_call(before), _by_call(after)))


def _by_call(columns: F64) -> Samples:
    """A group per column."""
    rows, width = columns.shape
    return Samples(columns.T.ravel(), np.arange(width + 1) * rows)
