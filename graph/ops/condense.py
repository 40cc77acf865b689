"""Condensing at levels whose labels are the same in all of a region (task, thread, process, machine), in the kernel.

Invariant: the answer is that of condensing event by event. A level's forest index costs about as much as following all edges
a few times, so it is made once that much was followed for want of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.layout import ARC, VERTEX
from clew.graph.levels import LabelFunction, Labels, labels_of
from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import Slice
from clew.graph.structure import Reached

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

FOREST_COSTS = 3
"""How often all edges are followed in the time that a level's forest index takes."""


@dataclass(frozen=True)
class Condensed:
    """Nodes in the order of their first events, and how many edges lead from one to another, by source and target."""

    vertices: npt.NDArray[Any]
    """As `layout.VERTEX`."""
    arcs: npt.NDArray[Any]
    """As `layout.ARC`."""


@dataclass(eq=False)
class Condenser:
    """A graph at a level."""

    graph: ExecutionGraph
    labels: Labels
    by_region: U32
    """Label per region of the structure."""
    forest: Any = None
    """The level's index in the kernel, when there is one."""
    followed: int = 0
    """Edges that were followed without it, for questions that it could have answered."""

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
        """Makes the forest index now."""
        self.forest = self.graph.structure.plane.level(self.by_region, np.ascontiguousarray(self.graph.ts, np.int64))

    def whole(self) -> Condensed:
        """The whole graph, along all its edges."""
        return self._of_regions(None)[0]

    def node_of_rows(self, cut: Slice | None, rows: I64) -> I64:
        """The node of each of a slice's events (None: the graph's)."""
        _, reached, vertices = self._of_regions(cut)
        regions, _ = self.graph.structure.by_region(reached, forward=cut is None or cut.forward)
        found, _ = self.graph.structure.locate(rows)
        node = np.zeros(self.graph.structure.regions, np.int64)
        node[regions] = vertices
        return node[found]

    def _of_regions(self, cut: Slice | None) -> tuple[Condensed, Reached, U32]:
        """Without the forest; and the node of each region."""
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
    """None for a level whose labels differ inside regions, and for times that do."""
    kept: dict[object, Condenser | None] = graph.answers.setdefault("condensers", {})
    if isinstance(level, str) and level not in kept:
        labels = labels_of(graph, level)
        usable = labels.of_strand is not None and graph.structure.steady
        kept[level] = Condenser(graph, labels, _by_region(graph, labels)) if usable else None
    return kept.get(level)


def _by_region(graph: ExecutionGraph, labels: Labels) -> U32:
    assert labels.of_strand is not None
    bounds = np.array([*(strand.start for strand in graph.strands), len(graph)], np.int64)
    codes: U32 = labels.of_strand.astype(np.uint32)
    return codes[graph.structure.owners(bounds)]
