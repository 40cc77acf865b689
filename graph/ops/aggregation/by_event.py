"""Compute the parts of an aggregate graph that need every event: nodes' events, calls, times and errors, and the
edges.

The kernel passes over the rows twice. Invariant: each value is computed only when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import Labels
from clew.graph.model.structure_layout import EDGE, NODE
from clew.graph.ops.aggregation.by_region import Condenser
from clew.graph.ops.aggregation.edges import EdgeColumns, joined
from clew.graph.ops.aggregation.waits import waits_of_calls
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.slicing.two_way import Part

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_NONE = np.uint32((1 << 32) - 1)
_PART = 1 << 20
"""The number of edges merged at a time."""


class Detail(Protocol):
    """The values that are computed event by event."""

    @property
    def rows(self) -> I64: ...
    @property
    def node_of_row(self) -> npt.NDArray[Any]: ...
    @property
    def nodes(self) -> npt.NDArray[Any]: ...
    @property
    def columns(self) -> EdgeColumns: ...
    def parts(self) -> Iterator[EdgeColumns]:
        """Yield the columns in chunks of edges."""
        ...


@dataclass(frozen=True, eq=False)
class Gathered:
    """The detail of a slice, of a `Part`, or of the whole graph (`cut` is None)."""

    graph: ExecutionGraph
    cut: Slice | Part | None
    labels: Labels
    regions: Condenser | None = None
    """The nodes, if they were condensed region by region."""

    @cached_property
    def rows(self) -> I64:
        return np.arange(len(self.graph), dtype=np.int64) if self.cut is None else self.cut.events()

    @property
    def node_of_row(self) -> U32:
        return self._found[0]

    @property
    def nodes(self) -> npt.NDArray[Any]:
        """Return the nodes, as `layout.NODE`."""
        return self._found[1]

    @cached_property
    def columns(self) -> EdgeColumns:
        return _as_columns(self._found[2])

    def parts(self) -> Iterator[EdgeColumns]:
        edges = self._found[2]
        return (_as_columns(edges[start : start + _PART]) for start in range(0, len(edges), _PART))

    @cached_property
    def _given(self) -> U32 | None:
        """Return the node of each event, or None if the nodes are not known yet."""
        if self.labels.level == "event":
            return np.arange(len(self.rows), dtype=np.uint32)
        if self.regions is None:
            return None
        assert not isinstance(self.cut, Part)
        return self.regions.node_of_rows(self.cut, self.rows).astype(np.uint32)

    @cached_property
    def _found(self) -> tuple[U32, npt.NDArray[Any], npt.NDArray[Any]]:
        rows, edges_ = (None, None) if self.cut is None else (self.rows, self.cut.edges())
        asked = {**_columns(self.graph), **_names(self.graph, self.labels, self.rows)}
        node, nodes, found = self.graph.structure.plane.gather(rows, edges_, self._given, asked)
        return np.frombuffer(node, np.uint32), np.frombuffer(nodes, NODE), np.frombuffer(found, EDGE)


def _as_columns(edges: npt.NDArray[Any]) -> EdgeColumns:
    return EdgeColumns(*(edges[column.name].astype(np.int64) for column in fields(EdgeColumns)))


def _columns(graph: ExecutionGraph) -> dict[str, npt.NDArray[Any]]:
    """Return the graph's columns in the types that the kernel needs."""
    columns: dict[str, npt.NDArray[Any]] | None = graph.answers.get("columns for the kernel")
    if columns is None:
        given = {
            "ts": (graph.ts, np.int64),
            "kind": (graph.kind, np.uint8),
            "idle": (graph.idle.view(np.uint8), np.uint8),
            "site": (graph.site, np.uint32),
            "strand": (graph.strand, np.uint32),
            "region": (graph.region, np.uint32),
            **{name: (getattr(graph, name), getattr(graph, name).dtype) for name in ("owner", "call", "inner")},
            "enter": (graph.calls.enter, np.int64),
            "total": (graph.calls.total_ns, np.int64),
            "waiting": (graph.calls.waiting_ns, np.int64),
            "paused": (waits_of_calls(graph), np.int64),
            "src": (graph.edge_src, np.int64),
            "dst": (graph.edge_dst, np.int64),
            "edge_kind": (graph.edge_kind, np.uint8),
            "channel": (graph.edge_channel, np.uint32),
        }
        # Most columns already have the right type and layout, so they are not copied.
        columns = {name: np.ascontiguousarray(column, dtype) for name, (column, dtype) in given.items()}
        graph.answers["columns for the kernel"] = columns
        # A slice needs less memory for these columns than building them did, so release the rest.
        graph.release_memory()
    return columns


def _names(graph: ExecutionGraph, labels: Labels, rows: I64) -> dict[str, npt.NDArray[Any]]:
    """Return the labels, as tables if tables exist."""
    nothing = np.zeros(0, np.uint32)
    if labels.codes is None:
        running = labels.running(rows)
        return {
            "codes": labels.of(rows).astype(np.uint32),
            "running": np.where(running >= 0, running, _NONE).astype(np.uint32),
            **dict.fromkeys(("by_site", "by_strand"), nothing),
            "named": nothing.astype(np.uint8),
        }
    by_site, by_strand = labels.codes
    return {
        "codes": nothing,
        "running": nothing,
        "by_site": nothing if by_site is None else by_site.astype(np.uint32),
        "by_strand": by_strand.astype(np.uint32),
        "named": nothing.astype(np.uint8) if by_site is None else graph.site_is_named.astype(np.uint8),
    }


@dataclass(frozen=True, eq=False)
class Merged:
    """The detail of merged nodes, computed lazily."""

    of: Detail
    graph: ExecutionGraph
    node: I64
    """The merged node of each node."""
    count: int

    @property
    def rows(self) -> I64:
        return self.of.rows

    @cached_property
    def node_of_row(self) -> I64:
        node: I64 = self.node[self.of.node_of_row]
        return node

    @cached_property
    def nodes(self) -> npt.NDArray[Any]:
        parts, node = self.of.nodes, self.node
        nodes = np.zeros(self.count, NODE)
        for name in ("events", "calls", "self_ns", "total_ns", "waiting_ns", "errors"):
            nodes[name] = np.bincount(node, weights=parts[name], minlength=self.count)
        np.bitwise_or.at(nodes["kinds"], node, parts["kinds"])
        nodes["label"][node] = parts["label"]
        limits = np.iinfo(np.int64)
        for event, least, worst in (("first_event", np.minimum, limits.max), ("last_event", np.maximum, limits.min)):
            times, best = self.graph.ts[parts[event]], np.full(self.count, worst)
            least.at(best, node, times)
            at = times == best[node]
            rows = np.full(self.count, limits.max)
            np.minimum.at(rows, node[at], parts[event][at].astype(np.int64))
            nodes[event] = rows
        strands = max(len(self.graph.strands), 1)
        pairs = self.node_of_row * strands + self.graph.strand[self.rows]
        if self.count * strands <= 8 * len(pairs):
            nodes["strands"] = np.count_nonzero(
                np.bincount(pairs, minlength=self.count * strands).reshape(-1, strands), 1
            )
        else:
            nodes["strands"] = np.bincount(np.unique(pairs) // strands, minlength=self.count)
        return nodes

    @cached_property
    def columns(self) -> EdgeColumns:
        # There are as many edges as calls, so they are merged in chunks.
        return joined(
            replace(part, source=self.node[part.source], target=self.node[part.target]).merged()
            for part in self.of.parts()
        )

    def parts(self) -> Iterator[EdgeColumns]:
        yield self.columns
