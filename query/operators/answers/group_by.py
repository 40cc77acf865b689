"""Group events and measure the groups: `.group_by(FIELD).agg(count="count")`.

A measure is "count", or a tuple of sum, min, max, mean, quantile or distinct, the field and, for a quantile, its share.
Invariants: groups are sorted by the values of their fields. A measure of a field ignores events without the field, and is None
if no event has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.errors import QueryError
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.render.table import Column, Table
from clew.query.fields import FIELDS, check_field, numbers, ranked, ranks
from clew.query.plan import EventNode, Measure, Step

OF_NUMBERS = ("sum", "mean", "quantile")
MEASURES = ("min", "max", "distinct", *OF_NUMBERS)
_HOW = (
    'a measure is "count" or one of ("sum", FIELD), ("min", FIELD), ("max", FIELD), ("mean", FIELD), ("distinct", FIELD), '
    '("quantile", FIELD, 0.95)'
)


MANY = 20_000
"""The largest number of groups that are sorted one by one; for more groups, one sort of all events is faster."""


@dataclass(frozen=True)
class GroupBy(Step):
    """A row per group: the fields `by`, then the measures by name."""

    source: EventNode
    by: tuple[str, ...]
    measures: tuple[tuple[str, Measure], ...]
    order: tuple[tuple[str, bool], ...] = ()
    """The columns that the rows are sorted by, the primary column first, and whether the order is descending."""
    most: int | None = None
    """The largest number of rows; None means all."""

    def answer(self) -> Table:
        rows, _ = self.source.chosen()
        table = grouped(self.open_run().graph, rows, self.by, self.measures)
        for name, descending in reversed(self.order):
            values = table.columns[name].to_list()
            known = [place for place, value in enumerate(values) if value is not None]
            known.sort(key=values.__getitem__, reverse=descending)
            # Groups without a value come last in both directions.
            table = table.take([*known, *(place for place, value in enumerate(values) if value is None)])
        return table if self.most is None else table.head(self.most)

    def step(self) -> str:
        measures = ", ".join(
            f"{name}={measure[0]!r}" if len(measure) == 1 else f"{name}={measure!r}" for name, measure in self.measures
        )
        by = f"group_by({', '.join(map(repr, self.by))})." if self.by else ""
        order = "".join(f".order_by({('-' if down else '') + name!r})" for name, down in reversed(self.order))
        return f"{by}agg({measures}){order}{'' if self.most is None else f'.limit({self.most})'}"


def check_measure(name: str, measure: Any) -> Measure:
    """Check a measure. Raises `QueryError` for an invalid measure."""
    parts = (measure,) if isinstance(measure, str) else tuple(measure) if isinstance(measure, tuple | list) else ()
    if parts == ("count",):
        return ("count",)
    if len(parts) < 2 or parts[0] not in MEASURES or not isinstance(parts[1], str):
        raise QueryError(f"{name}={measure!r}: {_HOW}")
    what, field = parts[0], check_field(parts[1])
    if what in OF_NUMBERS and not FIELDS[field].is_number:
        raise QueryError(f'{name}={measure!r}: {field} is text and has no {what}; write ("distinct", {field!r})')
    if what != "quantile":
        if len(parts) > 2:
            raise QueryError(f'{name}={measure!r}: only a quantile has a third part; write ("{what}", {field!r})')
        return what, field
    if len(parts) != 3 or not isinstance(parts[2], int | float) or not 0 <= parts[2] <= 1:
        raise QueryError(f'{name}={measure!r}: give the quantile, from 0 to 1: ("quantile", {field!r}, 0.95)')
    return what, field, float(parts[2])


def grouped(graph: ExecutionGraph, rows: I64, by: Sequence[str], measures: Sequence[tuple[str, Measure]]) -> Table:
    """Return a row per group: its fields, then the measures. Without a field, all events are one group."""
    groups = _groups(graph, rows, by)
    columns = dict(groups.columns)
    for name, measure in measures:
        columns[name] = _measure(graph, rows, groups, measure)
    return Table(columns)


@dataclass(frozen=True)
class _Groups:
    """The groups of some events."""

    columns: dict[str, Column]
    """The values of the fields, per group."""
    count: I64
    """The number of events per group."""
    code: npt.NDArray[Any]
    number: I64
    """The group per code; the group of an event is `number[code]`."""

    def __len__(self) -> int:
        return len(self.count)

    @cached_property
    def of_events(self) -> I64:
        found: I64 = self.number[self.code]
        return found


@dataclass(frozen=True)
class _Coded:
    """One code per event, which identifies its combination of field values. `size` is the number of possible codes."""

    code: npt.NDArray[Any]
    size: int
    parts: tuple[I64, ...] = ()
    """Per field, the code of its value, indexed by combined code."""

    def with_field(self, code: npt.NDArray[Any], size: int) -> _Coded:
        """Return the codes extended by one more field. The number of possible codes is bounded by a multiple of the events."""
        most = max(4 * len(code), 1 << 16)
        before = self if self.size * size <= most else self.dense()
        if before.size == 1:
            return _Coded(code, size, (*(part.repeat(size) for part in before.parts), np.arange(size)))
        both = before.code * np.int64(size) + code
        if before.size * size <= most:
            parts = (part.repeat(size) for part in before.parts)
            return _Coded(both, before.size * size, (*parts, np.tile(np.arange(size), before.size)))
        known, both = np.unique(both, return_inverse=True)
        return _Coded(both, len(known), (*(part[known // size] for part in before.parts), known % size))

    def dense(self) -> _Coded:
        """Return the same events with the codes renumbered, so that every code occurs."""
        present = np.flatnonzero(_tally(self.code, self.size))
        number = np.zeros(self.size, np.int64)
        number[present] = np.arange(len(present))
        return _Coded(number[self.code], max(len(present), 1), tuple(part[present] for part in self.parts))


def _tally(code: npt.NDArray[Any], size: int) -> I64:
    """Count how often each code occurs. For few codes, count block by block, which avoids a widened copy of all codes."""
    if size > 1 << 12:
        return np.bincount(code, minlength=size)
    count = np.zeros(size, np.int64)
    for at in range(0, len(code), 1 << 16):
        count += np.bincount(code[at : at + (1 << 16)], minlength=size)
    return count


def _groups(graph: ExecutionGraph, rows: I64, by: Sequence[str]) -> _Groups:
    """Group events by the values of fields; the groups are sorted by these values."""
    coded = _Coded(np.zeros(1 if by else len(rows), np.uint8), 1)
    if not by:
        return _Groups({}, np.array([len(rows)]), coded.code, np.zeros(1, np.int64))
    known: list[tuple[I64, Sequence[Any]]] = []
    for name in by:
        values, code = FIELDS[name].codes(graph, rows)
        coded = coded.with_field(code, max(len(values), 1))
        known.append(ranked(values))
    count = _tally(coded.code, coded.size)
    present = np.flatnonzero(count)
    ranks = [rank[part[present]] for (rank, _), part in zip(known, coded.parts, strict=True)]
    # Several codes may have equal values, so groups are defined by the ranks of the values.
    order = np.lexsort(ranks[::-1])
    new = np.ones(len(order), bool)
    if len(order):
        new[1:] = np.any([rank[order[1:]] != rank[order[:-1]] for rank in ranks], axis=0)
    number = np.zeros(coded.size, np.int64)
    number[present[order]] = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    sizes = np.add.reduceat(count[present[order]], first) if len(first) else np.zeros(0, np.int64)
    columns = {
        name: Column(rank[order[first]], values) for name, rank, (_, values) in zip(by, ranks, known, strict=True)
    }
    return _Groups(columns, sizes, coded.code, number)


def _measure(graph: ExecutionGraph, rows: I64, groups: _Groups, measure: Measure) -> Column:
    """Return a measure of each group as a column."""
    if measure == ("count",):
        return Column(groups.count)
    group, many = groups.of_events, len(groups)
    what, name = str(measure[0]), str(measure[1])
    has = FIELDS[name].has
    if has is not None:
        mask = has(graph, rows)
        rows, group = rows[mask], group[mask]
    values: Sequence[Any] | None = None
    if FIELDS[name].is_number:
        data = numbers(graph, rows, name)
    else:
        data, values = ranks(graph, rows, name)
    order = _order(group, many)
    data, group = data[order], group[order]
    first = np.searchsorted(group, np.arange(many + 1))
    size = np.diff(first)
    some = size > 0
    if what == "distinct":
        return Column(_distinct(data, group, first))
    result = _reduce(what, measure, data, group, first=first[:-1][some], size=size[some])
    if values is None and some.all():
        return Column(result)
    items: list[Any] = [values[code] for code in result.tolist()] if values is not None else result.tolist()
    # The last item, None, is for groups in which no event has the field.
    place = np.where(some, np.cumsum(some) - 1, len(items))
    return Column(place, [*items, None])


def _order(group: I64, groups: int) -> I64:
    """Return the stable order by group. NumPy sorts 16-bit numbers with a radix sort, which is faster."""
    return np.argsort(group.astype(np.uint16) if groups <= 1 << 16 else group, kind="stable")


def _ascending(data: Any, group: I64, first: I64) -> Any:
    """Return the data sorted within each group; `data` is ordered by group."""
    if len(first) > MANY:
        return data[np.lexsort((data, group))]
    data = data.copy()
    for begin, end in pairwise(first.tolist()):
        data[begin:end].sort()
    return data


def _distinct(data: Any, group: I64, first: I64) -> I64:
    data = _ascending(data, group, first)
    new = np.ones(len(data), bool)
    new[1:] = (group[1:] != group[:-1]) | (data[1:] != data[:-1])
    return np.bincount(group[new], minlength=len(first) - 1)


def _reduce(what: str, measure: Measure, data: Any, group: I64, *, first: I64, size: I64) -> Any:
    """Compute a measure of the groups that are not empty; `data` is ordered by group."""
    if not len(data):
        return np.zeros(0, float if what in ("mean", "quantile") else np.int64)
    match what:
        case "min":
            return np.minimum.reduceat(data, first)
        case "max":
            return np.maximum.reduceat(data, first)
        case "quantile":
            part = measure[2]
            assert isinstance(part, float)
            data = _ascending(data, group, np.append(first, len(data)))
            place = part * (size - 1)
            low = np.floor(place).astype(np.int64)
            here, above = data[first + low], data[first + np.minimum(low + 1, size - 1)]
            return here + (above - here) * (place - low)
    largest = max(abs(int(data.max())), abs(int(data.min())))
    wide = largest * len(data) >= 2**63  # Python integers where 64 bits could overflow
    sums = np.add.reduceat(data.astype(object) if wide else data, first)
    if what == "sum":
        return sums
    return np.array([math.nan if not n else s / n for s, n in zip(sums.tolist(), size.tolist(), strict=True)])
