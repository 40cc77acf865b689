"""Which calls made a category slower: the test of its response time, once more for each call in its flow.

A call's *own* time is its work, what lies on the edge that led to it, and what it waited for beyond what it called; the time of
an *edge* is all that its caller sees: delay and the whole call. Invariant: own times are without those of calls below, so that
the first in the list is where to look, not above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.compare.pairing import Pairing
from clew.compare.statistics import F64, Samples, benjamini_hochberg, ks_slower
from clew.graph.ops.diff import duration


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


def edge_changes(pairing: Pairing, category: int, alpha: float) -> Iterator[EdgeChange]:
    """Those whose own time grew, with p at most alpha; what costs most first."""
    flows, request = pairing.example(category)
    at = flows.places(request)
    parent, label, channel = flows.parent[at], flows.label[at].tolist(), flows.channel[at].tolist()
    total, own = pairing.matrices("total_ns", category), pairing.matrices("self_ns", category)
    delay, waiting = pairing.matrices("delay_ns", category), pairing.matrices("waiting_ns", category)
    edges = [columns + more for columns, more in zip(total, delay, strict=True)]
    owns = [_own(*columns, parent) for columns in zip(own, delay, waiting, edges, strict=True)]
    p = benjamini_hochberg(ks_slower(*map(_by_call, owns)).p)
    p_edge = benjamini_hochberg(ks_slower(*map(_by_call, edges)).p)
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


def _own(work: F64, delay: F64, waiting: F64, edge: F64, parent: npt.NDArray[np.int32]) -> F64:
    below = np.zeros_like(edge)
    kids = np.flatnonzero(parent >= 0)
    np.add.at(below.T, parent[kids], edge.T[kids])
    return np.asarray(work + delay + np.maximum(waiting - below, 0))


def _by_call(columns: F64) -> Samples:
    """A group per column."""
    rows, width = columns.shape
    return Samples(columns.T.ravel(), np.arange(width + 1) * rows)
