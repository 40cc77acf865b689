"""HierarchicalAggregate (G2, section 3): each connected stretch of events with one label becomes one node.

Invariants: every event of the slice is in exactly one node; two nodes of one label are never joined by a causal edge; merging
nodes (`by_label`) keeps all sums. What only a look at every event tells is found when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import distinct
from clew.graph.layout import ARC, HAS_ENTER, HAS_REQUEST
from clew.graph.levels import LabelFunction, Labels, labels_of
from clew.graph.model import ExecutionGraph
from clew.graph.ops.aggregate_edges import CALL, EdgeColumns, EdgeName, edge_name
from clew.graph.ops.condense import Condensed, condenser
from clew.graph.ops.gather import Detail, Gathered, Merged
from clew.graph.ops.parts import Part
from clew.graph.ops.slice import Slice

I64 = npt.NDArray[np.int64]

Reduce = Callable[[ExecutionGraph, I64], Any]
"""Gives a node's `value` from its events."""


@dataclass(frozen=True)
class AggregateNode:
    """Times in nanoseconds, since the run's start where they are points."""

    id: int
    label: str
    events: int
    calls: int
    """Calls that begin in the node, and those of its label that were only counted."""
    self_ns: int
    """Work of the node's own code in the slice, without recorded calls to others and without recorded waits."""
    total_ns: int
    """Duration of the node's calls, those made from its own label left out."""
    waiting_ns: int
    """The part of `total_ns` that was recorded waits and suspensions."""
    errors: int
    """Calls that ended by an exception."""
    first_ns: int
    last_ns: int
    first_event: int
    last_event: int
    process: str
    """Of the first event, as `strand`."""
    strand: str
    strands: int
    """How many strands the node's events are from."""
    kind: str
    """The event's kind at level "event"; elsewhere "request", "call" or "strand" by the most telling thing in it."""
    location: tuple[str, int] | None
    """File and line of the function, at levels that name code."""
    counted: int = 0
    """The part of `calls` that was only counted: no time, event or edge is known of it."""
    value: Any = None
    """What `reduce` gave."""


@dataclass(frozen=True)
class AggregateEdge:
    source: int
    target: int
    kind: EdgeName
    channel: str
    count: int
    latency_ns: int
    """Sum over the edges of the time between their ends; 0 for calls."""


@dataclass(frozen=True, eq=False)
class AggregateGraph:
    """Nodes and edges as columns; `nodes` and `edges` give them as objects."""

    graph: ExecutionGraph
    level: str
    labels: Labels
    codes: I64
    """Per node its label's code."""
    detail: Detail
    reduce: Reduce | None = None
    unplaced: int = 0
    """Calls that were only counted, at a level whose labels are no places of code, so that none has them."""
    condensed: Condensed | None = None
    """Nodes with their events and times, and edges with their counts, where they are known without looking at events."""
    counted: I64 | None = None
    """Per node the calls that were only counted."""

    @property
    def rows(self) -> I64:
        """The events that were aggregated, ascending."""
        return self.detail.rows

    @property
    def node_of_row(self) -> npt.NDArray[Any]:
        """Per event of `rows` its node."""
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
        """Per node how many events it has."""
        if self.condensed is not None:
            return self.condensed.vertices["events"]
        return self.detail.nodes["events"].astype(np.int64)

    @cached_property
    def spans(self) -> tuple[I64, I64]:
        """Per node the times of its first and last event, in nanoseconds since the run's start."""
        if self.condensed is not None:
            return self.condensed.vertices["first"], self.condensed.vertices["last"]
        nodes = self.detail.nodes
        return self.graph.ts[nodes["first_event"]], self.graph.ts[nodes["last_event"]]

    @cached_property
    def arcs(self) -> npt.NDArray[Any]:
        """How many recorded edges lead from one node to another, by source and target; see `layout.ARC`."""
        if self.condensed is not None:
            return self.condensed.arcs
        edges = self.columns
        recorded = np.flatnonzero(edges.kind < CALL)
        pairs, at = np.unique(edges.source[recorded] * len(self) + edges.target[recorded], return_inverse=True)
        arcs = np.zeros(len(pairs), ARC)
        arcs["source"], arcs["target"] = pairs // max(len(self), 1), pairs % max(len(self), 1)
        np.add.at(arcs["count"], at, edges.count[recorded].astype(np.uint32))
        return arcs

    def __len__(self) -> int:
        return len(self.codes)

    def node_of(self, event: int) -> int | None:
        """The node that an event is in, None when it was not aggregated."""
        at = int(np.searchsorted(self.rows, event))
        return int(self.node_of_row[at]) if at < len(self.rows) and self.rows[at] == event else None

    def label(self, node: int) -> str:
        return self.labels.name(int(self.codes[node]))

    @cached_property
    def _by_node(self) -> tuple[I64, I64]:
        """Events sorted by node, and where each node's begin (one more than there are nodes)."""
        order = np.argsort(self.node_of_row, kind="stable")
        first = np.searchsorted(self.node_of_row[order], np.arange(len(self) + 1)).astype(np.int64)
        return self.rows[order], first

    def events_of(self, node: int) -> I64:
        """A node's events, ascending."""
        rows, first = self._by_node
        return rows[first[node] : first[node + 1]]

    @cached_property
    def nodes(self) -> list[AggregateNode]:
        """In the order of their first events in time; a node's `id` is its place."""
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
            **{name: int(column[node]) for name, column in self.sums.items()},
        )

    def _location(self, event: int) -> tuple[str, int] | None:
        if self.level == "event":
            return self.graph.location(event)
        owner = int(self.graph.owner[event])
        site = self.graph.sites[int(self.graph.site[owner if owner >= 0 else event])]
        # What a thread or task does outside of the program's functions has no place of its own.
        return (site.file, site.line) if site.file and not site.is_adapter else None

    @cached_property
    def edges(self) -> list[AggregateEdge]:
        """By source, then target."""
        edges = self.columns
        columns = (edges.source, edges.target, edges.kind, edges.channel, edges.count, edges.latency)
        return [
            AggregateEdge(a, b, edge_name(kind), self.graph.strings[channel], count, latency)
            for a, b, kind, channel, count, latency in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def by_label(self) -> AggregateGraph:
        """One node per label, nodes and edges summed; edges between nodes of one label are left out."""
        kept, merged = distinct(self.codes, int(self.codes.max(initial=-1)) + 1)
        # In the order of the first node of each label.
        first = np.empty(len(kept), np.int64)
        first[merged[::-1]] = np.arange(len(self))[::-1]
        rank = np.empty(len(kept), np.int64)
        rank[np.argsort(first)] = np.arange(len(kept))
        codes = np.empty(len(kept), np.int64)
        codes[rank] = kept
        detail = Merged(self.detail, self.graph, rank[merged], len(kept))
        counted = None
        if self.counted is not None:
            counted = np.zeros(len(kept), np.int64)
            np.add.at(counted, rank[merged], self.counted)
        return AggregateGraph(
            self.graph, self.level, self.labels, codes, detail, self.reduce, self.unplaced, counted=counted
        )


def aggregate(
    of: Slice | Part | ExecutionGraph, level: str | LabelFunction | Labels, reduce: Reduce | None = None
) -> AggregateGraph:
    """Condenses a slice, or a whole graph, at a level; see `clew.graph.levels` for the names.

    `level` may be a function that gives an event's label, or labels that were made of the graph, `reduce` a function that gives
    a node's value from (graph, its events). Raises `ClewError` for an unknown level.
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
    # What was only counted is in no slice.
    return made if cut is not None or not graph.counted else _with_counted(made)


def _with_counted(made: AggregateGraph) -> AggregateGraph:
    """Gives the calls that were only counted to the first node of their label."""
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
