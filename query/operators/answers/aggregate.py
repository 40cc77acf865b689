"""Aggregate a slice or a whole run at a level: `.aggregate("function")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clew.graph.model.levels import LabelFunction, labels_of
from clew.graph.ops.aggregation.aggregate import AggregateGraph, Reduce, aggregate
from clew.query.operators.events.all_events import Events
from clew.query.operators.events.slice import SliceOf
from clew.query.plan import Step, many, name_of

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Aggregate(Step):
    """An aggregate graph."""

    source: SliceOf | Events
    level: str | LabelFunction
    reduce: Reduce | None = None

    def answer(self) -> AggregateGraph:
        of = self.source.answer() if isinstance(self.source, SliceOf) else self.source.run.graph
        return aggregate(of, self.level, self.reduce)

    def answer_in_parts(self, engine: PartsEngine) -> Any:
        source = self.source
        if self.reduce is not None or (isinstance(source, SliceOf) and not source.goes_one_way):
            return self.gathered().execute()
        cut = source.slice_in_parts(engine) if isinstance(source, SliceOf) else None
        made = engine.condense(cut, self.level)
        counted = engine.manifest.counted
        if cut is not None or not counted:
            return made
        of_site = labels_of(engine.tables, self.level).of_site
        named: dict[str, int] = {}
        unplaced = 0
        for site, calls in counted.items():
            if of_site is None:
                unplaced += calls
            else:
                named[of_site(site)] = named.get(of_site(site), 0) + calls
        return made.with_counted(named, unplaced)

    def step(self) -> str:
        return f"aggregate({name_of(self.level)}{', reduce=' + name_of(self.reduce) if self.reduce else ''})"

    def spell(self) -> str:
        return f"{self.source.run!r}.{self.step()}" if isinstance(self.source, Events) else super().spell()

    def size(self) -> str:
        condensed = self.answer()
        return f"{many(len(condensed), 'node')}, {many(len(condensed.columns.source), 'edge')}"
