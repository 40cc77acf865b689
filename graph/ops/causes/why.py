"""Walk the graph: find why an event happened, and the events next to it.

Invariant: a walk back never visits an event twice, so it always ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.build.regions import opens
from clew.graph.model.graph import I64, ExecutionGraph, RegionKind
from clew.graph.ops.causes.state_waits import edges_into, entering, path_to_state
from clew.records.format.event import EdgeKind, Kind

if TYPE_CHECKING:
    from clew.graph.ops.aggregation.aggregate import AggregateGraph

_Position = tuple[int, int]
"""A region and a row, for the question "what came before this row in this region"."""
_Asking = Generator[_Position, int, int]
"""A generator that yields positions whose cause it needs, receives the edge (-1 if none), and returns an edge."""

# Plain integers make the comparisons cheap that long chains repeat at every step.
_STATE, _JOIN = int(EdgeKind.STATE), int(Kind.JOIN)

JOINS_TRIED = 200
"""A region with more waits than this and without an opening cause, such as a server's main loop, has no single cause.
"""
STEPS_TRIED = 1000
"""A chain longer than this that has not returned is assumed not to return: the wait was for something else."""


@dataclass(frozen=True)
class Step:
    """One event on the way back.

    The edge leads from `event` to `target_event`, which lies in the region of the previous step. The first step has
    neither.
    """

    event: int
    edge_kind: EdgeKind | None
    channel: str
    target_event: int
    """The event that depended on this event; -1 in the first step."""
    edge: int
    """The edge's number, -1 for none."""
    other_causes: int
    """The number of other edges into this event's region up to it, excluding the edge that the next step follows."""


@dataclass(frozen=True)
class Cause:
    """An edge into or out of an event."""

    edge: int
    event: int
    """The event at the other end."""
    kind: EdgeKind
    channel: str


def why(graph: ExecutionGraph, event: int, *, steps_at_most: int | None = None) -> list[Step]:
    """Return the chain of causes of an event: the event first, its root last.

    `steps_at_most` bounds the number of steps, not counting the event itself.

    The cause of an acquired lock is its release. The cause of a finished wait is the event that ended it. From any
    other event, the chain chooses in each region in this order. First, the latest use of a state, by the region or by
    others on its behalf while it waited. Second, the edge that opened the region. Third, the latest joined edge that
    is not a round trip, that is, whose own chain does not lead back into the region. Last, edges that only woke the
    region. The previous holder of a lock is chance and is not followed.

    An edge into an open call that the spec or an annotation declared takes precedence over what came before that
    call. If the event's own region has only round trips, or is a main task, the chain follows the last edge that an
    open call waited for. A region without a cause ends the chain with the event that opened it.
    """
    chooser = _Chooser(graph)
    steps: list[Step] = [Step(event, None, "", -1, -1, 0)]
    seen = {event}
    while steps_at_most is None or len(steps) <= steps_at_most:
        region = int(graph.region[event])
        path = _let_in(graph, event) if len(steps) == 1 else []
        path = path or path_to_state(graph, region, event)
        sources = {int(graph.edge_src[edge]) for edge in path}
        if len(sources) < len(path) or not seen.isdisjoint(sources):
            path = []
        if not path:
            path = _unseen(graph, chooser.choose((region, event)), seen)
        joins = _Joins(graph, event)
        declared = _unseen(graph, joins.declared(since=int(graph.edge_dst[path[0]]) if path else -1), seen)
        path = declared or path
        if len(steps) == 1 and (not path or _is_a_programs_begin(graph, chooser, path)):
            path = _unseen(graph, joins.last(), seen) or path
        if not path:
            break
        for edge in path:
            others = len(edges_into(graph, int(graph.region[event]), event)) - 1
            steps[-1] = replace(steps[-1], other_causes=others)
            event = int(graph.edge_src[edge])
            seen.add(event)
            kind = EdgeKind(int(graph.edge_kind[edge]))
            steps.append(Step(event, kind, _channel(graph, edge), int(graph.edge_dst[edge]), edge, 0))
    else:
        return steps
    steps[-1] = replace(steps[-1], other_causes=len(edges_into(graph, region, event)))
    opener = int(graph.regions.opener[region])
    if opener >= 0 and opener not in seen and opener < event:
        steps.append(Step(opener, None, "", event, -1, 0))
    return steps


def _let_in(graph: ExecutionGraph, event: int) -> list[int]:
    """Return the edge to an event that is itself the end of a wait."""
    return [cause.edge for cause in causes(graph, event) if cause.kind == EdgeKind.SYNC][-1:]


def _unseen(graph: ExecutionGraph, edge: int, seen: set[int]) -> list[int]:
    return [edge] if edge >= 0 and int(graph.edge_src[edge]) not in seen else []


def _is_a_programs_begin(graph: ExecutionGraph, chooser: _Chooser, path: list[int]) -> bool:
    """Return whether the path shows only that a thread without a cause started the region, as it starts a main task."""
    source = int(graph.edge_src[path[0]])
    region = int(graph.region[source])
    return (
        len(path) == 1
        and graph.regions.kind[region] == RegionKind.ROOT
        and graph.strand_of(source).kind == "thread"
        and graph.strand_of(int(graph.edge_dst[path[0]])).kind == "task"
        and opens(graph, int(graph.edge_dst[path[0]]))
        and chooser.choose((region, source)) < 0
    )


class _Joins:
    """The edges into an event's region, up to the event, that neither opened the region nor carry state."""

    def __init__(self, graph: ExecutionGraph, event: int) -> None:
        self.graph = graph
        self.open = {graph.owner_of(event), *graph.with_callers(graph.enclosing_call(event))} - {-1}
        self.edges = [
            edge
            for edge in edges_into(graph, int(graph.region[event]), event)
            if graph.edge_kind[edge] != _STATE
            and graph.kind[graph.edge_dst[edge]] == _JOIN
            and not opens(graph, int(graph.edge_dst[edge]))
        ]

    def declared(self, since: int) -> int:
        """Return the last edge that the spec or an annotation declared into a still open call that began after row
        `since`.

        Return -1 if it does not exist. Such a cause is nearer than anything before the call, whether or not it is a
        round trip.
        """
        graph = self.graph
        for edge in reversed(self.edges):
            target = int(graph.edge_dst[edge])
            call = graph.call_of(target)
            if call in self.open and call > since and not graph.site_is_adapter[graph.site[target]]:
                return edge
        return -1

    def last(self) -> int:
        """Return the last edge into an open call, else the last edge, or -1 if there is none.

        Edges sent by a mere loop callback, such as a timer, do not count because they identify no sender.
        """
        graph = self.graph
        named = [edge for edge in self.edges if not self._is_of_a_callback(int(graph.edge_src[edge]))]
        inside = (edge for edge in reversed(named) if graph.owner_of(int(graph.edge_dst[edge])) in self.open)
        return next(inside, named[-1] if named else -1)

    def _is_of_a_callback(self, source: int) -> bool:
        opener = int(self.graph.regions.opener[self.graph.region[source]])
        return (
            opener >= 0
            and self.graph.kind[opener] == Kind.SCOPE_BEGIN
            and self.graph.channel(opener) == "asyncio.handle"
        )


def _channel(graph: ExecutionGraph, edge: int) -> str:
    return graph.strings[int(graph.edge_channel[edge])]


@dataclass(frozen=True, eq=False)
class _Into:
    """The edges from other regions into one region, sorted by target.

    `firm` holds the indices of the edges that are followed before any join: state edges and the edges that opened the
    region.
    """

    edges: list[int]
    targets: list[int]
    firm: list[int]


class _Chooser:
    """Chooses the edge that caused the events before a row of a region, and caches the answers.

    Whether a join is a round trip depends on another chain, which may depend on other joins. The pending questions
    are kept on an explicit stack, because chains are longer than Python's stack.
    """

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        self.known: dict[_Position, int] = {}
        self.into: dict[int, _Into] = {}

    def choose(self, position: _Position) -> int:
        stack = [(position, self._ask(position))]
        asked = {position}
        answer: int | None = None
        while stack:
            current, asking = stack[-1]
            try:
                needed = next(asking) if answer is None else asking.send(answer)
            except StopIteration as done:
                self.known[current] = answer = done.value
                asked.discard(current)
                stack.pop()
                continue
            if needed in self.known:
                answer = self.known[needed]
            elif needed in asked:
                answer = -1  # clocks that disagree can close a cycle, which has no cause
            else:
                asked.add(needed)
                stack.append((needed, self._ask(needed)))
                answer = None
        return self.known[position]

    def _ask(self, position: _Position) -> _Asking:
        region, row = position
        if position in self.known:
            return self.known[position]
        into = self._into(region)
        count = bisect_right(into.targets, row)
        firm = bisect_left(into.firm, count)
        if firm:
            return into.edges[into.firm[firm - 1]]
        for edge in self._joined(into, count):
            round_trip = yield from self._returns(edge, region)
            if not round_trip:
                return edge
        return -1

    def _joined(self, into: _Into, count: int) -> list[int]:
        """Return the latest edges into a region that did not open it. Edges that only woke the region come after
        edges that carry data.
        """
        edges = np.array(into.edges[max(count - JOINS_TRIED, 0) : count][::-1], np.int64)
        wakes = self.graph.edge_kind[edges] == EdgeKind.SYNC
        joined: list[int] = np.concatenate((edges[~wakes], edges[wakes])).tolist()
        return joined

    def _into(self, region: int) -> _Into:
        if region not in self.into:
            graph = self.graph
            edges, targets = entering(graph, region, causal=True)
            opening = 0
            while opening < len(edges) and opens(graph, targets[opening]):
                opening += 1
            firm = list(range(opening))
            if opening < len(edges):
                firm += (opening + np.flatnonzero(graph.edge_kind[edges[opening:]] == _STATE)).tolist()
            self.into[region] = _Into(edges, targets, firm)
        return self.into[region]

    def _returns(self, edge: int, region: int) -> Generator[_Position, int, bool]:
        """Return whether the chain behind a join leads back into the region."""
        graph = self.graph
        seen: set[int] = set()
        while edge >= 0 and len(seen) < STEPS_TRIED:
            event = int(graph.edge_src[edge])
            if int(graph.region[event]) == region:
                return True
            if event in seen:
                return False
            seen.add(event)
            edge = yield int(graph.region[event]), event
        return False


def causes(graph: ExecutionGraph, event: int) -> list[Cause]:
    """Return the edges that lead to an event."""
    edges, targets = graph.index.into(int(graph.region[event]))
    return _at(graph, event, edges, targets, graph.edge_src)


def effects(graph: ExecutionGraph, event: int) -> list[Cause]:
    """Return the edges that lead from an event."""
    edges, sources = graph.index.out(int(graph.region[event]))
    return _at(graph, event, edges, sources, graph.edge_dst)


def _at(graph: ExecutionGraph, event: int, edges: I64, near: I64, far: I64) -> list[Cause]:
    here = edges[slice(*np.searchsorted(near, [event, event + 1]).tolist())]
    ends = zip(here.tolist(), far[here].tolist(), strict=True)
    return [Cause(edge, other, _kind(graph, edge), _channel(graph, edge)) for edge, other in ends]


def _kind(graph: ExecutionGraph, edge: int) -> EdgeKind:
    return EdgeKind(int(graph.edge_kind[edge]))


def previous(graph: ExecutionGraph, event: int) -> int:
    """Return the previous event in the same region, or -1 if there is none."""
    region, first = graph.region[event], int(graph.regions.first[graph.region[event]])
    row = event - 1
    while row >= first and graph.region[row] != region:
        row -= 1
    return row if row >= first else -1


def next_(graph: ExecutionGraph, event: int) -> int:
    """Return the next event in the same region, or -1 if there is none."""
    region, last = graph.region[event], int(graph.regions.last[graph.region[event]])
    row = event + 1
    while row <= last and graph.region[row] != region:
        row += 1
    return row if row <= last else -1


def cause(graph: ExecutionGraph, event: int) -> int:
    """Return the event that caused this event, which is the next step of the `why` chain, or -1 if there is none."""
    steps = why(graph, event, steps_at_most=1)
    return steps[1].event if len(steps) > 1 else -1


def effect(graph: ExecutionGraph, event: int) -> int:
    """Return the nearest event that this event caused, or -1 if there is none.

    It is the target of the first edge that leaves the region at or after the event, excluding locks. If several edges
    leave there, the one that arrives first counts.
    """
    edges, sources = graph.index.out(int(graph.region[event]))
    after = edges[int(np.searchsorted(sources, event)) :]
    if graph.edge_excludes is not None:
        after = after[~graph.edge_excludes[after]]
    if not len(after):
        return -1
    after = after[graph.edge_src[after] == graph.edge_src[after[0]]]
    targets = graph.edge_dst[after]
    return int(targets[np.argmin(graph.ts[targets])])


def next_in_strand(graph: ExecutionGraph, event: int) -> int:
    """Return the next event of the thread or task, whether or not this event caused it, or -1 if there is none."""
    return event + 1 if event + 1 < graph.strand_of(event).stop else -1


def previous_in_strand(graph: ExecutionGraph, event: int) -> int:
    """Return the previous event of the thread or task, or -1 if there is none."""
    return event - 1 if event > graph.strand_of(event).start else -1


def scope(graph: ExecutionGraph, event: int) -> int:
    """Return the event that opened the causal scope around an event.

    For an opening event, return the event that opened the next outer scope. A strand's own scope begins with its
    first event, which has no outer scope: return -1.
    """
    region = int(graph.region[event])
    while region >= 0:
        opener = int(graph.regions.opener[region])
        if opener >= 0 and opener != event:
            return opener
        region = int(graph.regions.parent[region])
    return -1


def up(condensed: AggregateGraph, event: int) -> int:
    """Return the node that an event is in (one level up), -1 if the event was not condensed."""
    node = condensed.node_of(event)
    return -1 if node is None else node


def down(condensed: AggregateGraph, node: int, within: AggregateGraph | None = None) -> list[int]:
    """Return a node's contents one level down.

    Without `within`, return the node's events in time order. With `within`, a finer graph of the same events, return
    its nodes that share an event with the node, ascending.
    """
    rows = condensed.events_of(node)
    if within is None:
        ordered: list[int] = rows[np.argsort(condensed.graph.ts[rows], kind="stable")].tolist()
        return ordered
    return sorted({finer for finer in map(within.node_of, rows.tolist()) if finer is not None})
