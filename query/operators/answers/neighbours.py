"""Find the events one edge away from each event: `.neighbours()`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.ops.slicing.neighbours import neighbour_table
from clew.graph.render.table import Table
from clew.query.plan import EventNode, Step


@dataclass(frozen=True)
class NeighboursOf(Step):
    """A row per event and neighbour."""

    source: EventNode

    def answer(self) -> Table:
        return neighbour_table(self.open_run().graph, self.source.events())

    def step(self) -> str:
        return "neighbours()"
