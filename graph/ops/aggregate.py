"""HierarchicalAggregate (G2, section 3): each connected stretch of events with one label becomes one node.

Invariants: every event of the slice is in exactly one node; two nodes of one label are never joined by a causal edge; merging
nodes (`by_label`) keeps all sums. What only a look at every event tells is found when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import components
from clew.graph.layout import ARC
from clew.graph.levels import LabelFunction, Labels, labels_of
from clew.graph.model import ExecutionGraph, edge_kind_name
from clew.graph.ops.condense import Condensed, Condenser, condenser
from clew.graph.ops.parts import Part
from clew.graph.ops.slice import Slice
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CALL, NEXT = 4, 5
"""Kinds of edges beside `EdgeKind`'s: a call, and the order of events in a region where it is no call or return."""
EDGE_NAMES = {CALL: "call", NEXT: "next"}

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
    kind: str
    """ "use", "sync", "state", "call" or "next"."""
    channel: str
    count: int
    latency_ns: int
    """Sum over the edges of the time between their ends; 0 for calls."""


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Edges between nodes, one row each; `AggregateEdge` says what the columns mean."""

    source: I64
    target: I64
    kind: I64
    channel: I64
    count: I64
    latency: I64

    def merged(self) -> EdgeColumns:
        """One edge per (source, target, kind, channel), sorted so; without those inside a node."""
        between = np.flatnonzero(self.source != self.target)
        order = between[
            np.lexsort((self.channel[between], self.kind[between], self.target[between], self.source[between]))
        ]
        ends = np.stack((self.source, self.target, self.kind, self.channel))[:, order]
        if not len(order):
            return EdgeColumns(ends[0], ends[1], ends[2], ends[3], self.count[order], self.latency[order])
        begin = np.flatnonzero(np.concatenate(([True], np.any(ends[:, 1:] != ends[:, :-1], axis=0))))
        source, target, kind, channel = ends[:, begin]
        return EdgeColumns(
            source,
            target,
            kind,
            channel,
            np.add.reduceat(self.count[order], begin),
            np.add.reduceat(self.latency[order], begin),
        )


class Detail(Protocol):
    """What is found event by event."""

    @property
    def rows(self) -> I64: ...
    @property
    def node_of_row(self) -> I64: ...
    @property
    def sums(self) -> dict[str, I64]: ...
    @property
    def columns(self) -> EdgeColumns: ...


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

    @property
    def rows(self) -> I64:
        """The events that were aggregated, ascending."""
        return self.detail.rows

    @property
    def node_of_row(self) -> I64:
        """Per event of `rows` its node."""
        return self.detail.node_of_row

    @property
    def sums(self) -> dict[str, I64]:
        return self.detail.sums

    @property
    def columns(self) -> EdgeColumns:
        return self.detail.columns

    @cached_property
    def sizes(self) -> I64:
        """Per node how many events it has."""
        if self.condensed is not None:
            return self.condensed.vertices["events"]
        return np.bincount(self.node_of_row, minlength=len(self))

    @cached_property
    def spans(self) -> tuple[I64, I64]:
        """Per node the times of its first and last event, in nanoseconds since the run's start."""
        if self.condensed is not None:
            return self.condensed.vertices["first"], self.condensed.vertices["last"]
        ts, limits = self.graph.ts[self.rows], np.iinfo(np.int64)
        first, last = np.full(len(self), limits.max), np.full(len(self), limits.min)
        np.minimum.at(first, self.node_of_row, ts)
        np.maximum.at(last, self.node_of_row, ts)
        return first, last

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
        arcs["count"] = _total(at, edges.count[recorded], len(pairs))
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
        graph, rows = self.graph, self.events_of(node)
        first, last = int(rows[np.argmin(graph.ts[rows])]), int(rows[np.argmax(graph.ts[rows])])
        numbers = {name: int(column[node]) for name, column in self.sums.items()}
        kinds = np.bincount(graph.kind[rows], minlength=256)
        if self.level == "event":
            kind = graph.event(first).kind
        else:
            kind = "request" if kinds[Kind.REQUEST] else "call" if kinds[Kind.ENTER] else "strand"
        return AggregateNode(
            id=node,
            label=self.label(node),
            events=len(rows),
            first_ns=int(graph.ts[first]),
            last_ns=int(graph.ts[last]),
            first_event=first,
            last_event=last,
            process=graph.process_of(first).name,
            strand=graph.strand_of(first).name,
            strands=len(np.unique(graph.strand[rows])),
            kind=kind,
            location=self._location(first) if self.labels.located or self.level == "event" else None,
            value=self.reduce(graph, rows) if self.reduce else None,
            **numbers,
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
            AggregateEdge(
                a, b, EDGE_NAMES.get(kind) or edge_kind_name(kind), self.graph.strings[channel], count, latency
            )
            for a, b, kind, channel, count, latency in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def by_label(self) -> AggregateGraph:
        """One node per label, nodes and edges summed; edges between nodes of one label are left out."""
        kept, first, merged = np.unique(self.codes, return_index=True, return_inverse=True)
        # In the order of the first node of each label.
        rank = np.empty(len(kept), np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(kept))
        codes = np.empty(len(kept), np.int64)
        codes[rank] = kept
        merged_ = _Merged(self.detail, rank[merged], len(kept))
        return AggregateGraph(self.graph, self.level, self.labels, codes, merged_, self.reduce, self.unplaced)


@dataclass(frozen=True, eq=False)
class _Known:
    """A detail that has been found."""

    rows: I64
    node_of_row: I64
    sums: dict[str, I64]
    columns: EdgeColumns


@dataclass(frozen=True, eq=False)
class _Merged:
    """The detail of merged nodes, found when it is asked for."""

    of: Detail
    node: I64
    """The merged node of each node."""
    nodes: int

    @property
    def rows(self) -> I64:
        return self.of.rows

    @cached_property
    def node_of_row(self) -> I64:
        return self.node[self.of.node_of_row]

    @cached_property
    def sums(self) -> dict[str, I64]:
        return {name: _total(self.node, column, self.nodes) for name, column in self.of.sums.items()}

    @cached_property
    def columns(self) -> EdgeColumns:
        edges = self.of.columns
        return replace(edges, source=self.node[edges.source], target=self.node[edges.target]).merged()


@dataclass(frozen=True, eq=False)
class _OfRegions:
    """The detail of nodes that were condensed region by region, found when it is asked for."""

    condenser: Condenser
    cut: Slice | None

    @cached_property
    def rows(self) -> I64:
        return _inside(self.condenser.graph, self.cut)[0]

    @cached_property
    def node_of_row(self) -> I64:
        return self.condenser.node_of_rows(self.cut, self.rows)

    @cached_property
    def _condensing(self) -> Condensing:
        graph = self.condenser.graph
        return Condensing(graph, self.condenser.labels, *_inside(graph, self.cut), node=self.node_of_row)

    @cached_property
    def sums(self) -> dict[str, I64]:
        return self._condensing.sums()

    @cached_property
    def columns(self) -> EdgeColumns:
        return without_implied(self._condensing.edge_columns().merged(), self._condensing.nodes)


def _inside(graph: ExecutionGraph, cut: Slice | Part | None) -> tuple[I64, I64]:
    """The events and edges of a slice, or of the graph."""
    if cut is not None:
        return cut.events(), cut.edges()
    return np.arange(len(graph), dtype=np.int64), np.arange(len(graph.edge_src), dtype=np.int64)


def aggregate(
    of: Slice | Part | ExecutionGraph, level: str | LabelFunction, reduce: Reduce | None = None
) -> AggregateGraph:
    """Condenses a slice, or a whole graph, at a level; see `clew.graph.levels` for the names.

    `level` may be a function that gives an event's label, `reduce` one that gives a node's value from (graph, its events).
    Raises `ClewError` for an unknown level.
    """
    graph, cut = (of, None) if isinstance(of, ExecutionGraph) else (of.graph, of)
    fast = None if isinstance(cut, Part) else condenser(graph, level)
    if fast is not None and not isinstance(cut, Part):
        condensed = fast.slice(cut) if cut is not None else fast.whole()
        codes = condensed.vertices["label"].astype(np.int64)
        detail = _OfRegions(fast, cut)
        made = AggregateGraph(graph, fast.labels.level, fast.labels, codes, detail, reduce, condensed=condensed)
    else:
        labels = labels_of(graph, level)
        rows, edges = _inside(graph, cut)
        node = np.arange(len(rows)) if level == "event" else None
        made = Condensing(graph, labels, rows, edges, node=node, holes=isinstance(cut, Part)).result(reduce)
    # What was only counted is in no slice.
    return made if cut is not None or not graph.counted else _with_counted(made)


def _with_counted(made: AggregateGraph) -> AggregateGraph:
    """Gives the calls that were only counted to the first node of their label."""
    name = made.labels.of_site
    first: dict[str, int] = {}
    for node in range(len(made)):
        first.setdefault(made.label(node), node)
    counted, unplaced = np.zeros(len(made), np.int64), 0
    for site, calls in made.graph.counted.items():
        node = first.get(name(site), -1) if name else -1
        if node >= 0:
            counted[node] += calls
        else:
            unplaced += calls
    sums = {**made.sums, "calls": made.sums["calls"] + counted, "counted": counted}
    return replace(made, detail=_Known(made.rows, made.node_of_row, sums, made.columns), unplaced=unplaced)


class Condensing:
    """Positions are places in `rows`; `node` is given where nodes are known. With `holes`, events of a region that are not in
    `rows` may lie between two that are, which then are no neighbours."""

    def __init__(
        self, graph: ExecutionGraph, labels: Labels, rows: I64, edges: I64, *, node: I64 | None, holes: bool = False
    ) -> None:
        self.graph, self.labels, self.rows = graph, labels, rows
        self.code = labels.of(rows)
        # Neighbours in a region, which are causal.
        region = graph.region[rows]
        order = np.argsort(region, kind="stable")
        same = region[order[1:]] == region[order[:-1]]
        if holes:
            place = graph.structure.locate(rows)[1].astype(np.int64)[order]
            same &= place[1:] == place[:-1] + 1
        self.before, self.after = order[:-1][same], order[1:][same]
        # A run is a stretch of neighbours with one label.
        equal = np.zeros(len(rows), bool)
        equal[1:] = same & (self.code[order[1:]] == self.code[order[:-1]])
        self.run = np.empty(len(rows), np.int64)
        self.run[order] = np.cumsum(~equal) - 1
        self.src, self.dst = np.searchsorted(rows, graph.edge_src[edges]), np.searchsorted(rows, graph.edge_dst[edges])
        self.edges = edges
        # An event goes on with its call, also when other calls were in between.
        own = graph.call[rows].astype(np.int64)
        self.call = self._position(own, np.arange(len(rows)))
        self.caller = self._caller()
        self.node = node if node is not None else self._condense()
        self.nodes = int(self.node.max()) + 1 if len(rows) else 0

    def _position(self, events: I64, beside: I64) -> I64:
        """Positions of events, -1 where there is none, or where it lies in another region than the position `beside`."""
        place = np.minimum(np.searchsorted(self.rows, events), max(len(self.rows) - 1, 0))
        if not len(self.rows):
            return place
        region = self.graph.region
        good = (events >= 0) & (self.rows[place] == events) & (region[self.rows[place]] == region[self.rows[beside]])
        return np.where(good, place, -1)

    def _caller(self) -> I64:
        """Per position that enters a call the position of the caller's ENTER; -1 elsewhere and for none."""
        graph = self.graph
        caller = np.full(len(self.rows), -1, np.int64)
        enters = np.flatnonzero(graph.kind[self.rows] == Kind.ENTER)
        row = self.rows[enters]
        inside = (row > 0) & (graph.strand[row] == graph.strand[np.maximum(row - 1, 0)])
        around = np.where(inside, graph.inner[np.maximum(row - 1, 0)].astype(np.int64), -1)
        caller[enters] = self._position(around, enters)
        return caller

    def _condense(self) -> I64:
        a = np.concatenate((self.src, np.flatnonzero(self.call >= 0)))
        b = np.concatenate((self.dst, self.call[self.call >= 0]))
        equal = (self.code[a] == self.code[b]) & (self.run[a] != self.run[b])
        runs = int(self.run.max()) + 1 if len(self.run) else 0
        component = components(runs, self.run[a[equal]], self.run[b[equal]])[self.run]
        # Numbered in the order of time, not of rows, so that a list of nodes reads as a story.
        count = int(component.max()) + 1 if len(component) else 0
        begin = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(begin, component, self.graph.ts[self.rows])
        rank = np.empty(count, np.int64)
        rank[np.argsort(begin, kind="stable")] = np.arange(count)
        return rank[component]

    def result(self, reduce: Reduce | None) -> AggregateGraph:
        code = np.zeros(self.nodes, np.int64)
        code[self.node] = self.code
        columns = without_implied(self.edge_columns().merged(), self.nodes)
        detail = _Known(self.rows, self.node, self.sums(), columns)
        return AggregateGraph(self.graph, self.labels.level, self.labels, code, detail, reduce)

    def edge_columns(self) -> EdgeColumns:
        """Also where events follow each other only as a call or its return says; see `without_implied`."""
        graph, node = self.graph, self.node
        kind = graph.edge_kind[self.edges].astype(np.int64)
        channel = graph.edge_channel[self.edges].astype(np.int64)
        latency = graph.ts[graph.edge_dst[self.edges]] - graph.ts[graph.edge_src[self.edges]]
        entering = graph.kind[self.rows[self.after]] == Kind.ENTER
        called = self.after[entering]
        caller = np.where(self.caller[called] >= 0, self.caller[called], self.before[entering])
        calls = (node[caller], node[called])
        follow = (node[self.before[~entering]], node[self.after[~entering]])
        zeros = [np.zeros(len(calls[0]), np.int64), np.zeros(len(follow[0]), np.int64)]
        return EdgeColumns(
            np.concatenate((node[self.src], calls[0], follow[0])),
            np.concatenate((node[self.dst], calls[1], follow[1])),
            np.concatenate((kind, zeros[0] + CALL, zeros[1] + NEXT)),
            np.concatenate((channel, *zeros)),
            np.ones(len(kind) + len(zeros[0]) + len(zeros[1]), np.int64),
            np.concatenate((latency, *zeros)),
        )

    def sums(self) -> dict[str, I64]:
        graph, rows, node, count = self.graph, self.rows, self.node, self.nodes
        enters = np.flatnonzero(graph.kind[rows] == Kind.ENTER)
        call = np.searchsorted(graph.calls.enter, rows[enters])
        caller = self.caller[enters]
        outermost = (caller < 0) | (self.code[np.maximum(caller, 0)] != self.code[enters])
        return {
            "calls": np.bincount(node[enters], minlength=count),
            "self_ns": self._self_ns(),
            "total_ns": _total(node[enters[outermost]], graph.calls.total_ns[call[outermost]], count),
            "waiting_ns": _total(
                node[enters], np.where(outermost, graph.calls.waiting_ns[call], self._waits()[call]), count
            ),
            "errors": np.bincount(node[graph.kind[rows] == Kind.UNWIND], minlength=count),
        }

    def _waits(self) -> I64:
        """Per call of the graph its recorded waits without its suspensions, in which its caller was suspended with it."""
        graph = self.graph
        rows = np.flatnonzero(graph.idle[:-1] & (graph.inner[:-1] >= 0) & (graph.strand[:-1] == graph.strand[1:]))
        call = np.searchsorted(graph.calls.enter, graph.inner[rows])
        return _total(call, graph.ts[rows + 1] - graph.ts[rows], len(graph.calls.enter))

    def _self_ns(self) -> I64:
        """The gaps in which work was done, each given to a node of what ran in it that is next to it."""
        graph, rows = self.graph, self.rows
        at, following = self.before, self.after
        work = ~graph.idle[rows[at]]
        at, following = at[work], following[work]
        running = self.labels.running(rows[at])
        inner = self._position(graph.inner[rows[at]].astype(np.int64), at)
        owner = np.full(len(at), -1, np.int64)
        for candidate in (following, np.where(inner >= 0, inner, at), at):
            fits = self.code[candidate] == running
            owner[fits] = candidate[fits]
        known = owner >= 0
        row = rows[at[known]]
        length = graph.ts[row + 1] - graph.ts[row]
        return _total(self.node[owner[known]], length, self.nodes)


def _total(group: I64, value: I64, groups: int) -> I64:
    return np.bincount(group, weights=value, minlength=groups).astype(np.int64)


def without_implied(edges: EdgeColumns, nodes: int) -> EdgeColumns:
    """Leaves out what a call says already: the return from it, and going on with it."""
    calls = edges.kind == CALL
    caller, called = edges.source[calls], edges.target[calls]
    implied = np.concatenate((caller * nodes + called, called * nodes + caller))
    keep = (edges.kind != NEXT) | ~np.isin(edges.source * nodes + edges.target, implied)
    return EdgeColumns(*(getattr(edges, column.name)[keep] for column in fields(EdgeColumns)))
