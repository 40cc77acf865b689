"""Edges between the nodes of an aggregate graph, as columns.

Invariant: one edge per source, target, kind and channel, once merged; none leads from a node to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

CALL, NEXT = 4, 5
"""Kinds of edges beside `EdgeKind`'s: a call, and the order of events in a region where it is no call or return."""
EDGE_NAMES = {CALL: "call", NEXT: "next"}


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
        columns = [self.source[between], self.target[between], self.kind[between], self.channel[between]]
        key, fits = columns[0], 1
        for column in columns[1:]:
            # One number instead of four, unless there are too many nodes and channels for one.
            values = int(column.max()) + 1 if len(column) else 1
            fits *= values
            key = key * values + column
        if len(between) and fits * (int(columns[0].max()) + 1) >= 1 << 63:
            order = np.lexsort(columns[::-1])
        else:
            order = np.argsort(key, kind="stable")
        ends = np.stack(columns)[:, order]
        count, latency = self.count[between][order], self.latency[between][order]
        if not len(order):
            return EdgeColumns(ends[0], ends[1], ends[2], ends[3], count, latency)
        begin = np.flatnonzero(np.concatenate(([True], np.any(ends[:, 1:] != ends[:, :-1], axis=0))))
        source, target, kind, channel = ends[:, begin]
        return EdgeColumns(
            source, target, kind, channel, np.add.reduceat(count, begin), np.add.reduceat(latency, begin)
        )


def without_implied(edges: EdgeColumns, nodes: int) -> EdgeColumns:
    """Leaves out what a call says already: the return from it, and going on with it."""
    calls = edges.kind == CALL
    caller, called = edges.source[calls], edges.target[calls]
    implied = np.concatenate((caller * nodes + called, called * nodes + caller))
    keep = (edges.kind != NEXT) | ~np.isin(edges.source * nodes + edges.target, implied)
    return EdgeColumns(*(getattr(edges, column.name)[keep] for column in fields(EdgeColumns)))
