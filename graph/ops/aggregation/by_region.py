"""Condense in the kernel at levels whose label is constant in each region (task, thread, process, machine).

Invariant: the answer equals that of condensing event by event. Building a level's forest index costs about as much as
following all edges a few times. The index is therefore built only after queries without it have followed that many
edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction, Labels, labels_of
from clew.graph.model.structure_layout import ARC, VERTEX
from clew.graph.model.structure_plane import Reached
from clew.graph.ops.slicing.interval import Slice

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

FOREST_COSTS = 3
"""The cost of building a level's forest index, as a multiple of following all edges once."""


@dataclass(frozen=True)
class Condensed:
    """Nodes in the order of their first events, and the number of edges between nodes by source and target."""

    vertices: npt.NDArray[Any]
    """The nodes, as `layout.VERTEX`."""
    arcs: npt.NDArray[Any]
    """The edge counts, as `layout.ARC`."""


@dataclass(eq=False)
class Condenser:
    """Condenses a graph at one level."""

    graph: ExecutionGraph
    labels: Labels
    by_region: U32
    """The label of each region of the structure."""
    forest: Any = None
    """The level's index in the kernel, once it is built."""
    followed: int = 0
    """Edges followed without the index, for queries that the index could have answered."""

    def slice(self, cut: Slice) -> Condensed:
        if not (self.graph.structure.forward and cut.follows_all):
            return self._of_regions(cut)[0]
        if self.forest is None and self.followed > FOREST_COSTS * self.graph.structure.edges:
            self.index()
        if self.forest is not None:
            found = self.forest.condense(cut.roots[0])
            if found is not None:
                return Condensed(np.frombuffer(found[0], VERTEX), np.frombuffer(found[1], ARC))
        self.followed += cut.followed
        return self._of_regions(cut)[0]

    def index(self) -> None:
        """Build the forest index now."""
        self.forest = self.graph.structure.plane.level(self.by_region, np.ascontiguousarray(self.graph.ts, np.int64))

    def whole(self) -> Condensed:
        """Condense the whole graph, along all its edges."""
        return self._of_regions(None)[0]

    def node_of_rows(self, cut: Slice | None, rows: I64) -> I64:
        """Return the node of each event of a slice (None: of the whole graph)."""
        _, reached, vertices = self._of_regions(cut)
        regions, _ = self.graph.structure.by_region(reached, forward=cut is None or cut.forward)
        found, _ = self.graph.structure.locate(rows)
        node = np.zeros(self.graph.structure.regions, np.int64)
        node[regions] = vertices
        return node[found]

    def _of_regions(self, cut: Slice | None) -> tuple[Condensed, Reached, U32]:
        """Condense without the forest index, and return the node of each region as well."""
        structure = self.graph.structure
        allowed: npt.NDArray[np.bool_] | None
        if cut is None:
            forward, allowed = True, structure.every
            ends = np.array([0, len(self.graph)], np.uint32) if len(self.graph) else np.zeros(0, np.uint32)
            reached = Reached(ends[:1], ends[1:], 0)
        else:
            forward, allowed, reached = cut.forward, cut.allowed, cut.reached
        ts = np.ascontiguousarray(self.graph.ts, np.int64)
        vertices, arcs, of_region = structure.plane.condense(forward, *reached[:2], allowed, self.by_region, ts)
        made = Condensed(np.frombuffer(vertices, VERTEX), np.frombuffer(arcs, ARC))
        return made, reached, np.frombuffer(of_region, np.uint32)


def condenser(graph: ExecutionGraph, level: str | LabelFunction) -> Condenser | None:
    """Return the condenser of a level, or None if its labels differ within regions or the structure is not `steady`."""
    condensers: dict[object, Condenser | None] = graph.answers.setdefault("condensers", {})
    if isinstance(level, str) and level not in condensers:
        labels = labels_of(graph, level)
        usable = labels.of_strand is not None and graph.structure.steady
        condensers[level] = Condenser(graph, labels, _by_region(graph, labels)) if usable else None
    return condensers.get(level)


def _by_region(graph: ExecutionGraph, labels: Labels) -> U32:
    assert labels.of_strand is not None
    bounds = np.array([*(strand.start for strand in graph.strands), len(graph)], np.int64)
    codes: U32 = labels.of_strand.astype(np.uint32)
    return codes[graph.structure.owners(bounds)]
