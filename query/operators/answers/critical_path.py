"""Find the critical path of a slice: `.critical_path("function")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.errors import QueryError
from clew.graph.model.graph import I64
from clew.graph.model.levels import LabelFunction
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.critical_path import CriticalPath, critical_path
from clew.query.operators.events.slice import SliceOf
from clew.query.plan import EventNode, Node, Step, many, name_of

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class PathOf(Step):
    """The critical path of a slice that goes one way."""

    source: SliceOf
    level: str | LabelFunction
    until: EventNode | None = None
    """The events at the last of which the path ends; None for its usual end."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.source,) if self.until is None else (self.source, self.until)

    def answer(self) -> CriticalPath:
        graph, cut = self.open_run().graph, self.source.answer()
        assert isinstance(cut, Slice)  # the fluent method refuses all other slices
        return critical_path(graph, cut, self.level, until=last_of(cut, self.until))

    def answer_in_parts(self, engine: PartsEngine) -> CriticalPath:
        if self.until is not None:
            return self.gathered().answer()
        return engine.path(self.source.slice_in_parts(engine), self.level, lambda: self.gathered().answer())

    def step(self) -> str:
        until = "" if self.until is None else f", until={self.until.spell()}"
        return f"critical_path({name_of(self.level)}{until})"

    def size(self) -> str:
        return many(len(self.answer().segments), "segment")


def last_of(cut: Slice, until: EventNode | None) -> int | None:
    """Return the last of some events that a slice has, None for `until=None`. Raises `QueryError` if it has none."""
    if until is None:
        return None
    ends: I64 = np.unique(until.chosen()[0])
    ends = ends[cut.holds(ends)]
    if not len(ends):
        raise QueryError(f"the slice has no event of {until.spell()}, so no path of it can end there")
    return int(ends[np.argmax(cut.graph.ts[ends])])
