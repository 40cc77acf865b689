"""Find the costliest path of a slice: `.costliest_path(vertex_cost=…, edge_cost=…)`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.levels import LabelFunction
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.cost_path import CostPath, EdgeCost, VertexCost, cost_path
from clew.query.operators.answers.critical_path import last_of
from clew.query.operators.events.slice import SliceOf
from clew.query.plan import EventNode, Node, Step, many, name_of


@dataclass(frozen=True)
class CostPathOf(Step):
    """The costliest path of a slice that goes one way."""

    source: SliceOf
    level: str | LabelFunction
    vertex_cost: VertexCost | None = None
    edge_cost: EdgeCost | None = None
    until: EventNode | None = None
    """The events at the last of which the path ends; None for the end of a critical path."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.source,) if self.until is None else (self.source, self.until)

    def answer(self) -> CostPath:
        cut = self.source.answer()
        assert isinstance(cut, Slice)  # the fluent method refuses all other slices
        return cost_path(
            self.open_run().graph,
            cut,
            self.level,
            vertex_cost=self.vertex_cost,
            edge_cost=self.edge_cost,
            until=last_of(cut, self.until),
        )

    def step(self) -> str:
        options = [name_of(self.level)]
        for name, given in (("vertex_cost", self.vertex_cost), ("edge_cost", self.edge_cost)):
            options += [f"{name}={name_of(given)}"] if given is not None else []
        options += [f"until={self.until.spell()}"] if self.until is not None else []
        return f"costliest_path({', '.join(options)})"

    def size(self) -> str:
        return many(len(self.answer().segments), "segment")
