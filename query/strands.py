"""Query the threads and tasks of a run, and the call sequences that they repeat.

Invariant: as in `clew.query.api`, a query is a frozen value and runs when its answer is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from clew.graph.errors import QueryError
from clew.graph.model.levels import LabelFunction
from clew.graph.model.open_run import OpenRun
from clew.graph.render.table import Table, table_of
from clew.query.operators.answers.strands import Strands, strand_name
from clew.query.results import Query

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from clew.compare.patterns.find import Patterns


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
        """Return "thread" or "task"."""
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
        """Return the time of the first event, in ns since the start of the run; 0 without events, as for `last_ns`."""
        return self.run.graph.at("ts", self.run.graph.strands[self.index].start) if self.events else 0

    @property
    def last_ns(self) -> int:
        return self.run.graph.at("ts", self.run.graph.strands[self.index].stop - 1) if self.events else 0

    def patterns(self, level: str | LabelFunction = "function", **thresholds: int) -> Patterns:
        """Find the call sequences that this strand repeats, with counts, times and order; see `StrandQuery.patterns`."""
        return _patterns(self.run, [self.index], level, thresholds)

    def __repr__(self) -> str:
        return f"strand({strand_name(self.run.graph, self.index)!r}, {self.events:,} events)"


@dataclass(frozen=True, repr=False)
class StrandQuery(Query):
    """A query for threads and tasks, in the order of the run."""

    node: Strands
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "where": "strands are rows: write [strand for strand in run.strands if …], or .named(PART)",
        "slice": "a slice begins at events: write run.events.where(strand=NAME).slice()",
    }

    def named(self, part: str) -> StrandQuery:
        """Keep strands whose name, `process / strand`, contains `part`. The answer raises `QueryError` without a match."""
        if self.node.name:
            raise QueryError(f"these are chosen by name already: {self!r}")
        return StrandQuery(Strands(self.node.run, part))

    def patterns(self, level: str | LabelFunction = "function", **thresholds: int) -> Patterns:
        """Find the call sequences that these strands repeat, across all of them.

        The answer has `sentence()`, `explain()`, `rows` (the longest total time first, in ns), `outline(row.number)`,
        `occurrences(row.number)`, `successions`, `diagram`, `table()` and `to_json()`. `thresholds` are calls, times, widest
        and top. Raises `QueryError` for an unknown threshold or an invalid value. See docs/patterns.md and
        `clew.compare.patterns.find`."""
        numbers = [strand.index for strand in self.result]
        return _patterns(self.node.run, numbers, level, thresholds)

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
        """Return a table with a row per strand."""
        return table_of(self.result, ("index", "process", "name", "kind", "events", "first_ns", "last_ns"))

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


def _patterns(
    run: OpenRun, strands: Sequence[int], level: str | LabelFunction, thresholds: Mapping[str, int]
) -> Patterns:
    from clew.compare.patterns.find import find_patterns  # imported by the first question for patterns

    return find_patterns(run.graph, strands, level, None, **thresholds)
