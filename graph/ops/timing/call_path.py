"""Walk back along the critical path of one call, for example of a request: from its end to its beginning.

The *flow* of a call is the call itself, the scopes that its events opened (tasks, messages, work items), the scopes
that these opened, and so on. Where events of the flow and others ended one wait together, for example those of a batch,
the walk stays in the flow. It leaves the flow where only other work ended a wait, such as the holder of a lock. That
work may lead nowhere: it began later than the call, or waited for something older. Then only the part of it that ran
during the wait is on the path, and before the wait the path continues in the flow.

Invariant: in time order, a piece that no edge enters begins no sooner than the piece before it ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_times import passive_kinds
from clew.graph.build.regions import OPENING, ROOT_OPENING, opens
from clew.graph.model.array_utils import expand
from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph, RegionKind
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.backward_pass import Pieces, Walker
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_WALKS = 500
"""The most walks for one path. After them the path does not leave the flow."""


class Spans(NamedTuple):
    """Columns of requests: the first and the last event, and whether the request's end was recorded."""

    begin: I64
    end: I64
    ended: Mask

    def longest(self, graph: ExecutionGraph) -> int:
        """Return the place of the request that took longest, the first of equal ones."""
        return int(np.argmax(graph.ts[self.end] - graph.ts[self.begin]))


def request_spans(graph: ExecutionGraph, requests: I64) -> Spans:
    """Return the spans of requests, given as their REQUEST events.

    A request lasts as long as its call, and until its strand's last event if the call did not end. A request without a
    call lasts from its region's first to its last event.
    """
    region = graph.region[requests].astype(np.int64)
    call = graph.call[requests].astype(np.int64)
    is_call = call >= 0
    is_call[is_call] = graph.region[call[is_call]] == region[is_call]
    begin = np.where(is_call, call, graph.regions.first[region])
    number = np.searchsorted(graph.calls.enter, np.where(is_call, call, -1))
    end = np.where(is_call, np.append(graph.calls.exit, -1)[number], graph.regions.last[region])
    stops = np.array([strand.stop for strand in graph.strands], np.int64)
    ended = end >= 0
    return Spans(begin, np.where(ended, end, stops[graph.strand[requests]] - 1), ended)


def requests_at(graph: ExecutionGraph, roots: tuple[int, ...]) -> I64:
    """Return the REQUEST events of the requests that begin at some events; empty unless each is such an event."""
    found = []
    for row in roots:
        region = int(graph.region[row])
        opener = int(graph.regions.opener[region])
        is_first = row in (opener, int(graph.regions.first[region]))
        if graph.kind[row] == Kind.REQUEST:
            found.append(row)
        elif is_first and opener >= 0 and graph.kind[opener] == Kind.REQUEST:
            found.append(opener)
        else:
            return np.zeros(0, np.int64)
    return np.array(found, np.int64)


def request_around(graph: ExecutionGraph, row: int) -> int:
    """Return the REQUEST event of the request whose flow an event is part of; -1 if there is none, or perhaps several.

    The flow is followed back through the edges that opened its scopes, up to a scope with several causes.
    """
    seen: set[int] = set()
    region = int(graph.region[row])
    while region not in seen:
        seen.add(region)
        if graph.regions.kind[region] == RegionKind.REQUEST:
            return int(graph.regions.opener[region])
        edges, targets = graph.index.into(region)
        opening = [int(edge) for edge, at in zip(edges.tolist(), targets.tolist(), strict=True) if opens(graph, at)]
        if len({int(graph.region[graph.edge_src[edge]]) for edge in opening}) == 1:
            region = int(graph.region[graph.edge_src[opening[0]]])
        elif not opening and graph.regions.parent[region] >= 0:
            region = int(graph.regions.parent[region])
        else:
            return -1
    return -1


class Flow:
    """The flow of a call: per region, the rows from a bound on. Its cost is that of its regions, not of the graph."""

    def __init__(self, graph: ExecutionGraph, begin: int, allowed: Mask | None = None) -> None:
        """`allowed` are the edges that may open a scope of the flow; None allows all."""
        self._graph = graph
        opening = _opening_edges(graph)
        opening = opening if allowed is None else opening & allowed
        roots = [begin]
        while True:
            bounds = slice_events(graph, roots, "forward", edge_filter=opening).bound_rows
            regions = graph.region[bounds].astype(np.int64)
            order = np.argsort(regions)
            self._regions, self._bounds = regions[order], bounds[order]
            received = self._received()
            if not len(received):
                break
            roots += received.tolist()

    def contains(self, row: int) -> bool:
        return bool(self.holds(np.array([row]))[0])

    def holds(self, rows: I64) -> Mask:
        region = self._graph.region[rows].astype(np.int64)
        place = np.minimum(np.searchsorted(self._regions, region), len(self._regions) - 1)
        held: Mask = (self._regions[place] == region) & (rows >= self._bounds[place])
        return held

    def _received(self) -> I64:
        """Return the first rows of the scopes that calls of the flow received and that the flow lacks."""
        parent, row, call = _received_scopes(self._graph)
        low, high = (np.searchsorted(parent, self._regions, side) for side in ("left", "right"))
        inside = expand(low, high)
        row, call = row[inside], call[inside]
        new: I64 = row[self.holds(call) & ~self.holds(row)]
        return new


def _received_scopes(graph: ExecutionGraph) -> tuple[I64, I64, I64]:
    """Return for each scope that began inside a call: the region around it, its first row, and the call; by region."""
    return cached(graph, "received scopes", lambda: _find_received_scopes(graph))


def _find_received_scopes(graph: ExecutionGraph) -> tuple[I64, I64, I64]:
    parent, first = graph.regions.parent.astype(np.int64), graph.regions.first
    chosen = np.flatnonzero((parent >= 0) & (first > 0))
    call = graph.inner[first[chosen] - 1].astype(np.int64)
    inside = (call >= 0) & (graph.strand[np.maximum(call, 0)] == graph.strand[first[chosen]])
    chosen, call = chosen[inside], call[inside]
    order = np.argsort(parent[chosen], kind="stable")
    return parent[chosen][order], first[chosen][order], call[order]


def _opening_edges(graph: ExecutionGraph) -> Mask:
    """Return for each edge whether it is a cause of its target's region, as `regions.opens` says."""
    return cached(graph, "opening edges", lambda: _find_opening_edges(graph))


def _find_opening_edges(graph: ExecutionGraph) -> Mask:
    last, up_to = graph.regions.last, graph.regions.first.astype(np.int64) - 1
    wanted = np.zeros((2, 256), bool)
    for row, kinds in enumerate((OPENING, ROOT_OPENING)):
        wanted[row, [int(kind) for kind in kinds]] = True
    is_root = (graph.regions.kind == RegionKind.ROOT).astype(np.int64)
    # An opening has few records, so only they are read, and not the whole graph.
    growing = np.flatnonzero(up_to < last)
    while len(growing):
        growing = growing[wanted[is_root[growing], graph.kind[up_to[growing] + 1]]]
        up_to[growing] += 1
        growing = growing[up_to[growing] < last[growing]]
    target = graph.edge_dst
    opens_it: Mask = (graph.kind[target] != Kind.ACQUIRE) & (target <= up_to[graph.region[target]])
    opens_it &= graph.region[graph.edge_src] != graph.region[target]
    return opens_it


class CallPaths:
    """Walks along the paths of calls; the graph is prepared once."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def to(self, event: int, flow: Flow, since_ns: int) -> Pieces:
        """Return the path from a time to an event of the flow of a call that began then. The first piece begins later
        if what came before was not recorded. An event outside the flow has no flow to prefer.
        """
        graph = self.walker.graph
        if not flow.contains(event):
            return self.walker.back(event, since_ns)
        order, times = _edges_by_time(graph)
        low, high = np.searchsorted(times, (since_ns, graph.ts[event]), "right").tolist()
        left = _Left(graph, flow, order[low:high].astype(np.int64))
        parts: list[Pieces] = []
        with self.walker.restricted() as restricted:
            restricted.forbid(left.needless())
            found = self.walker.back(event, since_ns)
            for walks in range(MOST_WALKS):
                place = -1 if self._explains(found, since_ns) else left.first_of(found)
                if place < 0:
                    break
                edge, before = int(found.edge[place]), left.before_wait(found, place)
                source = int(graph.edge_src[edge])
                if since_ns <= graph.ts[before] < graph.ts[source] and before >= 0:
                    aside = self.walker.back(source, int(graph.ts[before]))
                    slack = int(found.slack[place - 1]) if place else -1
                    parts = [aside.with_last_slack(slack), found.since_piece(place), *parts]
                    event = before
                else:
                    restricted.forbid(np.array([edge]) if walks < MOST_WALKS - 2 else left.edges)
                found = self.walker.back(event, since_ns)
        return Pieces.joined([found, *parts])

    def _explains(self, pieces: Pieces, since_ns: int) -> bool:
        """Return whether the pieces begin at a time, by work or a wait of the first strand itself."""
        return int(pieces.edge[0]) < 0 and int(self.walker.graph.ts[pieces.low[0]]) <= since_ns


class _Left:
    """The edges through which a walk leaves a flow, among those with ends in the time of the call."""

    def __init__(self, graph: ExecutionGraph, flow: Flow, among: I64) -> None:
        self.graph, self.flow = graph, flow
        into = among[flow.holds(graph.edge_dst[among])]
        is_inside = flow.holds(graph.edge_src[into])
        self.edges = into[~is_inside]
        self._inside = into[is_inside]

    def needless(self) -> I64:
        """Return the edges that ended a wait, or opened a scope, together with an edge of the flow.

        A scope with several causes, for example a batch, is so explained by the flow's own.
        """
        inside, graph = self._inside, self.graph
        inside = inside[graph.region[graph.edge_src[inside]] != graph.region[graph.edge_dst[inside]]]
        if not len(self.edges) or not len(inside):
            return self.edges[:0]
        return self.edges[np.isin(self._waits(self.edges), self._waits(inside))]

    def _waits(self, edges: I64) -> I64:
        """Return a number per edge; edges with equal numbers ended one wait, or opened one region."""
        graph = self.graph
        region = graph.region[graph.edge_dst[edges]].astype(np.int64)
        return np.where(_opening_edges(graph)[edges], -1 - region, _runs(graph)[edges].astype(np.int64))

    def first_of(self, pieces: Pieces) -> int:
        """Return the first piece that the path enters from outside of the flow; -1 if the path returns to the flow
        before that piece, or does not leave it.
        """
        for place, edge in enumerate(pieces.edge.tolist()):
            if edge < 0:
                continue
            if self.flow.contains(int(self.graph.edge_src[edge])):
                return -1
            if self.flow.contains(int(self.graph.edge_dst[edge])):
                return place
        return -1

    def before_wait(self, pieces: Pieces, place: int) -> int:
        """Return the last event of the strand before the wait at whose end the path entered a piece, -1 for none."""
        last = int(pieces.rival_counts[: place + 1].sum()) - 1
        if last < 0 or not pieces.rival_counts[place]:
            return -1
        row, target = int(pieces.rivals[last]), int(self.graph.edge_dst[pieces.edge[place]])
        is_own = row < target and self.graph.strand[row] == self.graph.strand[target]
        return row if is_own and self.flow.contains(row) else -1


def _edges_by_time(graph: ExecutionGraph) -> tuple[npt.NDArray[np.uint32], I64]:
    """Return the edges in the order of the times of their targets, so that those of one call are a range, and the times."""
    return cached(graph, "edges by time", lambda: _sort_edges(graph))


def _sort_edges(graph: ExecutionGraph) -> tuple[npt.NDArray[np.uint32], I64]:
    times = graph.ts[graph.edge_dst]
    order = np.argsort(times, kind="stable")
    return order.astype(np.uint32), times[order]


def _runs(graph: ExecutionGraph) -> npt.NDArray[np.uint32]:
    """Return a number per edge; edges have equal numbers if only passive records of one strand are between their targets."""
    return cached(graph, "runs of passive records", lambda: _find_runs(graph))


def _find_runs(graph: ExecutionGraph) -> npt.NDArray[np.uint32]:
    begins = ~passive_kinds()[graph.kind]
    begins[[strand.start for strand in graph.strands if strand.start < len(graph)]] = True
    return np.cumsum(begins, dtype=np.uint32)[graph.edge_dst]
