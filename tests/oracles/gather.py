"""Reference implementation of `Plane.gather` in numpy: aggregation by event, with identical bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import components
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels
from clew.graph.model.structure_layout import EDGE, HAS_ENTER, HAS_REQUEST, NODE
from clew.graph.ops.aggregation.edges import CALL, NEXT, EdgeColumns, without_implied
from clew.graph.ops.aggregation.waits import waits_of_calls
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


class Condensing:
    """An aggregation of `rows`; positions are indices into `rows`, and `node` holds their nodes if these are known.

    With `holes`, `rows` may skip events of a region; events on both sides of a hole are not neighbours.
    """

    def __init__(
        self, graph: ExecutionGraph, labels: Labels, rows: I64, edges: I64, *, node: I64 | None, holes: bool = False
    ) -> None:
        self.graph, self.labels, self.rows = graph, labels, rows
        self.code = labels.of(rows)
        # Neighbours in a region depend on each other.
        region = graph.region[rows]
        order = np.argsort(region, kind="stable")
        same = region[order[1:]] == region[order[:-1]]
        if holes:
            place = graph.structure.locate(rows)[1].astype(np.int64)[order]
            same &= place[1:] == place[:-1] + 1
        self.before, self.after = order[:-1][same], order[1:][same]
        # A run is a sequence of neighbours with one label.
        equal = np.zeros(len(rows), bool)
        equal[1:] = same & (self.code[order[1:]] == self.code[order[:-1]])
        self.run = np.empty(len(rows), np.int64)
        self.run[order] = np.cumsum(~equal) - 1
        self.src, self.dst = np.searchsorted(rows, graph.edge_src[edges]), np.searchsorted(rows, graph.edge_dst[edges])
        self.edges = edges
        # An event is joined to its call, also after other calls in between.
        own = graph.call[rows].astype(np.int64)
        self.call = self._position(own, np.arange(len(rows)))
        self.caller = self._caller()
        self.node = node if node is not None else self._condense()
        self.nodes = int(self.node.max()) + 1 if len(rows) else 0

    def _position(self, events: I64, beside: I64) -> I64:
        """Return the positions of events; -1 if an event is not in `rows`, or not in the region of its position `beside`."""
        place = np.minimum(np.searchsorted(self.rows, events), max(len(self.rows) - 1, 0))
        if not len(self.rows):
            return place
        region = self.graph.region
        good = (events >= 0) & (self.rows[place] == events) & (region[self.rows[place]] == region[self.rows[beside]])
        return np.where(good, place, -1)

    def _caller(self) -> I64:
        """Return for each ENTER the position of the caller's ENTER; -1 for other positions and without a caller."""
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
        # Nodes are numbered in time order, not in row order, so that a list of nodes reads as a story.
        count = int(component.max()) + 1 if len(component) else 0
        begin = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(begin, component, self.graph.ts[self.rows])
        rank = np.empty(count, np.int64)
        rank[np.argsort(begin, kind="stable")] = np.arange(count)
        return rank[component]

    def edge_columns(self) -> EdgeColumns:
        """Return all edges, including those that calls and returns imply; see `without_implied`."""
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
                node[enters], np.where(outermost, graph.calls.waiting_ns[call], waits_of_calls(graph)[call]), count
            ),
            "errors": np.bincount(node[graph.kind[rows] == Kind.UNWIND], minlength=count),
        }

    def _self_ns(self) -> I64:
        """Return the self time of each node: every gap with work belongs to an adjacent node with the label that ran."""
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


def found(made: Condensing) -> tuple[U32, npt.NDArray[Any], npt.NDArray[Any]]:
    """Return each event's node, the nodes, and the edges between them, as `Plane.gather` does."""
    rows, node, count = made.rows, made.node, made.nodes
    nodes = np.zeros(count, NODE)
    ts, begin = made.graph.ts[rows], np.arange(count)
    for sign, event in ((1, "first_event"), (-1, "last_event")):
        order = np.lexsort((rows, sign * ts, node))
        nodes[event] = rows[order[np.searchsorted(node[order], begin)]]
    nodes["events"] = np.bincount(node, minlength=count)
    nodes["label"][node] = made.code
    kinds = made.graph.kind[rows]
    for kind, flag in ((Kind.REQUEST, HAS_REQUEST), (Kind.ENTER, HAS_ENTER)):
        nodes["kinds"] |= np.where(np.bincount(node[kinds == kind], minlength=count) > 0, flag, 0).astype(np.uint32)
    pairs = np.unique(np.stack((node, made.graph.strand[rows].astype(np.int64))), axis=1)
    nodes["strands"] = np.bincount(pairs[0], minlength=count)
    for name, column in made.sums().items():
        nodes[name] = column
    columns = without_implied(made.edge_columns().merged(), count)
    edges = np.zeros(len(columns.source), EDGE)
    for name in ("source", "target", "kind", "channel", "count", "latency"):
        edges[name] = getattr(columns, name)
    return node.astype(np.uint32), nodes, edges
