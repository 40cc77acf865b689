"""Execution patterns (ThreadViewer): what strands do again and again, how often, how long, and what follows what.

A pattern is a call with all that it calls, or a row of calls side by side, that is there at least twice. Calls are found by
their shapes, rows by Sequitur: one grammar for all strands, so that what each does only once is found, too; where one strand
ends and the next begins is a symbol that is there once. What only ever occurs as a part of one larger pattern is told with
that. Invariant: an occurrence is counted wherever it is, at any depth, in any strand; those of one pattern never overlap, so
that its share of the time is at most all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.activations import RAISED, Activations, activations_of
from clew.compare.occurrences import Occurrences
from clew.compare.outlines import Line, Outlines
from clew.compare.sequitur import I64, infer
from clew.compare.shapes import Shapes, shapes_of
from clew.compare.shown import Shown
from clew.compare.siblings import Mask, Rows, rows_of
from clew.compare.successions import Succession, successions
from clew.compare.thresholds import Bounded, bounded
from clew.compare.transitions import Diagram, diagram
from clew.graph.arrays import expand
from clew.graph.columns import Table, table_of
from clew.graph.levels import LabelFunction
from clew.graph.model import ExecutionGraph
from clew.graph.ops.diff import duration


@dataclass(frozen=True)
class Thresholds(Bounded):
    """What counts as a pattern. `explain()` says it in plain words."""

    calls: int = bounded(3, 1)
    """A pattern has at least so many calls, those that its calls make included; smaller ones say little."""
    times: int = bounded(2, 2)
    """It occurs at least so often."""
    widest: int = bounded(64, 1)
    """A row has at most so many calls side by side."""
    top: int = bounded(100)
    """So many are described, those that take the most time first; all are counted."""

    def explain(self) -> str:
        return (
            f"A pattern is a call with everything that it calls, or up to {self.widest} calls in a row, that occurs at least "
            f"{self.times} times and has at least {self.calls} calls in it. What only occurs as a part of one larger pattern "
            "is told with that. Two calls are alike when they call the same in the same order, return, raise or are suspended "
            "alike, and so on below; times do not matter. Every occurrence counts, within larger patterns, too, so that shares "
            "add up to more than 100 %; occurrences of one pattern never overlap."
        )


@dataclass(frozen=True)
class Pattern:
    """One pattern. Times in ns, of the run's clock."""

    id: str
    """The same for the same pattern in every run."""
    title: str
    calls: int
    """In one occurrence, with those that are called."""
    width: int
    """How many side by side; 1 for a call."""
    count: int
    total_ns: int
    """What its calls took in all occurrences, without what is between those that are side by side."""
    self_ns: int
    """Of that what was spent in recorded code, not waiting."""
    share: float
    """Of the time of all strands that were looked at."""
    strands: int
    """In how many strands it occurs."""
    first_ns: int
    """When the first occurrence began,"""
    last_ns: int
    """and the last one ended."""
    first_event: int
    raised: int
    """Calls in it that ended by an exception."""
    number: int = field(repr=False)
    """In `Patterns`."""

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
    """How many there are; the first ones are `rows`."""
    kind: I64
    """Of these per pattern the shape of a call, or `~row` of `siblings`."""
    count: I64
    total_ns: I64
    self_ns: I64

    @property
    def span_ns(self) -> int:
        """The time of all strands together, from the first event of each to its last."""
        return int(self.activations.span_ns.sum())

    @cached_property
    def outlines(self) -> Outlines:
        return Outlines(self.shapes)

    @cached_property
    def rows(self) -> tuple[Pattern, ...]:
        """What takes the most time first."""
        return tuple(self._pattern(number) for number in range(len(self.kind)))

    def inside(self, number: int) -> list[int]:
        """The shapes of the calls that a pattern has side by side."""
        kind = int(self.kind[number])
        if kind >= 0:
            return [kind]
        at = int(self.siblings.place[np.argmax(self.siblings.row == ~kind)])
        inside: list[int] = self.shapes.inside[at : at + int(self.siblings.width[~kind])].tolist()
        return inside

    def places(self, number: int) -> I64:
        """Where it is in the lists of shapes."""
        kind = int(self.kind[number])
        if kind >= 0:
            return np.flatnonzero(self.shapes.inside == kind)
        return np.sort(self.siblings.place[self.siblings.row == ~kind])

    def occurrences(self, number: int) -> tuple[I64, I64]:
        """Its occurrences, strand by strand in order: the first and the last activation of each side by side."""
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
        """When it occurs; kept, so that every further look at it is quick."""
        if number not in self._timed:
            sizes = self.shapes.size[self.inside(number)[:-1]]
            offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
            self._timed[number] = Occurrences(self.activations, self.occurrences(number)[0], offsets)
        return self._timed[number]

    @cached_property
    def diagram(self) -> Diagram:
        """What happens right after what, in all strands; see `clew.compare.transitions`."""
        return diagram(self.activations)

    def outline(self, number: int, most: int = 100) -> list[Line]:
        """Its calls, a line for equal ones in a row, callers before what they call."""
        return self.outlines.lines(self.inside(number), most)

    @cached_property
    def successions(self) -> tuple[Succession, ...]:
        """Which of `rows` follow which, the most frequent first; see `clew.compare.successions`."""
        return successions(self.shapes, [(self.places(at), self.rows[at].width) for at in range(len(self.kind))])

    def look(self) -> None:
        """Finds out what is told of all of the patterns, so that every look at one is quick."""
        for number, _row in enumerate(self.rows):
            self.timed(number)
            self.outline(number)
        _found = self.successions, self.diagram

    def sentence(self) -> str:
        looked = f"{self.activations.events:,} events of {_strands(len(self.activations.strands))}"
        if not self.found:
            return f"nothing of {self.thresholds.calls} calls or more repeats in {looked}"
        many = "1 pattern" if self.found == 1 else f"{self.found:,} patterns"
        return f"{many} in {looked}; first, {self.rows[0].sentence()}"

    def explain(self) -> str:
        """In plain words, what a pattern is."""
        return self.thresholds.explain()

    def table(self) -> Table:
        """A row per pattern."""
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
    """The patterns of some strands, given by number; `options` are thresholds. Raises `ClewError` for a level or an option that
    there is not."""
    chosen = (thresholds or Thresholds()).having(options)
    activations = activations_of(graph, strands, level)
    shapes = shapes_of(activations)
    siblings = rows_of(shapes, infer(activations.sequence()), chosen.widest)
    kind, count, total, own = _measured(shapes, siblings, chosen)
    order = np.lexsort((kind, -count, -total))
    found, order = len(order), order[: chosen.top]
    return Patterns(
        graph, chosen, activations, shapes, siblings, found, kind[order], count[order], total[order], own[order]
    )


def _measured(shapes: Shapes, siblings: Rows, thresholds: Thresholds) -> tuple[I64, I64, I64, I64]:
    """All patterns: calls by their shapes, rows by `~number`; how often they occur, and their times."""
    total, own = shapes.total_ns, shapes.own_ns
    row, place = siblings.row, siblings.place
    lists = shapes.list_of
    end = place + siblings.width[row]
    passed = [np.concatenate(([0], np.cumsum(column))) for column in (total, own, shapes.size[shapes.inside])]
    took, worked = (sums[end] - sums[place] for sums in passed[:2])
    count = _sums(row, shapes.times[lists[place]], len(siblings))
    size = np.zeros(len(siblings), np.int64)
    size[row] = passed[2][end] - passed[2][place]

    part, part_of_calls = _parts(shapes, siblings, count)
    enough = ~part_of_calls & (shapes.count >= thresholds.times) & (shapes.size >= thresholds.calls)
    calls = np.flatnonzero(enough)
    rows = np.flatnonzero(~part & (count >= thresholds.times) & (size >= thresholds.calls))
    return (
        np.concatenate((calls, ~rows)),
        np.concatenate((shapes.count[calls], count[rows])),
        np.concatenate((_sums(shapes.inside, total, len(shapes))[calls], _sums(row, took, len(siblings))[rows])),
        np.concatenate((_sums(shapes.inside, own, len(shapes))[calls], _sums(row, worked, len(siblings))[rows])),
    )


def _parts(shapes: Shapes, siblings: Rows, count: I64) -> tuple[Mask, Mask]:
    """Rows, and shapes, that only ever occur as a part of one larger thing."""
    row, place = siblings.row, siblings.place
    in_call = shapes.list_of < len(shapes)
    # At one place, in calls that are alike.
    rows = np.bincount(row, minlength=len(siblings)) == 1
    rows[row[~in_call[place]]] = False
    calls = np.bincount(shapes.inside, minlength=len(shapes)) == 1
    calls[shapes.inside[~in_call]] = False
    # In a row that occurs as often: rows by where they are first, calls by what is in them.
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
    """A float holds whole nanoseconds up to 104 days."""
    return np.bincount(group, values, groups).astype(np.int64)


def _strands(many: int) -> str:
    return f"{many:,} strand{'s' * (many != 1)}"
