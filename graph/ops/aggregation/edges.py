"""Represent edges between the nodes of an aggregate graph as columns.

Invariant: after merging there is one edge per source, target, kind and channel, and no edge leads from a node to
itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import distinct
from clew.graph.model.graph import EdgeKindName, edge_kind_name

I64 = npt.NDArray[np.int64]

CALL, NEXT = 4, 5
"""Edge kinds in addition to `EdgeKind`: a call, and the order of events in a region apart from calls and returns."""
EdgeName = Literal[EdgeKindName, "call", "next"]


def edge_name(kind: int) -> EdgeName:
    return "call" if kind == CALL else "next" if kind == NEXT else edge_kind_name(kind)


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Edges between nodes, one row each; `AggregateEdge` describes the columns."""

    source: I64
    target: I64
    kind: I64
    channel: I64
    count: I64
    latency: I64

    def merged(self) -> EdgeColumns:
        """Return one edge per (source, target, kind, channel), sorted by that key, without edges inside a node."""
        between = np.flatnonzero(self.source != self.target)
        columns = [column[between] for column in (self.source, self.target, self.kind, self.channel)]
        sizes = [int(column.max()) + 1 if len(column) else 1 for column in columns]
        keys = math.prod(sizes)
        if not len(between) or keys >= 1 << 63:
            begin, at = _sorted_apart(columns)
            ends = [column[begin] for column in columns]
        else:
            # Combine the four columns into one key, unless there are too many nodes and channels for 63 bits.
            present, at = distinct(np.ravel_multi_index(columns, sizes), keys)
            ends = [column.astype(np.int64) for column in np.unravel_index(present, sizes)]
        count, latency = np.zeros((2, len(ends[0])), np.int64)
        np.add.at(count, at, self.count[between])
        np.add.at(latency, at, self.latency[between])
        source, target, kind, channel = ends
        return EdgeColumns(source, target, kind, channel, count, latency)


def joined(parts: Iterable[EdgeColumns]) -> EdgeColumns:
    """Return the merged edges of all parts."""
    every, nothing = list(parts), np.zeros(0, np.int64)
    names = [column.name for column in fields(EdgeColumns)]
    columns = (np.concatenate([nothing, *(getattr(part, name) for part in every)]) for name in names)
    return EdgeColumns(*columns).merged()


def _sorted_apart(columns: list[I64]) -> tuple[I64, I64]:
    """Return the index of the first occurrence of each distinct row, sorted, and for each row the number of its
    group.
    """
    order = np.lexsort(columns[::-1])
    ends = np.stack(columns)[:, order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ends[:, 1:] != ends[:, :-1], axis=0)
    at = np.empty(len(order), np.int64)
    at[order] = np.cumsum(new) - 1
    return order[new], at


def without_implied(edges: EdgeColumns, nodes: int) -> EdgeColumns:
    """Drop the edges that a call already implies: the return from it, and the continuation into it."""
    calls = edges.kind == CALL
    caller, called = edges.source[calls], edges.target[calls]
    implied = np.concatenate((caller * nodes + called, called * nodes + caller))
    keep = (edges.kind != NEXT) | ~np.isin(edges.source * nodes + edges.target, implied)
    return EdgeColumns(*(getattr(edges, column.name)[keep] for column in fields(EdgeColumns)))
