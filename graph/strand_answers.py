"""A run's threads and tasks: which there are, and what each does again and again.

Invariant: as in `clew.graph.query`, a question is a frozen value that is answered when the answer is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from clew.graph.answers import Query
from clew.graph.columns import Table, table_of
from clew.graph.comparing import comparison
from clew.graph.execute import strand_name
from clew.graph.levels import LabelFunction
from clew.graph.nodes import OpenRun, QueryError, Strands

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class RunStrand:
    """A thread or a task of a run."""

    run: OpenRun
    index: int

    @property
    def name(self) -> str:
        return self.run.graph.strands[self.index].name

    @property
    def kind(self) -> str:
        """thread or task."""
        return self.run.graph.strands[self.index].kind

    @property
    def process(self) -> str:
        return self.run.graph.processes[self.run.graph.strands[self.index].process].name

    @property
    def events(self) -> int:
        strand = self.run.graph.strands[self.index]
        return strand.stop - strand.start

    @property
    def first_ns(self) -> int:
        """When its first event was, since the run's start; 0 for one without events, as `last_ns`."""
        return self.run.graph.at("ts", self.run.graph.strands[self.index].start) if self.events else 0

    @property
    def last_ns(self) -> int:
        return self.run.graph.at("ts", self.run.graph.strands[self.index].stop - 1) if self.events else 0

    def patterns(self, level: str | LabelFunction = "function", **thresholds: int) -> Any:
        """What it does again and again, how often and how long, and what follows what: as `StrandQuery.patterns`."""
        return comparison("patterns")(self.run.graph, [self.index], level, **thresholds)

    def __repr__(self) -> str:
        return f"strand({strand_name(self.run.graph, self.index)!r}, {self.events:,} events)"


@dataclass(frozen=True, repr=False)
class StrandQuery(Query):
    """Threads and tasks, in the order of the run's."""

    node: Strands
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "where": "strands are rows: write [strand for strand in run.strands if …], or .named(PART)",
        "slice": "a slice begins at events: write run.events.where(strand=NAME).slice()",
    }

    def named(self, part: str) -> StrandQuery:
        """Those whose name, `process / strand`, has this in it. Raises `QueryError`, when answered, if there is none."""
        if self.node.name:
            raise QueryError(f"these are chosen by name already: {self!r}")
        return StrandQuery(Strands(self.node.run, part))

    def patterns(self, level: str | LabelFunction = "function", **thresholds: int) -> Any:
        """What they do again and again, in whichever of them.

        The answer has `sentence()`, `explain()`, `rows` (what takes the most time first, in ns), `outline(row.number)`,
        `occurrences(row.number)`, `successions`, `diagram`, `table()` and `to_json()`. `thresholds` are calls, times, widest
        and top. Raises `QueryError` for one that there is not, or a value that is none. See docs/patterns.md and
        `clew.compare.patterns`."""
        numbers = [strand.index for strand in self.result]
        return comparison("patterns")(self.node.run.graph, numbers, level, **thresholds)

    @cached_property
    def result(self) -> list[RunStrand]:
        return [RunStrand(self.node.run, index) for index in self._answer()]

    def count(self) -> int:
        return len(self.result)

    def first(self) -> RunStrand | None:
        return next(iter(self.result), None)

    def __iter__(self) -> Iterator[RunStrand]:
        return iter(self.result)

    @property
    def table(self) -> Table:
        """A row per strand."""
        return table_of(self.result, ("index", "process", "name", "kind", "events", "first_ns", "last_ns"))

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Needs pandas."""
        return self.table.to_pandas()
