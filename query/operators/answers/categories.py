"""Group requests by the structure of their flows: `.categories()`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.levels import LabelFunction
from clew.graph.ops.flows.categories import Category, categories
from clew.graph.ops.flows.flows import flows_of
from clew.query.plan import EventNode, Step, many, name_of


@dataclass(frozen=True)
class CategoriesOf(Step):
    """The categories of some requests."""

    source: EventNode
    level: str | LabelFunction

    def answer(self) -> list[Category]:
        return categories(flows_of(self.open_run(), self.source.events(), self.level))

    def step(self) -> str:
        return f"categories({name_of(self.level)})"

    def size(self) -> str:
        return many(len(self.answer()), "category")
