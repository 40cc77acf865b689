"""Finds the edges out of and into a region, with their rows.

Invariant: edges are sorted by their event in the region, and edges of one event by number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.model.structure_plane import Structure

I64 = npt.NDArray[np.int64]

MAX_CACHED = 1000
"""The maximum number of regions whose edges are cached."""


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    """The edges of a graph by region, with caches."""

    structure: Structure
    first: I64
    """The first row of each region, -1 for an empty region."""
    src: I64
    dst: I64
    """The source and target row of each edge."""
    cached: dict[tuple[int, bool], tuple[I64, I64]] = field(default_factory=dict, repr=False)
    """Results of `out` and `into`: traversals return to a region many times, and a main loop may have a million edges."""
    entering: dict[tuple[int, bool], tuple[list[int], list[int]]] = field(default_factory=dict, repr=False)
    """Results of `clew.graph.ops.causes.state_waits.entering`, by region and whether only causes were requested."""
    opened: dict[int, int] = field(default_factory=dict, repr=False)
    """Results of `clew.graph.build.regions.opens`, by region."""

    def out(self, region: int) -> tuple[I64, I64]:
        """Return the edges out of a region, and their sources."""
        return self._cached(region, self.src, forward=True)

    def into(self, region: int) -> tuple[I64, I64]:
        """Return the edges into a region, and their targets."""
        return self._cached(region, self.dst, forward=False)

    def _cached(self, region: int, near: I64, *, forward: bool) -> tuple[I64, I64]:
        found = self.cached.get((region, forward))
        if found is None:
            if len(self.cached) >= MAX_CACHED:
                self.cached.clear()
            found = self.cached[region, forward] = self._find(region, near, forward=forward)
        return found

    def _find(self, region: int, near: I64, *, forward: bool) -> tuple[I64, I64]:
        row = int(self.first[region])
        if row < 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        edges = self.structure.edges_of(row, forward=forward).astype(np.int64)
        rows = near[edges]
        if len(rows) > 1 and not np.all(rows[1:] > rows[:-1]):
            order = np.lexsort((edges, rows))
            edges, rows = edges[order], rows[order]
        return edges, rows
