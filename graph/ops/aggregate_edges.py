"""Edges between the nodes of an aggregate graph, as columns.

Invariant: one edge per source, target, kind and channel, once merged; none leads from a node to itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import distinct
from clew.graph.model import EdgeKindName, edge_kind_name

I64 = npt.NDArray[np.int64]

CALL, NEXT = 4, 5
"""Kinds of edges beside `EdgeKind`'s: a call, and the order of events in a region where it is no call or return."""
EdgeName = Literal[EdgeKindName, "call", "next"]


def edge_name(kind: int) -> EdgeName:
    return "call" if kind == CALL else "next" if kind == NEXT else edge_kind_name(kind)


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
        columns = [column[between] for column in (self.source, self.target, self.kind, self.channel)]
        sizes = [int(column.max()) + 1 if len(column) else 1 for column in columns]
        keys = math.prod(sizes)
        if not len(between) or keys >= 1 << 63:
            begin, at = _sorted_apart(columns)
            ends = [column[begin] for column in columns]
        else:
            # One number instead of four, unless there are too many nodes and channels for one.
            present, at = distinct(np.ravel_multi_index(columns, sizes), keys)
            ends = [column.astype(np.int64) for column in np.unravel_index(present, sizes)]
        count, latency = np.zeros((2, len(ends[0])), np.int64)
        np.add.at(count, at, self.count[between])
        np.add.at(latency, at, self.latency[between])
        source, target, kind, channel = ends
        return EdgeColumns(source, target, kind, channel, count, latency)


def joined(parts: Iterable[EdgeColumns]) -> EdgeColumns:
    """The edges of all parts, merged."""
    every, nothing = list(parts), np.zeros(0, np.int64)
    names = [column.name for column in fields(EdgeColumns)]
    columns = (np.concatenate([nothing, *(getattr(part, name) for part in every)]) for name in names)
    return EdgeColumns(*columns).merged()


def _sorted_apart(columns: list[I64]) -> tuple[I64, I64]:
    """Where each distinct row of some columns is first, in their order, and per row its number there."""
    order = np.lexsort(columns[::-1])
    ends = np.stack(columns)[:, order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ends[:, 1:] != ends[:, :-1], axis=0)
    at = np.empty(len(order), np.int64)
    at[order] = np.cumsum(new) - 1
    return order[new], at


def without_implied(edges: EdgeColumns, nodes: int) -> EdgeColumns:
    """Leaves out what a call says already: the return from it, and going on with it."""
    calls = edges.kind == CALL
    caller, called = edges.source[calls], edges.target[calls]
    implied = np.concatenate((caller * nodes + called, called * nodes + caller))
    keep = (edges.kind != NEXT) | ~np.isin(edges.source * nodes + edges.target, implied)
    return EdgeColumns(*(getattr(edges, column.name)[keep] for column in fields(EdgeColumns)))
