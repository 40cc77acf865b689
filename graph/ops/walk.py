"""Walking the graph by hand: why an event happened, and the events next to it.

Invariant: a walk back never comes to an event twice, so it always ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model import I64, ExecutionGraph, RegionKind
from clew.graph.ops.waits import edges_into, entering, path_to_state
from clew.graph.regions import opens
from clew.records.event import EdgeKind, Kind

if TYPE_CHECKING:
    from clew.graph.ops.aggregate import AggregateGraph

_Position = tuple[int, int]
"""A region and a row: "what came before this row in this region"."""
_Asking = Generator[_Position, int, int]
"""Yields positions whose cause it needs to know, is sent the edge (-1 for none), and returns an edge."""

# Plain numbers: long chains compare them at every step.
_STATE, _JOIN = int(EdgeKind.STATE), int(Kind.JOIN)

JOINS_TRIED = 200
"""A region that waited more often than this without an opening cause, a server's main loop say, has no single cause."""
STEPS_TRIED = 1000
"""A chain longer than this that has not come back does not come back soon: the wait was for something else."""


@dataclass(frozen=True)
class Step:
    """One event on the way back. The edge named here leads from `event` to `target_event`, which lies in the region of the
    step before; the first step has none."""

    event: int
    edge_kind: EdgeKind | None
    channel: str
    target_event: int
    """The event that depended on this one; -1 in the first step."""
    edge: int
    """The edge's number, -1 for none."""
    other_causes: int
    """How many other edges lead into this event's region up to it, beside the one that the next step follows."""


@dataclass(frozen=True)
class Cause:
    """An edge into or out of an event."""

    edge: int
    event: int
    """The event at the other end."""
    kind: EdgeKind
    channel: str


def why(graph: ExecutionGraph, event: int, *, steps_at_most: int | None = None) -> list[Step]:
    """The chain of causes of an event, itself first, its root last; or at least so many steps of it, itself not counted.

    That a lock was acquired was caused by whoever released it, and the end of a wait by whoever ended it. From any other event,
    in each region the latest use of a state is followed first, whether the region made it or others did on its behalf while
    it waited; else the edge that opened the region; else the latest joined one that is no round trip, that is, whose own
    chain does not lead back into the region, and only then what did no more than wake it; who had a lock before is chance. An
    edge into an open call that the spec or an annotation declared goes before what came before that call. Where the event's own
    region has nothing but round trips, or is a main task, the last one that an open call waited for is followed. A
    region that nothing caused ends the chain with the event that opened it.
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
    """The edge to an event that is itself the end of a wait."""
    return [cause.edge for cause in causes(graph, event) if cause.kind == EdgeKind.SYNC][-1:]


def _unseen(graph: ExecutionGraph, edge: int, seen: set[int]) -> list[int]:
    return [edge] if edge >= 0 and int(graph.edge_src[edge]) not in seen else []


def _is_a_programs_begin(graph: ExecutionGraph, chooser: _Chooser, path: list[int]) -> bool:
    """Does the path tell no more than that a thread, which nothing caused, started the region, as it does a main task?"""
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
    """The edges into the region of an event, up to it, that opened nothing and are no state."""

    def __init__(self, graph: ExecutionGraph, event: int) -> None:
        self.graph = graph
        self.open = {graph.owner_of(event), *enclosing(graph, event)} - {-1}
        self.edges = [
            edge
            for edge in edges_into(graph, int(graph.region[event]), event)
            if graph.edge_kind[edge] != _STATE
            and graph.kind[graph.edge_dst[edge]] == _JOIN
            and not opens(graph, int(graph.edge_dst[edge]))
        ]

    def declared(self, since: int) -> int:
        """The last one that the spec or an annotation put into a call which is still open and began after row `since`, -1 for
        none. Such a cause is nearer than whatever came before the call, a round trip or not."""
        graph = self.graph
        for edge in reversed(self.edges):
            target = int(graph.edge_dst[edge])
            call = graph.call_of(target)
            if call in self.open and call > since and not graph.site_is_adapter[graph.site[target]]:
                return edge
        return -1

    def last(self) -> int:
        """The last one of an open call, else the last one, -1 for none. What a mere callback of a loop sent, a timer's say,
        names nobody."""
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
    """The edges from other regions into one, sorted by target; `firm` are the places of those that are followed before any
    join: state edges and the ones that opened the region."""

    edges: list[int]
    targets: list[int]
    firm: list[int]


class _Chooser:
    """Which edge caused what came before a row of a region; answers are remembered.

    Whether a join is a round trip depends on another chain, which may depend on other joins: the questions are kept on a
    stack of our own, as chains are longer than Python's.
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
                wanted = next(asking) if answer is None else asking.send(answer)
            except StopIteration as done:
                self.known[current] = answer = done.value
                asked.discard(current)
                stack.pop()
                continue
            if wanted in self.known:
                answer = self.known[wanted]
            elif wanted in asked:
                answer = -1  # clocks that disagree can close a circle: it has no cause
            else:
                asked.add(wanted)
                stack.append((wanted, self._ask(wanted)))
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
        """The latest edges into a region that did not open it; what woke it after what came with something."""
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
        """Does the chain behind a join lead back into the region?"""
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
    """The edges that lead to an event."""
    edges, targets = graph.index.into(int(graph.region[event]))
    return _at(graph, event, edges, targets, graph.edge_src)


def effects(graph: ExecutionGraph, event: int) -> list[Cause]:
    """The edges that lead from an event."""
    edges, sources = graph.index.out(int(graph.region[event]))
    return _at(graph, event, edges, sources, graph.edge_dst)


def _at(graph: ExecutionGraph, event: int, edges: I64, near: I64, far: I64) -> list[Cause]:
    here = edges[slice(*np.searchsorted(near, [event, event + 1]).tolist())]
    ends = zip(here.tolist(), far[here].tolist(), strict=True)
    return [Cause(edge, other, _kind(graph, edge), _channel(graph, edge)) for edge, other in ends]


def _kind(graph: ExecutionGraph, edge: int) -> EdgeKind:
    return EdgeKind(int(graph.edge_kind[edge]))


def previous(graph: ExecutionGraph, event: int) -> int:
    """The event before in the same region, -1 for none."""
    region, first = graph.region[event], int(graph.regions.first[graph.region[event]])
    row = event - 1
    while row >= first and graph.region[row] != region:
        row -= 1
    return row if row >= first else -1


def next_(graph: ExecutionGraph, event: int) -> int:
    """The event after in the same region, -1 for none."""
    region, last = graph.region[event], int(graph.regions.last[graph.region[event]])
    row = event + 1
    while row <= last and graph.region[row] != region:
        row += 1
    return row if row <= last else -1


def enclosing(graph: ExecutionGraph, event: int) -> list[int]:
    """The ENTER events of the calls around an event, the innermost first."""
    found = []
    call = graph.enclosing_call(event)
    while call >= 0:
        found.append(call)
        call = graph.enclosing_call(call)
    return found


def cause(graph: ExecutionGraph, event: int) -> int:
    """The event that caused it, as the chain of `why` has it: its next step; -1 for none."""
    steps = why(graph, event, steps_at_most=1)
    return steps[1].event if len(steps) > 1 else -1


def effect(graph: ExecutionGraph, event: int) -> int:
    """The nearest event that it caused: where the first edge leads that leaves its region at it or after it, locks left out; of
    several edges from there the one that arrives first. -1 for none."""
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
    """What its thread or task did after it, caused by it or not; -1 for none."""
    return event + 1 if event + 1 < graph.strand_of(event).stop else -1


def previous_in_strand(graph: ExecutionGraph, event: int) -> int:
    """What its thread or task did before it; -1 for none."""
    return event - 1 if event > graph.strand_of(event).start else -1


def scope(graph: ExecutionGraph, event: int) -> int:
    """The event that opened the causal scope around it; of that event itself the one of the scope around that. A
    strand's own life begins with its first event, around which nothing is: -1."""
    region = int(graph.region[event])
    while region >= 0:
        opener = int(graph.regions.opener[region])
        if opener >= 0 and opener != event:
            return opener
        region = int(graph.regions.parent[region])
    return -1


def up(condensed: AggregateGraph, event: int) -> int:
    """A level up: the node that an event is in, -1 when it was not condensed."""
    node = condensed.node_of(event)
    return -1 if node is None else node


def down(condensed: AggregateGraph, node: int, within: AggregateGraph | None = None) -> list[int]:
    """A level down: the events of a node, in the order of time; or the nodes of a finer graph of the same events that share
    one with it, ascending."""
    rows = condensed.events_of(node)
    if within is None:
        ordered: list[int] = rows[np.argsort(condensed.graph.ts[rows], kind="stable")].tolist()
        return ordered
    return sorted({finer for finer in map(within.node_of, rows.tolist()) if finer is not None})
