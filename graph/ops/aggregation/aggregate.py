"""HierarchicalAggregate (G2, section 3): condense each connected group of events with one label into one node.

Invariants: every event of the slice is in exactly one node. Two nodes of one label are never joined by a causal edge.
Merging nodes (`by_label`) keeps all sums. Values that require a pass over every event are computed lazily.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import distinct
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction, Labels, labels_of
from clew.graph.model.structure_layout import ARC, HAS_ENTER, HAS_REQUEST
from clew.graph.ops.aggregation.by_event import Detail, Gathered, Merged
from clew.graph.ops.aggregation.by_region import Condensed, condenser
from clew.graph.ops.aggregation.edges import CALL, EdgeColumns, EdgeName, edge_name
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.slicing.two_way import Part
from clew.graph.ops.timing.pauses import pauses

I64 = npt.NDArray[np.int64]

Reduce = Callable[[ExecutionGraph, I64], Any]
"""Compute a node's `value` from the graph and the node's events."""


@dataclass(frozen=True)
class AggregateNode:
    """A node. Times are in nanoseconds; points in time count from the run's start."""

    id: int
    label: str
    events: int
    calls: int
    """Calls that begin in the node, plus the calls of its label that were only counted."""
    self_ns: int
    """Time of the node's own code in the slice, excluding recorded calls to others and recorded waits."""
    total_ns: int
    """Duration of the node's calls, excluding calls made from its own label."""
    waiting_ns: int
    """The part of `total_ns` that consists of waits and suspensions."""
    errors: int
    """Calls that ended with an exception."""
    first_ns: int
    last_ns: int
    first_event: int
    last_event: int
    process: str
    """The process of the first event; `strand` is the strand of the first event."""
    strand: str
    strands: int
    """The number of strands that the node's events belong to."""
    kind: str
    """The event's kind at level "event"; otherwise "request", "call" or "strand", the most specific kind in the node.
    """
    location: tuple[str, int] | None
    """File and line of the function, at levels that name code."""
    counted: int = 0
    """The part of `calls` that was only counted, without times, events or edges."""
    processor_ns: int = 0
    """Waiting of the node's own code for a processor, because the operating system ran something else."""
    gil_ns: int = 0
    """Its waiting for the GIL, inferred: see `clew.graph.ops.timing.pauses`."""
    blocked_ns: int = 0
    """Its waiting that no record explains: sleep and I/O."""
    value: Any = None
    """The result of `reduce`."""


@dataclass(frozen=True)
class AggregateEdge:
    source: int
    target: int
    kind: EdgeName
    channel: str
    count: int
    latency_ns: int
    """The sum over the edges of the time between their ends; 0 for calls."""


@dataclass(frozen=True, eq=False)
class AggregateGraph:
    """Nodes and edges as columns; `nodes` and `edges` return them as objects."""

    graph: ExecutionGraph
    level: str
    labels: Labels
    codes: I64
    """The label code of each node."""
    detail: Detail
    reduce: Reduce | None = None
    unplaced: int = 0
    """Calls that were only counted, at a level whose labels do not name code, so that they belong to no label."""
    condensed: Condensed | None = None
    """Nodes with their events and times, and edges with their counts, if they are known without a pass over the
    events.
    """
    counted: I64 | None = None
    """The calls of each node that were only counted."""

    @property
    def rows(self) -> I64:
        """Return the aggregated events, ascending."""
        return self.detail.rows

    @property
    def node_of_row(self) -> npt.NDArray[Any]:
        """Return the node of each event of `rows`."""
        return self.detail.node_of_row

    @cached_property
    def sums(self) -> dict[str, I64]:
        nodes = self.detail.nodes
        names = ("calls", "self_ns", "total_ns", "waiting_ns", "errors")
        sums = {name: nodes[name].astype(np.int64) for name in names}
        return (
            sums if self.counted is None else {**sums, "calls": sums["calls"] + self.counted, "counted": self.counted}
        )

    @property
    def columns(self) -> EdgeColumns:
        return self.detail.columns

    @cached_property
    def sizes(self) -> I64:
        """Return the number of events of each node."""
        if self.condensed is not None:
            return self.condensed.vertices["events"]
        return self.detail.nodes["events"].astype(np.int64)

    @cached_property
    def spans(self) -> tuple[I64, I64]:
        """Return the times of each node's first and last event, in nanoseconds since the run's start."""
        if self.condensed is not None:
            return self.condensed.vertices["first"], self.condensed.vertices["last"]
        nodes = self.detail.nodes
        return self.graph.ts[nodes["first_event"]], self.graph.ts[nodes["last_event"]]

    @cached_property
    def arcs(self) -> npt.NDArray[Any]:
        """Return the number of recorded edges between each pair of nodes, by source and target; see `layout.ARC`."""
        if self.condensed is not None:
            return self.condensed.arcs
        edges = self.columns
        recorded = np.flatnonzero(edges.kind < CALL)
        pairs, at = np.unique(edges.source[recorded] * len(self) + edges.target[recorded], return_inverse=True)
        arcs = np.zeros(len(pairs), ARC)
        arcs["source"], arcs["target"] = pairs // max(len(self), 1), pairs % max(len(self), 1)
        np.add.at(arcs["count"], at, edges.count[recorded].astype(np.uint32))
        return arcs

    @cached_property
    def pauses(self) -> dict[str, I64]:
        """Return for each node the times in which its own code did not run, by the name of `AggregateNode`'s field."""
        found = pauses(self.graph)
        names = ("processor_ns", "gil_ns", "blocked_ns")
        if not len(found.row) or not len(self.rows):
            return dict.fromkeys(names, np.zeros(len(self), np.int64))
        at = np.minimum(np.searchsorted(self.rows, found.row), len(self.rows) - 1)
        here = self.rows[at] == found.row
        node = self.node_of_row[at[here]]
        return {name: np.bincount(node, getattr(found, name)[here], len(self)).astype(np.int64) for name in names}

    def __len__(self) -> int:
        return len(self.codes)

    def node_of(self, event: int) -> int | None:
        """Return the node that an event is in, or None if the event was not aggregated."""
        at = int(np.searchsorted(self.rows, event))
        return int(self.node_of_row[at]) if at < len(self.rows) and self.rows[at] == event else None

    def label(self, node: int) -> str:
        return self.labels.name(int(self.codes[node]))

    @cached_property
    def _by_node(self) -> tuple[I64, I64]:
        """Return the events sorted by node, and the offset where each node's events begin (one more offset than
        nodes).
        """
        order = np.argsort(self.node_of_row, kind="stable")
        first = np.searchsorted(self.node_of_row[order], np.arange(len(self) + 1)).astype(np.int64)
        return self.rows[order], first

    def events_of(self, node: int) -> I64:
        """Return a node's events, ascending."""
        rows, first = self._by_node
        return rows[first[node] : first[node + 1]]

    @cached_property
    def nodes(self) -> list[AggregateNode]:
        """Return the nodes in the order of their first events in time. A node's `id` is its index."""
        return [self._node(node) for node in range(len(self))]

    def _node(self, node: int) -> AggregateNode:
        graph, found = self.graph, self.detail.nodes[node]
        first = int(found["first_event"])
        if self.level == "event":
            kind = graph.event(first).kind
        else:
            kinds = int(found["kinds"])
            kind = "request" if kinds & HAS_REQUEST else "call" if kinds & HAS_ENTER else "strand"
        return AggregateNode(
            id=node,
            label=self.label(node),
            events=int(found["events"]),
            first_ns=int(graph.ts[first]),
            last_ns=int(graph.ts[int(found["last_event"])]),
            first_event=first,
            last_event=int(found["last_event"]),
            process=graph.process_of(first).name,
            strand=graph.strand_of(first).name,
            strands=int(found["strands"]),
            kind=kind,
            location=self._location(first) if self.labels.located or self.level == "event" else None,
            value=self.reduce(graph, self.events_of(node)) if self.reduce else None,
            **{name: int(column[node]) for name, column in (self.sums | self.pauses).items()},
        )

    def _location(self, event: int) -> tuple[str, int] | None:
        if self.level == "event":
            return self.graph.location(event)
        owner = int(self.graph.owner[event])
        site = self.graph.sites[int(self.graph.site[owner if owner >= 0 else event])]
        # Code that a thread or task runs outside the program's functions has no location.
        return (site.file, site.line) if site.file and not site.is_adapter else None

    @cached_property
    def edges(self) -> list[AggregateEdge]:
        """Return the edges, sorted by source, then target."""
        edges = self.columns
        columns = (edges.source, edges.target, edges.kind, edges.channel, edges.count, edges.latency)
        return [
            AggregateEdge(a, b, edge_name(kind), self.graph.strings[channel], count, latency)
            for a, b, kind, channel, count, latency in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def by_label(self) -> AggregateGraph:
        """Return a graph with one node per label, nodes and edges summed. Edges between nodes of one label are
        dropped.
        """
        distinct_codes, merged = distinct(self.codes, int(self.codes.max(initial=-1)) + 1)
        # Sort labels by the first node of each label.
        first = np.empty(len(distinct_codes), np.int64)
        first[merged[::-1]] = np.arange(len(self))[::-1]
        rank = np.empty(len(distinct_codes), np.int64)
        rank[np.argsort(first)] = np.arange(len(distinct_codes))
        codes = np.empty(len(distinct_codes), np.int64)
        codes[rank] = distinct_codes
        detail = Merged(self.detail, self.graph, rank[merged], len(distinct_codes))
        counted = None
        if self.counted is not None:
            counted = np.zeros(len(distinct_codes), np.int64)
            np.add.at(counted, rank[merged], self.counted)
        return AggregateGraph(
            self.graph, self.level, self.labels, codes, detail, self.reduce, self.unplaced, counted=counted
        )


def aggregate(
    of: Slice | Part | ExecutionGraph, level: str | LabelFunction | Labels, reduce: Reduce | None = None
) -> AggregateGraph:
    """Condense a slice or a whole graph at a level; `clew.graph.model.levels` defines the names.

    `level` may also be a function that returns an event's label, or labels that were computed for the graph. `reduce`
    computes a node's value from (graph, its events). Raise `ClewError` for an unknown level.
    """
    graph, cut = (of, None) if isinstance(of, ExecutionGraph) else (of.graph, of)
    fast = None if isinstance(cut, Part) or isinstance(level, Labels) else condenser(graph, level)
    if fast is not None and not isinstance(cut, Part):
        condensed = fast.slice(cut) if cut is not None else fast.whole()
        codes = condensed.vertices["label"].astype(np.int64)
        detail = Gathered(graph, cut, fast.labels, fast)
        made = AggregateGraph(graph, fast.labels.level, fast.labels, codes, detail, reduce, condensed=condensed)
    else:
        labels = labels_of(graph, level)
        detail = Gathered(graph, cut, labels)
        made = AggregateGraph(graph, labels.level, labels, detail.nodes["label"].astype(np.int64), detail, reduce)
    # Calls that were only counted belong to no slice.
    return made if cut is not None or not graph.counted else _with_counted(made)


def _with_counted(made: AggregateGraph) -> AggregateGraph:
    """Add the calls that were only counted to the first node of their label."""
    name = made.labels.of_site
    first: dict[str, int] = {}
    for node in range(len(made)) if name else ():
        first.setdefault(made.label(node), node)
    counted, unplaced = np.zeros(len(made), np.int64), 0
    for site, calls in made.graph.counted.items():
        node = first.get(name(site), -1) if name else -1
        if node >= 0:
            counted[node] += calls
        else:
            unplaced += calls
    return replace(made, counted=counted, unplaced=unplaced)
