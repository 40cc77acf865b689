"""Find the critical path of a slice: `.critical_path("function")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.graph.model.levels import LabelFunction
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.critical_path import CriticalPath, critical_path
from clew.query.operators.events.slice import SliceOf
from clew.query.plan import Step, many, name_of

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class PathOf(Step):
    """The critical path of a slice that goes one way."""

    source: SliceOf
    level: str | LabelFunction

    def answer(self) -> CriticalPath:
        cut = self.source.answer()
        assert isinstance(cut, Slice)  # the fluent method refuses all other slices
        return critical_path(self.open_run().graph, cut, self.level)

    def answer_in_parts(self, engine: PartsEngine) -> CriticalPath:
        return engine.path(self.source.slice_in_parts(engine), self.level, lambda: self.gathered().answer())

    def step(self) -> str:
        return f"critical_path({name_of(self.level)})"

    def size(self) -> str:
        return many(len(self.answer().segments), "segment")
