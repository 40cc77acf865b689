"""A slice at a level of labels: one node per function, class, …, process, the heaviest ones first.

Invariant: omissions are counted; the roots, the chain and the critical path are omitted last.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from clew.graph.model.graph import Gap, edge_kind_name
from clew.graph.ops.aggregation.aggregate import AggregateEdge, AggregateGraph, AggregateNode
from clew.graph.ops.slicing.interval import Slice
from clew.records.format.event import Kind
from clew.server.protocol.shared import Location
from clew.server.protocol.views.slice import GraphEdge, GraphNode
from clew.server.text import units
from clew.server.text.chain import events_of
from clew.server.text.gaps import Missing, clock, machine_of
from clew.server.views.slice.model import Drawing, Focus


def draw_labels(condensed: AggregateGraph, slice_: Slice, focus: Focus, gone: Missing, limit: int) -> Drawing:
    """`condensed` is the slice with one node per label."""
    return _Labels(condensed, slice_, focus, gone).drawing(limit)


class _Labels:
    def __init__(self, condensed: AggregateGraph, slice_: Slice, focus: Focus, gone: Missing) -> None:
        self.condensed = condensed
        self.gone = gone
        self.gaps_of: dict[int, list[Gap]] = {}
        for gap in gone.place:
            for node in self._nodes(side for side in (gap.after, gap.before) if side >= 0):
                self.gaps_of.setdefault(node, []).append(gap)
        self.one_process = len(slice_.processes) == 1
        self.clocks = self._clocks(slice_)
        self.roots = self._nodes(focus.roots)
        self.on_chain = self._nodes(events_of(focus.steps))
        self.chain_links = {
            (condensed.node_of(step.event), condensed.node_of(step.target_event))
            for step in focus.steps
            if step.edge >= 0
        }
        labels = [segment.label for segment in focus.path.project(condensed.level).segments]
        self.on_path = set(labels)
        self.path_links = set(itertools.pairwise(labels))

    def drawing(self, limit: int) -> Drawing:
        condensed = self.condensed
        visible = {node.id for node in sorted(condensed.nodes, key=self._weight, reverse=True)[:limit]}
        return Drawing(
            nodes=[self._node(node) for node in condensed.nodes if node.id in visible],
            edges=[self._edge(edge) for edge in condensed.edges if edge.source in visible and edge.target in visible],
            hidden=len(condensed) - len(visible),
            node_of=self._id_of,
        )

    def _weight(self, node: AggregateNode) -> tuple[bool, bool, bool, int, int]:
        return node.id in self.roots, node.id in self.on_chain, node.label in self.on_path, node.self_ns, node.events

    def _clocks(self, slice_: Slice) -> dict[tuple[int, int, str, str], tuple[str, bool]]:
        """Return the clock correction for each edge of the drawing that represents edges between machines, taken from
        the edge with the nearest ends."""
        graph = slice_.graph
        found: dict[tuple[int, int, str, str], tuple[str, bool]] = {}
        if len(graph.machines) < 2:
            return {}
        edges = slice_.edges()
        machine, src, dst = graph.strand_machine, graph.edge_src[edges], graph.edge_dst[edges]
        apart = machine[graph.strand[src]] != machine[graph.strand[dst]]
        edges, away = edges[apart], np.abs(graph.ts[dst[apart]] - graph.ts[src[apart]])
        # The nearest ends come last and overwrite the others.
        for edge, ns in zip(
            *(column[np.argsort(-away, kind="stable")].tolist() for column in (edges, away)), strict=True
        ):
            ends = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
            source, target = self.condensed.node_of(ends[0]), self.condensed.node_of(ends[1])
            if source is not None and target is not None and source != target:
                kind, channel = edge_kind_name(int(graph.edge_kind[edge])), graph.strings[int(graph.edge_channel[edge])]
                found[source, target, kind, channel] = clock(graph.crossing(*ends), ns)
        return found

    def _id_of(self, event: int) -> str:
        node = self.condensed.node_of(event)
        return self.condensed.label(node) if node is not None else ""

    def _edge(self, edge: AggregateEdge) -> GraphEdge:
        source, target = self.condensed.label(edge.source), self.condensed.label(edge.target)
        corrected, uncertain = self.clocks.get((edge.source, edge.target, edge.kind, edge.channel), ("", False))
        return GraphEdge(
            source=source,
            target=target,
            kind=edge.kind,
            channel=edge.channel,
            count=edge.count,
            latencyNs=edge.latency_ns / edge.count,
            onCriticalPath=(source, target) in self.path_links,
            onChain=edge.kind not in ("call", "next") and (edge.source, edge.target) in self.chain_links,
            clock=corrected,
            uncertain=uncertain,
        )

    def _node(self, node: AggregateNode) -> GraphNode:
        process, machine = self._where(node)
        return GraphNode(
            id=node.label,
            label=short(self.condensed.level, node.label),
            detail=_detail(node),
            lane=f"{process} / {node.strand}" if node.strands == 1 else process,
            process=process,
            kind="state" if self._has_state(node) else node.kind,
            events=node.events,
            calls=node.calls,
            selfNs=float(node.self_ns),
            totalNs=float(node.total_ns),
            firstNs=float(node.first_ns),
            lastNs=float(node.last_ns),
            location=Location(*node.location) if node.location else None,
            root=node.id in self.roots,
            onCriticalPath=node.label in self.on_path,
            onChain=node.id in self.on_chain,
            firstEvent=node.first_event,
            machine=machine,
            gaps=self.gone.places(self.gaps_of.get(node.id, ())),
        )

    def _where(self, node: AggregateNode) -> tuple[str, str]:
        """Return the process and the machine of all events of the node; "" for several, and for the machine if there is
        only one."""
        graph = self.condensed.graph
        if self.one_process or node.strands == 1:
            # This does not read its events.
            return node.process, machine_of(graph, node.first_event)
        found = np.unique(graph.strand_process[np.unique(graph.strand[self.condensed.events_of(node.id)])])
        machines = {graph.processes[process].machine for process in found.tolist()}
        machine = machine_of(graph, node.first_event) if len(machines) == 1 else "several machines"
        return node.process if len(found) == 1 else "several processes", machine

    def _has_state(self, node: AggregateNode) -> bool:
        """Return whether the node sets or reads a state that the chain passes."""
        if node.id not in self.on_chain or node.kind == "request":
            return False
        kinds = self.condensed.graph.kind[self.condensed.events_of(node.id)]
        return bool(np.isin(kinds, (int(Kind.DEFINE), int(Kind.USE))).any())

    def _nodes(self, events: Iterable[int]) -> set[int]:
        return {node for node in map(self.condensed.node_of, events) if node is not None}


def short(level: str, label: str) -> str:
    """Return the visible part of a label; the whole label is the node's id."""
    return units.short_label(label) if level in ("function", "class") else label


def _detail(node: AggregateNode) -> str:
    """Return the detail line: `14 calls · self 12.4 ms · 3 errors`."""
    parts = [units.count(node.calls, "call") if node.calls else units.count(node.events, "event")]
    if node.self_ns:
        parts.append(f"self {units.duration(node.self_ns)}")
    if node.waiting_ns:
        parts.append(f"waiting {units.duration(node.waiting_ns)}")
    if node.errors:
        parts.append(units.count(node.errors, "error"))
    return " · ".join(parts)
