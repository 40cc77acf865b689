"""Unite the flow of some requests with that of others, of the same category or another: the union of their calls, with times.

Invariant: the *growth* of a call is that of its own time (see `call_changes`), or all of it for a call on one side only.
Therefore the call that grew most is the likeliest cause. With one request per side, nothing is tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.compare.requests.call_changes import sampled_times, slower_by_call
from clew.compare.requests.flow_alignment import Correspondence, UnionNode, correspond
from clew.compare.requests.own_time import CallTimes
from clew.compare.stats.tests import I64
from clew.graph.ops.diff import Status, duration
from clew.graph.ops.flows.flows import Flows
from clew.graph.render.table import Table, table_of

ALPHA = 0.05
SLOWER = 0.02
"""A call is slower if its own time grew by at least this share of itself, and a tenth of this share of the response."""


class Times(NamedTuple):
    """The mean times of a call per request, in ns."""

    begin_ns: float
    """The time since the start of the request."""
    total_ns: float
    own_ns: float
    edge_ns: float
    """The time that the caller sees: the delay and the whole call."""


@dataclass(frozen=True)
class UnionCall:
    """A call of the union, with its times on both sides."""

    node: UnionNode
    number: int
    """The index in the nodes of the union."""
    before: Times | None
    after: Times | None
    p: float | None
    """The probability that the own time is not longer after, corrected for the calls of the flow; None if untested."""
    p_edge: float | None
    location: tuple[str, int] | None
    """The location in the code, from after if possible."""

    @property
    def growth_ns(self) -> float:
        return (self.after.own_ns if self.after else 0.0) - (self.before.own_ns if self.before else 0.0)

    @property
    def label(self) -> str:
        return self.node.label

    @property
    def status(self) -> Status:
        return self.node.status

    @property
    def own_before_ns(self) -> float | None:
        return self.before.own_ns if self.before else None

    @property
    def own_after_ns(self) -> float | None:
        return self.after.own_ns if self.after else None

    def sentence(self) -> str:
        by = f" (by {self.node.channel})" if self.node.channel else ""
        if self.before is None or self.after is None:
            side, times = ("after", self.after) if self.before is None else ("before", self.before)
            assert times is not None
            return f"{self.label}{by} occurs only {side}, {duration(times.own_ns)} itself"
        return f"{self.label}{by} itself {duration(self.before.own_ns)} -> {duration(self.after.own_ns)}"


@dataclass(frozen=True)
class Union:
    """The union of two flows."""

    correspondence: Correspondence
    calls: tuple[UnionCall, ...]
    """The calls, in the order of the correspondence's nodes."""
    counts: tuple[int, int]
    """The number of requests before and after."""
    response_before_ns: float
    """The mean response time."""
    response_after_ns: float
    alpha: float
    slower: float

    @property
    def growth_ns(self) -> float:
        return self.response_after_ns - self.response_before_ns

    def significant(self, call: UnionCall) -> bool:
        """Return whether the own time of a call grew significantly and by more than the thresholds."""
        return call.p is not None and call.p <= self.alpha and self.is_slower(call)

    def is_slower(self, call: UnionCall) -> bool:
        """Return whether both sides have the call and its own time grew by more than the thresholds, significantly or not."""
        if call.before is None or call.after is None:
            return False
        return call.growth_ns > max(self.slower * call.before.own_ns, self.slower / 10 * self.response_before_ns)

    def changes(self) -> list[UnionCall]:
        """Return the calls that changed the response time in its direction, largest change first.

        Calls on both sides are included if their change is significant or untested.
        """
        sign = 1 if self.growth_ns >= 0 else -1
        found = [
            call
            for call in self.calls
            if call.growth_ns * sign > 0 and (call.status != "both" or call.p is None or self.significant(call))
        ]
        return sorted(found, key=lambda call: (-abs(call.growth_ns), call.number))

    def sentence(self) -> str:
        response = f"{duration(self.response_before_ns)} -> {duration(self.response_after_ns)}"
        change = f"{'+' if self.growth_ns >= 0 else '−'}{duration(abs(self.growth_ns))}"
        n, m = self.counts
        if not n or not m:
            side, ns = ("after", self.response_after_ns) if m else ("before", self.response_before_ns)
            return f"{max(n, m):,} requests only {side}, {duration(ns)} each, {len(self.calls):,} calls"
        compared = "one request compared with one request" if n == m == 1 else f"{n:,} requests compared with {m:,}"
        text = f"{compared}: {response} ({change}), {self.correspondence.sentence()}"
        first = self.changes()[:1]
        return f"{text}; {first[0].sentence()}" if first else text

    def table(self) -> Table:
        """Return a table with a row per changed call, the largest change first."""
        return table_of(
            self.changes(), ("status", "label", "growth_ns", "own_before_ns", "own_after_ns", "p", "p_edge", "number")
        )

    def to_json(self) -> dict[str, Any]:
        graph = self.correspondence.to_json()
        for node, call in zip(graph["nodes"], self.calls, strict=True):
            node |= {
                "before_times": call.before and call.before._asdict(),
                "after_times": call.after and call.after._asdict(),
                **{name: getattr(call, name) for name in ("growth_ns", "p", "p_edge")},
            }
        totals = {name: getattr(self, name) for name in ("counts", "response_before_ns", "response_after_ns", "alpha")}
        return graph | totals | {"sentence": self.sentence()}


def unite(before: Flows, one: I64, after: Flows, other: I64, *, alpha: float = ALPHA, slower: float = SLOWER) -> Union:
    """Unite the requests `one` of a category before with the requests `other` of a category after. One side may be empty."""
    sides = (before, one), (after, other)
    matched = correspond(before, _first(one), after, _first(other))
    times = [sampled_times(flows, requests) if len(requests) else None for flows, requests in sides]
    means = [_means(side) if side else [] for side in times]
    both = [number for number, node in enumerate(matched.nodes) if node.status == "both"]
    p: dict[int, tuple[float, float]] = {}
    if times[0] and times[1] and len(one) > 1 and len(other) > 1 and both:
        places = [matched.nodes[number].before for number in both], [matched.nodes[number].after for number in both]
        own = slower_by_call(times[0].own[:, places[0]], times[1].own[:, places[1]])
        edge = slower_by_call(times[0].edge[:, places[0]], times[1].edge[:, places[1]])
        p = dict(zip(both, zip(own.tolist(), edge.tolist(), strict=True), strict=True))
    calls = []
    for number, node in enumerate(matched.nodes):
        flows, requests, place = (after, other, node.after) if node.after >= 0 else (before, one, node.before)
        calls.append(
            UnionCall(
                node=node,
                number=number,
                before=means[0][node.before] if node.before >= 0 else None,
                after=means[1][node.after] if node.after >= 0 else None,
                p=p[number][0] if number in p else None,
                p_edge=p[number][1] if number in p else None,
                location=flows.location(int(flows.first[requests[0]]) + place),
            )
        )
    response = [float(flows.response_ns[requests].mean()) if len(requests) else 0.0 for flows, requests in sides]
    return Union(matched, tuple(calls), (len(one), len(other)), response[0], response[1], alpha, slower)


def _first(requests: I64) -> int | None:
    return int(requests[0]) if len(requests) else None


def _means(times: CallTimes) -> list[Times]:
    columns = (column.mean(axis=0).tolist() for column in (times.begin, times.total, times.own, times.edge))
    return [Times(*row) for row in zip(*columns, strict=True)]
