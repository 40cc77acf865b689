"""Events grouped by fields, and measures of each group: count, sum, min, max, mean, quantile, distinct.

A measure is "count", or a tuple: what, the field, and for a quantile which one. Invariants: groups are in the order of their
fields' values; a measure of a field takes only events that have it, and is None where none has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from clew.graph.columns import Column, Table
from clew.graph.fields import FIELDS, check_field, numbers, ranks
from clew.graph.model import I64, ExecutionGraph
from clew.graph.nodes import Measure, QueryError

OF_NUMBERS = ("sum", "mean", "quantile")
MEASURES = ("min", "max", "distinct", *OF_NUMBERS)
_HOW = (
    'a measure is "count" or one of ("sum", FIELD), ("min", FIELD), ("max", FIELD), ("mean", FIELD), ("distinct", FIELD), '
    '("quantile", FIELD, 0.95)'
)


MANY = 20_000
"""So many groups are sooner sorted all at once than one by one."""


def check_measure(name: str, measure: Any) -> Measure:
    """Raises `QueryError` for what is no measure."""
    parts = (measure,) if isinstance(measure, str) else tuple(measure) if isinstance(measure, tuple | list) else ()
    if parts == ("count",):
        return ("count",)
    if len(parts) < 2 or parts[0] not in MEASURES or not isinstance(parts[1], str):
        raise QueryError(f"{name}={measure!r}: {_HOW}")
    what, field = parts[0], check_field(parts[1])
    if what in OF_NUMBERS and not FIELDS[field].is_number:
        raise QueryError(f'{name}={measure!r}: {field} is a text, which has no {what}; write ("distinct", {field!r})')
    if what != "quantile":
        if len(parts) > 2:
            raise QueryError(f'{name}={measure!r}: only a quantile has a third part; write ("{what}", {field!r})')
        return what, field
    if len(parts) != 3 or not isinstance(parts[2], int | float) or not 0 <= parts[2] <= 1:
        raise QueryError(f'{name}={measure!r}: say which quantile, from 0 to 1: ("quantile", {field!r}, 0.95)')
    return what, field, float(parts[2])


def grouped(graph: ExecutionGraph, rows: I64, by: Sequence[str], measures: Sequence[tuple[str, Measure]]) -> Table:
    """One row per group: the fields that it is grouped by, then the measures. Without a field all events are one group."""
    group, columns, groups = _groups(graph, rows, by)
    for name, measure in measures:
        columns[name] = _measure(graph, rows, group, groups, measure)
    return Table(columns)


def _groups(graph: ExecutionGraph, rows: I64, by: Sequence[str]) -> tuple[I64, dict[str, Column], int]:
    """Per event its group, the groups' fields, and how many there are."""
    group, columns = np.zeros(len(rows), np.int64), dict[str, Column]()
    if not by:
        return group, columns, 1
    found = [ranks(graph, rows, name) for name in by]
    for rank, values in found:
        # Densely numbered after each field, so that the product of fields never overflows.
        group = _dense(group * max(len(values), 1) + rank)
    groups = int(group.max()) + 1 if len(group) else 0
    example = np.zeros(groups, np.int64)
    example[group] = np.arange(len(rows))
    for name, (rank, values) in zip(by, found, strict=True):
        columns[name] = Column(rank[example], values)
    return group, columns, groups


def _measure(graph: ExecutionGraph, rows: I64, group: I64, groups: int, measure: Measure) -> Column:
    if measure == ("count",):
        return Column(np.bincount(group, minlength=groups))
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
    order = _order(group, groups)
    data, group = data[order], group[order]
    first = np.searchsorted(group, np.arange(groups + 1))
    size = np.diff(first)
    some = size > 0
    if what == "distinct":
        return Column(_distinct(data, group, first))
    result = _of_parts(what, measure, data, group, first=first[:-1][some], size=size[some])
    if values is None and some.all():
        return Column(result)
    told: list[Any] = [values[code] for code in result.tolist()] if values is not None else result.tolist()
    # The place after the last stands for "none has it".
    place = np.where(some, np.cumsum(some) - 1, len(told))
    return Column(place, [*told, None])


def _dense(numbers: I64) -> I64:
    """Numbers from 0 in the same order, none left out."""
    span = int(numbers.max(initial=0)) + 1
    if span > len(numbers):
        return np.unique(numbers, return_inverse=True)[1].reshape(-1)
    return (np.cumsum(np.bincount(numbers, minlength=span) > 0) - 1)[numbers]


def _order(group: I64, groups: int) -> I64:
    """Sorts by group; small numbers are sorted by their digits."""
    return np.argsort(group.astype(np.uint16) if groups <= 1 << 16 else group, kind="stable")


def _ascending(data: Any, group: I64, first: I64) -> Any:
    """The data, sorted within each group."""
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


def _of_parts(what: str, measure: Measure, data: Any, group: I64, *, first: I64, size: I64) -> Any:
    """Of the groups that are not empty; `data` is group by group."""
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
    wide = largest * len(data) >= 2**63  # Python's own numbers where 64 bits might not do
    sums = np.add.reduceat(data.astype(object) if wide else data, first)
    if what == "sum":
        return sums
    return np.array([math.nan if not n else s / n for s, n in zip(sums.tolist(), size.tolist(), strict=True)])
