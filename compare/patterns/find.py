"""Find execution patterns (ThreadViewer): calls and call sequences that strands repeat, with counts, times and order.

A pattern is a call with all its callees, or a row of consecutive calls, that occurs at least twice. Calls are found by their
shapes, rows by Sequitur, and rows that its rules miss by comparing places (`missed_rows.py`). One grammar covers all strands,
so that sequences that each strand has only once are found, too; a unique symbol separates strands. A sequence that occurs only
inside one larger pattern is reported with that pattern.

Invariant: an occurrence counts at any depth, in any strand. Occurrences of one pattern never overlap, so its share of the
time is at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.answer import Shown
from clew.compare.patterns.activation_shapes import Shapes, shapes_of
from clew.compare.patterns.activations import RAISED, Activations, activations_of
from clew.compare.patterns.call_sequences import Mask, Rows, rows_of
from clew.compare.patterns.follow_ups import Succession, successions
from clew.compare.patterns.missed_rows import with_missed_rows
from clew.compare.patterns.occurrences import Occurrences
from clew.compare.patterns.outline_text import Line, Outlines
from clew.compare.patterns.sequitur import I64, infer
from clew.compare.patterns.state_diagram import Diagram, diagram
from clew.compare.stats.thresholds import Bounded, bounded
from clew.graph.model.array_utils import expand
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction
from clew.graph.ops.diff import duration
from clew.graph.render.table import Table, table_of


@dataclass(frozen=True)
class Thresholds(Bounded):
    """The definition of a pattern; `explain()` describes it in plain words."""

    calls: int = bounded(3, 1)
    """Minimum number of calls in a pattern, including nested calls; smaller patterns are uninformative."""
    times: int = bounded(2, 2)
    """Minimum number of occurrences."""
    widest: int = bounded(64, 1)
    """Maximum number of consecutive calls in a row."""
    top: int = bounded(100)
    """Maximum number of patterns described, most time first; all patterns are counted."""

    def explain(self) -> str:
        return (
            f"A pattern is a call with all its callees, or up to {self.widest} consecutive calls, that occurs at least "
            f"{self.times} times and contains at least {self.calls} calls. A sequence that occurs only inside one larger "
            "pattern is reported with that pattern. Two calls are alike when they make the same calls in the same order and "
            "return, raise or are suspended alike, and all their callees do so as well; times do not matter. Occurrences "
            "inside larger patterns count, too, so shares can add up to more than 100 %; occurrences of one pattern never "
            "overlap."
        )


@dataclass(frozen=True)
class Pattern:
    """One pattern. Times are in ns of the run's clock."""

    id: str
    """The same pattern has the same id in every run."""
    title: str
    calls: int
    """Number of calls in one occurrence, including nested calls."""
    width: int
    """Number of consecutive calls; 1 for a single call."""
    count: int
    total_ns: int
    """Time of its calls in all occurrences, excluding the gaps between consecutive calls."""
    self_ns: int
    """The part of the total that was spent in recorded code, not waiting."""
    share: float
    """Share of the time of all examined strands."""
    strands: int
    """Number of strands in which it occurs."""
    first_ns: int
    """Start of the first occurrence."""
    last_ns: int
    """End of the last occurrence."""
    first_event: int
    raised: int
    """Number of its calls that ended with an exception."""
    number: int = field(repr=False)
    """Index in `Patterns`."""

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count

    def sentence(self) -> str:
        return (
            f"{self.title} {self.count:,} times, {duration(self.mean_ns)} each, "
            f"{100 * self.share:.{0 if self.share >= 0.0995 else 1}f} % of the time"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(Shown):
    """The patterns of some strands."""

    graph: ExecutionGraph
    thresholds: Thresholds
    activations: Activations
    shapes: Shapes
    siblings: Rows
    found: int
    """The number of all patterns; `rows` has the first ones."""
    kind: I64
    """The shape of each pattern in `rows`, or `~row` for a row of `siblings`."""
    count: I64
    total_ns: I64
    self_ns: I64

    @property
    def span_ns(self) -> int:
        """Return the total time of all strands, each from its first event to its last, in ns."""
        return int(self.activations.span_ns.sum())

    @cached_property
    def outlines(self) -> Outlines:
        return Outlines(self.shapes)

    @cached_property
    def rows(self) -> tuple[Pattern, ...]:
        """Return the patterns, longest total time first."""
        return tuple(self._pattern(number) for number in range(len(self.kind)))

    def inside(self, number: int) -> list[int]:
        """Return the shapes of the consecutive calls of a pattern."""
        kind = int(self.kind[number])
        if kind >= 0:
            return [kind]
        at = int(self.siblings.place[np.argmax(self.siblings.row == ~kind)])
        inside: list[int] = self.shapes.inside[at : at + int(self.siblings.width[~kind])].tolist()
        return inside

    def places(self, number: int) -> I64:
        """Return the places of a pattern in the lists of shapes."""
        kind = int(self.kind[number])
        if kind >= 0:
            return np.flatnonzero(self.shapes.inside == kind)
        return np.sort(self.siblings.place[self.siblings.row == ~kind])

    def occurrences(self, number: int) -> tuple[I64, I64]:
        """Return the first and the last activation of each occurrence of a pattern, ordered by strand and time."""
        if number in self._timed:
            of = self._timed[number]
            return of.first.astype(np.int64), of.last.astype(np.int64)
        kind = int(self.kind[number])
        if kind >= 0:
            at = np.flatnonzero(self.shapes.shape == kind)
            return at, at
        is_there = np.zeros(len(self.shapes.inside), bool)
        is_there[self.places(number)] = True
        at = np.flatnonzero(is_there[self.shapes.place])
        return at, at + int(self.shapes.size[self.inside(number)[:-1]].sum())

    @cached_property
    def _timed(self) -> dict[int, Occurrences]:
        return {}

    def timed(self, number: int) -> Occurrences:
        """Return the occurrences of a pattern with their times; the result is cached."""
        if number not in self._timed:
            sizes = self.shapes.size[self.inside(number)[:-1]]
            offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
            self._timed[number] = Occurrences(self.activations, self.occurrences(number)[0], offsets)
        return self._timed[number]

    @cached_property
    def diagram(self) -> Diagram:
        """Return the diagram of successive states in all strands; see `clew.compare.patterns.state_diagram`."""
        return diagram(self.activations)

    def outline(self, number: int, most: int = 100) -> list[Line]:
        """Return the calls of a pattern, a line per group of equal consecutive calls, callers before their callees."""
        return self.outlines.lines(self.inside(number), most)

    @cached_property
    def successions(self) -> tuple[Succession, ...]:
        """Return which of `rows` follow which, most frequent first; see `clew.compare.patterns.follow_ups`."""
        return successions(self.shapes, [(self.places(at), self.rows[at].width) for at in range(len(self.kind))])

    def look(self) -> None:
        """Compute the details of all patterns, so that later requests for one pattern are fast."""
        for number, _row in enumerate(self.rows):
            self.timed(number)
            self.outline(number)
        _found = self.successions, self.diagram

    def sentence(self) -> str:
        scope = f"{self.activations.events:,} events of {_strands(len(self.activations.strands))}"
        if not self.found:
            return f"no sequence of {self.thresholds.calls} or more calls repeats in {scope}"
        counted = "1 pattern" if self.found == 1 else f"{self.found:,} patterns"
        return f"{counted} in {scope}; first, {self.rows[0].sentence()}"

    def explain(self) -> str:
        """Explain in plain words what a pattern is."""
        return self.thresholds.explain()

    def table(self) -> Table:
        """Return a table with a row per pattern."""
        return table_of(
            self.rows,
            ("id", "title", "count", "total_ns", "self_ns", "mean_ns", "share", "calls", "width", "strands", "first_ns",
             "last_ns", "first_event", "raised"),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "thresholds": asdict(self.thresholds),
            "events": self.activations.events,
            "strands": len(self.activations.strands),
            "spanNs": self.span_ns,
            "found": self.found,
            "patterns": [
                {
                    **asdict(row),
                    "mean_ns": row.mean_ns,
                    "outline": [line._asdict() for line in self.outline(row.number)],
                }
                for row in self.rows
            ],
            "successions": [
                {**step._asdict(), "before": self.rows[step.before].id, "after": self.rows[step.after].id}
                for step in self.successions
            ],
        }

    def _pattern(self, number: int) -> Pattern:
        of = self.activations
        inside = self.inside(number)
        first, last = self.occurrences(number)
        earliest = int(first[np.argmin(of.begin_ns[first])])
        return Pattern(
            id=self.outlines.digest(inside),
            title=self.outlines.title(inside),
            calls=int(self.shapes.size[inside].sum()),
            width=len(inside),
            count=int(self.count[number]),
            total_ns=int(self.total_ns[number]),
            self_ns=int(self.self_ns[number]),
            share=int(self.total_ns[number]) / self.span_ns if self.span_ns else 0.0,
            strands=len(np.unique(of.strand_of[first])),
            first_ns=int(of.begin_ns[earliest]),
            last_ns=int(of.end_ns[last].max()),
            first_event=int(of.first[earliest]),
            raised=int(
                (of.what[earliest : int(last[first == earliest][0]) + int(of.size[last[0]])] % 4 == RAISED).sum()
            ),
            number=number,
        )


def find_patterns(
    graph: ExecutionGraph,
    strands: Sequence[int],
    level: str | LabelFunction = "function",
    thresholds: Thresholds | None = None,
    **options: int,
) -> Patterns:
    """Find the patterns of some strands, given by number; `options` are thresholds by name.

    Raises `ClewError` for an unknown level or threshold, or an invalid value.
    """
    chosen = (thresholds or Thresholds()).having(options)
    activations = activations_of(graph, strands, level)
    shapes = shapes_of(activations)
    siblings = rows_of(shapes, infer(activations.sequence()), chosen.widest)
    # Rounds that are below a larger minimum are still rounds.
    least = Thresholds(calls=min(chosen.calls, Thresholds.calls))
    siblings = with_missed_rows(shapes, siblings, chosen.widest, lambda rows: _measure(shapes, rows, least)[0])
    kind, count, total, own = _measure(shapes, siblings, chosen)
    order = np.lexsort((kind, -count, -total))
    found, order = len(order), order[: chosen.top]
    return Patterns(
        graph, chosen, activations, shapes, siblings, found, kind[order], count[order], total[order], own[order]
    )


def _measure(shapes: Shapes, siblings: Rows, thresholds: Thresholds) -> tuple[I64, I64, I64, I64]:
    """Return the kind, count, total time and own time of all patterns; a kind is the shape of a call, or `~number` of a
    row."""
    total, own = shapes.total_ns, shapes.own_ns
    row, place = siblings.row, siblings.place
    lists = shapes.list_of
    end = place + siblings.width[row]
    passed = [np.concatenate(([0], np.cumsum(column))) for column in (total, own, shapes.size[shapes.inside])]
    total_of_row, own_of_row = (sums[end] - sums[place] for sums in passed[:2])
    count = _sums(row, shapes.times[lists[place]], len(siblings))
    size = np.zeros(len(siblings), np.int64)
    size[row] = passed[2][end] - passed[2][place]

    part, part_of_calls = _only_parts(shapes, siblings, count)
    enough = ~part_of_calls & (shapes.count >= thresholds.times) & (shapes.size >= thresholds.calls)
    calls = np.flatnonzero(enough)
    rows = np.flatnonzero(~part & (count >= thresholds.times) & (size >= thresholds.calls))
    return (
        np.concatenate((calls, ~rows)),
        np.concatenate((shapes.count[calls], count[rows])),
        np.concatenate(
            (_sums(shapes.inside, total, len(shapes))[calls], _sums(row, total_of_row, len(siblings))[rows])
        ),
        np.concatenate((_sums(shapes.inside, own, len(shapes))[calls], _sums(row, own_of_row, len(siblings))[rows])),
    )


def _only_parts(shapes: Shapes, siblings: Rows, count: I64) -> tuple[Mask, Mask]:
    """Return which rows, and which shapes, occur only as a part of one larger pattern."""
    row, place = siblings.row, siblings.place
    in_call = shapes.list_of < len(shapes)
    # Things at a single place in calls of one shape.
    rows = np.bincount(row, minlength=len(siblings)) == 1
    rows[row[~in_call[place]]] = False
    calls = np.bincount(shapes.inside, minlength=len(shapes)) == 1
    calls[shapes.inside[~in_call]] = False
    # Things in a row with as many occurrences: rows by their first place, calls by the row's content.
    first = np.full(len(siblings), len(shapes.inside), np.int64)
    np.minimum.at(first, row, place)
    order = np.lexsort((-siblings.width, first, count))
    group = np.cumsum(np.diff(count[order], prepend=-1) != 0)
    farthest = np.maximum.accumulate(group * (len(shapes.inside) + 1) + (first + siblings.width)[order])
    within = group[1:] * (len(shapes.inside) + 1) + (first + siblings.width)[order[1:]] <= farthest[:-1]
    rows[order[1:][within]] = True
    inside = shapes.inside[expand(first, first + siblings.width)]
    calls[inside[shapes.count[inside] == np.repeat(count, siblings.width)]] = True
    return rows, calls


def _sums(group: npt.NDArray[np.integer[Any]], values: I64, groups: int) -> I64:
    """Return the sum of the values of each group; floats are exact for nanoseconds up to 104 days."""
    return np.bincount(group, values, groups).astype(np.int64)


def _strands(counted: int) -> str:
    return f"{counted:,} strand{'s' * (counted != 1)}"
