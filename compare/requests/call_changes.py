"""Find the calls that made a category slower or faster: repeat the test of the response time for each call of the flow.

The *own* time of a call is its work, the delay on the edge to it, and its waiting while no call that it led to ran. The
time of an *edge* is the time that the caller sees: the delay and the whole call. Invariant: own times exclude the calls
below, so the first call in the list is the cause and not one of its callers. A call that starts later because the queue
before it is longer comes after the work that may fill the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

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
EXPLAINS = 0.1
"""A longer queue is attributed to work that changed by at least this share: of the change of the response time, or of the own
times of what the queue is for. Queues amplify work."""


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

    work_before_ns: float = 0.0
    """The part of the own time that is work; like `work_after_ns`."""
    work_after_ns: float = 0.0
    queue_before_ns: float = 0.0
    """The part of the own time that is the delay before the call; the rest is waiting. Like `queue_after_ns`."""
    queue_after_ns: float = 0.0
    is_victim: bool = False
    """Whether it only starts later or earlier, and work of the same flow changed by enough to be the reason."""

    @property
    def growth_ns(self) -> float:
        return self.own_after_ns - self.own_before_ns

    @property
    def how(self) -> Literal["work", "queueing", "waiting"]:
        """Which part of the own time changed most."""
        sign = 1 if self.growth_ns >= 0 else -1
        work = sign * (self.work_after_ns - self.work_before_ns)
        queue = sign * (self.queue_after_ns - self.queue_before_ns)
        waiting = sign * self.growth_ns - work - queue
        return "work" if work >= max(queue, waiting) else "queueing" if queue >= waiting else "waiting"

    def sentence(self) -> str:
        by = f" (by {self.channel})" if self.channel else ""
        text = f"{self.target}{by} itself {duration(self.own_before_ns)} -> {duration(self.own_after_ns)}"
        if self.how == "queueing":
            return f"{text}, of it before its start {duration(self.queue_before_ns)} -> {duration(self.queue_after_ns)}"
        if self.how == "waiting":
            before = self.own_before_ns - self.work_before_ns - self.queue_before_ns
            after = self.own_after_ns - self.work_after_ns - self.queue_after_ns
            return f"{text}, of it waiting {duration(before)} -> {duration(after)}"
        return text


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


def edge_changes(
    pairing: Pairing, category: int, alpha: float, *, sign: int = 1, depends: float = 1.0, change: float = 0.0
) -> list[EdgeChange]:
    """Return the calls whose own time grew, or shrank with `sign` -1, with p at most `alpha`: causes first, then by size.

    `depends` is the factor of `dependence`; `change` is that of the response time, in ns.
    """
    flows, request = pairing.example(category)
    at = flows.places(request)
    parent, label, channel = flows.parent[at], flows.label[at].tolist(), flows.channel[at].tolist()
    sides = [sampled_times(flows, pairing.requests(side, category)) for side, flows in enumerate(pairing.sides)]
    owns, edges = [side.own for side in sides], [side.edge for side in sides]
    p, p_edge = (slower_by_call(*pair[::sign]) ** (1 / depends) for pair in (owns, edges))
    queues = [np.clip(np.where(side.delay > 0, side.own - side.work, 0.0), 0.0, side.delay) for side in sides]
    works = [side.work for side in sides]
    means = [[columns.mean(axis=0) for columns in pair] for pair in (owns, edges, works, queues)]
    growth = sign * (means[0][1] - means[0][0])
    found = []
    for place in np.flatnonzero((growth > 0) & (p <= alpha)).tolist():
        above = int(parent[place])
        own, edge, work, queue = ((float(before[place]), float(after[place])) for before, after in means)
        found.append(
            EdgeChange(
                place=place,
                source=flows.labels[label[above]] if above >= 0 else "",
                target=flows.labels[label[place]],
                channel=flows.channels[channel[place]],
                own_before_ns=own[0],
                own_after_ns=own[1],
                edge_before_ns=edge[0],
                edge_after_ns=edge[1],
                p=float(p[place]),
                p_edge=float(p_edge[place]),
                work_before_ns=work[0],
                work_after_ns=work[1],
                queue_before_ns=queue[0],
                queue_after_ns=queue[1],
            )
        )
    more_work = sign * (_below(parent, means[2][1]) - _below(parent, means[2][0]))
    busier = more_work >= EXPLAINS * _below(parent, means[0][0])
    return _causes_first(found, abs(change), busier)


def _below(parent: npt.NDArray[np.int32], times: F64) -> F64:
    """Return, per call, its time and that of all calls below it."""
    total = times.copy()
    for place in range(len(parent) - 1, 0, -1):
        total[parent[place]] += total[place]
    return total


def _causes_first(found: list[EdgeChange], change: float, busier: npt.NDArray[np.bool_]) -> list[EdgeChange]:
    """Put victims of queues after the rest: calls that start later, if work of the flow changed by enough to be the reason.

    `busier` tells for each call of the flow whether the work that it queues for changed by enough. Calls of one function are
    compared by their sum.
    """
    groups: dict[tuple[str, str], list[EdgeChange]] = {}
    for edge in found:
        groups.setdefault((edge.target, edge.channel), []).append(edge)
    together = {key: summed(edges) for key, edges in groups.items()}
    work = max((abs(each.growth_ns) for each in together.values() if each.how == "work"), default=0.0)
    explained = 0 < change * EXPLAINS <= work
    victims = {
        key: work > 0 and together[key].how == "queueing" and (explained or any(busier[edge.place] for edge in edges))
        for key, edges in groups.items()
    }
    order = sorted(groups, key=lambda key: (victims[key], -abs(together[key].growth_ns), key))
    return [
        replace(edge, is_victim=victims[key])
        for key in order
        for edge in sorted(groups[key], key=lambda edge: (-abs(edge.growth_ns), edge.place))
    ]


_SUMMED = ("own_before_ns", "own_after_ns", "work_before_ns", "work_after_ns", "queue_before_ns", "queue_after_ns")


def summed(edges: Sequence[EdgeChange]) -> EdgeChange:
    """Return calls of one function as one: the first with the sums of all own times."""
    return replace(edges[0], **{name: sum(getattr(edge, name) for edge in edges) for name in _SUMMED})


def slower_by_call(before: F64, after: F64) -> F64:
    """Return, per column, the probability that it is not slower after, corrected for the number of columns."""
    return benjamini_hochberg(p_not_slower(_by_call(before), _by_call(after)))


def _by_call(columns: F64) -> Samples:
    """Return a group per column."""
    rows, width = columns.shape
    return Samples(columns.T.ravel(), np.arange(width + 1) * rows)
