"""The edges out of and into a region, by rows; what only the kernel of the structure plane asks is not here.

Invariant: edges are in the order of their ends in the region, of one event in that of their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.model.structure_plane import Structure

I64 = npt.NDArray[np.int64]

KEPT = 1000
"""Number of regions whose edges are cached."""


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    structure: Structure
    first: I64
    """Per region its first row, -1 where it has none."""
    src: I64
    dst: I64
    """Per edge its rows."""
    kept: dict[tuple[int, bool], tuple[I64, I64]] = field(default_factory=dict, repr=False)
    """The last answers: walks come to a region again and again, and a main loop has a million edges."""
    entering: dict[tuple[int, bool], tuple[list[int], list[int]]] = field(default_factory=dict, repr=False)
    """The last answers of `ops.waits.entering`, by region and whether only causes were asked for."""
    opened: dict[int, int] = field(default_factory=dict, repr=False)
    """The last answers of `regions.opens`, by region."""

    def out(self, region: int) -> tuple[I64, I64]:
        """The edges out of a region, and their sources."""
        return self._of(region, self.src, forward=True)

    def into(self, region: int) -> tuple[I64, I64]:
        """The edges into a region, and their targets."""
        return self._of(region, self.dst, forward=False)

    def _of(self, region: int, near: I64, *, forward: bool) -> tuple[I64, I64]:
        found = self.kept.get((region, forward))
        if found is None:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            found = self.kept[region, forward] = self._find(region, near, forward=forward)
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
