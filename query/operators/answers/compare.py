"""Compare two aggregates of one level: `.diff(other)`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.open_run import OpenRun
from clew.graph.ops.diff import Diff, diff
from clew.query.operators.answers.aggregate import Aggregate
from clew.query.plan import Node, many


@dataclass(frozen=True)
class Compare(Node):
    """A comparison of two aggregates."""

    before: Aggregate
    after: Aggregate

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.before, self.after

    def open_run(self) -> OpenRun:
        return self.before.open_run()

    def answer(self) -> Diff:
        return diff(self.before.answer(), self.after.answer())

    def step(self) -> str:
        return "diff"

    def spell(self) -> str:
        return f"{self.before.spell()}.diff({self.after.spell()})"

    def size(self) -> str:
        return many(len(self.answer().rows), "label")
