"""Decide whether recorded events order one event before another.

Order inside a thread or task counts, and so does every edge that passes data or unblocks. A state edge does not count:
reading a value orders nothing. The order of two owners of a lock does not count either, since it is chance.
"""

from __future__ import annotations

import heapq

import numpy as np

from clew.graph.model.graph import I64, ExecutionGraph, RegionKind
from clew.records.format.event import EdgeKind

MOST_EDGES = 20_000
"""The maximum number of edges to follow for one question."""


class HappensBefore:
    """The order of the events of one graph."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        # An event loop's callbacks are ordered by their handles alone, although one thread runs them.
        region = graph.region.astype(np.int64)
        alone = np.zeros(len(graph.regions), bool)
        handle = graph.channel_ids.get("asyncio.handle", -1)
        opener = graph.regions.opener
        scopes = np.flatnonzero((graph.regions.kind == RegionKind.SCOPE) & (opener >= 0))
        ext = graph.ext[opener[scopes]]
        if len(scopes):
            alone[scopes] = (ext >= 0) & (graph.extensions.channel[np.maximum(ext, 0)] == handle)
        self._line: I64 = np.where(alone[region], len(graph.strands) + region, graph.strand.astype(np.int64))
        counts = graph.edge_kind != EdgeKind.STATE
        if graph.edge_excludes is not None:
            counts &= ~graph.edge_excludes
        edges = np.flatnonzero(counts)
        order = np.lexsort((graph.edge_src[edges], self._line[graph.edge_src[edges]]))
        self._source: I64 = graph.edge_src[edges][order]
        self._target: I64 = graph.edge_dst[edges][order]
        self._source_line: I64 = self._line[self._source]

    def before(self, first: int, second: int) -> bool | None:
        """Return whether `first` happens before `second`, None if the question is too costly."""
        graph = self.graph
        until, aim = graph.at("ts", second), int(self._line[second])
        bounds: dict[int, int] = {}
        ready = [(graph.at("ts", first), first)]
        followed = 0
        while ready:
            _, row = heapq.heappop(ready)
            line = int(self._line[row])
            if line == aim and row <= second:
                return True
            bound = bounds.get(line)
            if bound is not None and bound <= row:
                continue
            bounds[line] = row
            low, high = np.searchsorted(self._source_line, [line, line + 1])
            at = int(low) + int(np.searchsorted(self._source[low:high], row))
            while at < high:
                source, target = int(self._source[at]), int(self._target[at])
                if bound is not None and source >= bound:
                    break
                followed += 1
                if followed > MOST_EDGES:
                    return None
                if graph.at("ts", source) > until:
                    break
                if graph.at("ts", target) <= until:
                    heapq.heappush(ready, (graph.at("ts", target), target))
                at += 1
        return False
