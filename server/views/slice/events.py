"""A slice at the level of events: one node per significant event, in the order of the regions.

Invariant: an edge "next" joins two consecutive nodes of one region; omissions are counted.
"""

from __future__ import annotations

import itertools

import numpy as np

from clew.graph.model.gaps import between
from clew.graph.model.graph import I64, ExecutionGraph, Gap, edge_kind_name
from clew.graph.ops.slicing.interval import Slice
from clew.records.format.event import Kind
from clew.server.protocol.views.slice import GraphEdge, GraphNode
from clew.server.text import units
from clew.server.text.chain import events_of, location
from clew.server.text.events import NODE_KINDS, actor, event_title, lane
from clew.server.text.gaps import Missing, clock, machine_of
from clew.server.views.slice.model import Drawing, Focus

INTERESTING = (
    Kind.LOG, Kind.SEND, Kind.RECEIVE, Kind.DEFINE, Kind.USE, Kind.REQUEST, Kind.UNWIND, Kind.MARK, Kind.ENTITY,
    Kind.RELEASE, Kind.ACQUIRE, Kind.SCOPE_BEGIN, Kind.JOIN, Kind.GAP, Kind.ENTER,
)  # fmt: skip
"""Kinds that become nodes; the last kinds are omitted first."""


def draw_events(slice_: Slice, focus: Focus, gone: Missing, limit: int) -> Drawing:
    return _Events(slice_, focus, gone).drawing(limit)


class _Events:
    def __init__(self, slice_: Slice, focus: Focus, gone: Missing) -> None:
        self.gone = gone
        self.gaps_of: dict[int, list[Gap]] = {}
        for gap in gone.place:
            for side in (gap.after, gap.before):
                self.gaps_of.setdefault(side, []).append(gap)
        self.graph: ExecutionGraph = slice_.graph
        self.slice, steps = slice_, focus.steps
        self.roots = set(focus.roots)
        self.start = focus.roots[0]
        self.on_chain = events_of(steps)
        self.chain_links = {(step.event, step.target_event) for step in steps if step.edge >= 0}
        # Within a region the chain goes from the end of an edge to the step's own event.
        self.chain_stretches = [(step.target_event, before.event) for before, step in itertools.pairwise(steps)]
        self.on_path = np.zeros(len(self.graph), bool)
        self.on_path[focus.path.pieces.rows] = True

    def drawing(self, limit: int) -> Drawing:
        candidates, chosen = self._choose(limit)
        nodes = [self._node(event) for event in chosen.tolist()]
        return Drawing(
            nodes, [*self._edges(chosen), *self._neighbours(chosen)], len(candidates) - len(chosen), event_id
        )

    def _choose(self, limit: int) -> tuple[I64, I64]:
        """Return the events that could be nodes, and those that are, both ascending."""
        graph, events = self.graph, self.slice.events()
        rank = np.full(256, len(INTERESTING), np.int64)
        rank[list(INTERESTING)] = np.arange(len(INTERESTING))
        order = rank[graph.kind[events]]
        order[np.isin(events, list(self.on_chain))] = -1
        order[np.isin(events, list(self.roots))] = -2
        candidates, order = events[order < len(INTERESTING)], order[order < len(INTERESTING)]
        # Among events of one kind, those nearest in time to the start of the view come first.
        away = np.abs(graph.ts[candidates] - graph.ts[self.start])
        return candidates, np.sort(candidates[np.lexsort((away, order))][:limit])

    def _node(self, event: int) -> GraphNode:
        graph, at, kind = self.graph, float(self.graph.ts[event]), int(self.graph.kind[event])
        return GraphNode(
            id=event_id(event),
            label=event_title(graph, event),
            detail=f"{units.offset(at)} · {actor(graph, event)}",
            lane=lane(graph, event),
            process=graph.process_of(event).name,
            kind=NODE_KINDS.get(kind, "event"),
            events=1,
            calls=int(kind == Kind.ENTER),
            selfNs=0.0,
            totalNs=0.0,
            firstNs=at,
            lastNs=at,
            location=location(graph, event),
            root=event in self.roots,
            onCriticalPath=bool(self.on_path[event]),
            onChain=event in self.on_chain,
            firstEvent=event,
            machine=machine_of(graph, event),
            gaps=self.gone.places(self.gaps_of.get(event, ())),
        )

    def _edges(self, chosen: I64) -> list[GraphEdge]:
        """Return the slice's edges between events that are nodes."""
        graph, edges = self.graph, self.slice.edges()
        shown = edges[np.isin(graph.edge_src[edges], chosen) & np.isin(graph.edge_dst[edges], chosen)]
        made = []
        for edge in shown.tolist():
            source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
            ns = int(graph.ts[target] - graph.ts[source])
            corrected, uncertain = clock(graph.crossing(source, target), ns)
            made.append(
                GraphEdge(
                    source=event_id(source),
                    target=event_id(target),
                    kind=edge_kind_name(int(graph.edge_kind[edge])),
                    channel=graph.strings[int(graph.edge_channel[edge])],
                    count=1,
                    latencyNs=float(ns),
                    onCriticalPath=bool(self.on_path[source] and self.on_path[target]),
                    onChain=(source, target) in self.chain_links,
                    clock=corrected,
                    uncertain=uncertain,
                )
            )
        return made

    def _neighbours(self, chosen: I64) -> list[GraphEdge]:
        graph = self.graph
        order = chosen[np.argsort(graph.region[chosen], kind="stable")]
        same = graph.region[order[1:]] == graph.region[order[:-1]]
        made = []
        for source, target in zip(order[:-1][same].tolist(), order[1:][same].tolist(), strict=True):
            made.append(
                GraphEdge(
                    source=event_id(source),
                    target=event_id(target),
                    kind="next",
                    channel="",
                    count=1,
                    latencyNs=float(graph.ts[target] - graph.ts[source]),
                    onCriticalPath=bool(self.on_path[source] and self.on_path[target]),
                    onChain=self._in_a_stretch(source, target),
                    gaps=self.gone.places(between(graph, source, target)) if self.gone.place else [],
                )
            )
        return made

    def _in_a_stretch(self, source: int, target: int) -> bool:
        region = self.graph.region
        return any(
            first <= source and target <= last and region[first] == region[source]
            for first, last in self.chain_stretches
        )


def event_id(event: int) -> str:
    return f"e{event}"
