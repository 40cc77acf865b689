"""Define the fields of events that queries filter, sort, group and select by, and the comparisons of conditions."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.errors import QueryError
from clew.graph.model.event import LEVEL_NAMES, Event
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.model.text_templates import TESTS
from clew.graph.ops.find_events import LEVEL_NUMBERS, texts_pass
from clew.graph.render.table import Column
from clew.query.plan import Condition
from clew.records.format.event import Kind


@dataclass(frozen=True)
class Field:
    """A field of events. `codes` returns `values` and one code per row; the values of the rows are `values[codes]`."""

    codes: Callable[[ExecutionGraph, I64], tuple[Sequence[Any], npt.NDArray[Any]]]
    cost: int
    """The relative cost of reading the field; conditions on cheaper fields are tried first."""
    numbers: Callable[[ExecutionGraph, I64], npt.NDArray[Any]] | None = None
    """The function that returns the values directly, for a numeric field with one value per event."""
    is_number: bool = False
    has: Callable[[ExecutionGraph, I64], npt.NDArray[np.bool_]] | None = None
    """The function that returns which events have the field; None means all events."""


def _by_site(value: Callable[[Any], Any]) -> Field:
    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        call = graph.call[rows].astype(np.int64)
        return [value(site) for site in graph.sites], graph.site[np.where(call >= 0, call, rows)]

    return Field(codes, 1)


def _by_place(value: Callable[[Any], Any]) -> Field:
    """Return a field of the event's own site, or of the enclosing function's site if the event has none."""

    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        call = graph.call[rows].astype(np.int64)
        own = graph.site[rows]
        return [value(site) for site in graph.sites], np.where(own, own, graph.site[np.where(call >= 0, call, rows)])

    return Field(codes, 1)


def _by_strand(value: Callable[[ExecutionGraph, Any], Any]) -> Field:
    return Field(lambda graph, rows: ([value(graph, strand) for strand in graph.strands], graph.strand[rows]), 1)


def _kinds(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    names = {int(kind): kind.name.lower() for kind in Kind}
    return [names.get(number, f"kind {number}") for number in range(256)], graph.kind[rows]


def distinct(numbers: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    """Return the distinct numbers, and the code of each number among them."""
    values, codes = np.unique(numbers, return_inverse=True)
    return values.tolist(), codes


def _numbers(
    values: Callable[[ExecutionGraph, I64], npt.NDArray[Any]],
    has: Callable[[ExecutionGraph, I64], npt.NDArray[np.bool_]] | None = None,
) -> Field:
    return Field(lambda graph, rows: distinct(values(graph, rows)), 2, values, True, has)


def _of_call(column: str) -> Field:
    """Return a field of the call that the event opens. Events that open no call have the number 0 and lack the field."""

    def values(graph: ExecutionGraph, rows: I64) -> npt.NDArray[Any]:
        at, opens = _calls(graph, rows)
        numbers = np.zeros(len(rows), np.int64)
        numbers[opens] = getattr(graph.calls, column)[at[opens]]
        return numbers

    return _numbers(values, lambda graph, rows: _calls(graph, rows)[1])


def _calls(graph: ExecutionGraph, rows: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Return, per event, a row of `graph.calls`, and whether the event opens that call; otherwise the row is arbitrary."""
    enter = graph.calls.enter
    if not len(enter):
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    at = np.minimum(np.searchsorted(enter, rows), len(enter) - 1)
    return at, enter[at] == rows


def _each(value: Callable[[Event], str], cost: int) -> Field:
    """Return a field that only events with an extension have; it is "" for other events."""

    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        has = np.flatnonzero(graph.ext[rows] >= 0)
        places = np.zeros(len(rows), np.int64)
        places[has] = np.arange(1, len(has) + 1)
        return ["", *(value(graph.event(row)) for row in rows[has].tolist())], places

    return Field(codes, cost)


def _channels(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    ext = graph.ext[rows]
    if not len(graph.extensions.channel):
        return graph.strings, np.zeros(len(rows), np.int64)
    return graph.strings, np.where(ext >= 0, graph.extensions.channel[np.maximum(ext, 0)], 0)


def _levels(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    logs = graph.kind[rows] == Kind.LOG
    numbers = np.zeros(len(rows), np.int64)
    numbers[logs] = graph.extensions.key[graph.ext[rows[logs]]].astype(np.int64)
    known, inverse = np.unique(np.where(logs, numbers, -1), return_inverse=True)
    return ["" if number < 0 else LEVEL_NAMES.get(number, f"Level {number}") for number in known.tolist()], inverse


FIELDS: dict[str, Field] = {
    "id": _numbers(lambda graph, rows: graph.ids(rows)),
    "ts": _numbers(lambda graph, rows: graph.ts[rows]),
    "kind": Field(_kinds, 0),
    "level": Field(_levels, 1),
    "text": _each(lambda event: event.text, 9),
    "channel": Field(_channels, 1),
    "key": _each(lambda event: event.key, 8),
    "function": _by_site(lambda site: site.label),
    "module": _by_site(lambda site: site.module),
    "component": _by_site(lambda site: site.component),
    "file": _by_place(lambda site: site.file),
    "line": replace(_by_place(lambda site: site.line), is_number=True),
    "process": _by_strand(lambda graph, strand: graph.processes[strand.process].name),
    "strand": _by_strand(lambda _, strand: strand.name),
    "thread": _by_strand(lambda _, strand: strand.thread_name),
    "total_ns": _of_call("total_ns"),
    "self_ns": _of_call("self_ns"),
    "waiting_ns": _of_call("waiting_ns"),
}
"""The fields of events by name. Times are in nanoseconds: `ts` since the start of the run; the last three are durations of the
call that the event opens."""


def column(graph: ExecutionGraph, rows: I64, name: str) -> Column:
    """Return a field of the given events as a column."""
    field = FIELDS[name]
    if field.numbers is not None:
        return Column(field.numbers(graph, rows))
    values, codes = field.codes(graph, rows)
    return Column(codes, values)


def numbers(graph: ExecutionGraph, rows: I64, name: str) -> I64:
    """Return the values of a numeric field for the given events."""
    field = FIELDS[name]
    if field.numbers is not None:
        return np.asarray(field.numbers(graph, rows), np.int64)
    values, codes = field.codes(graph, rows)
    return np.array(values, np.int64)[codes] if len(values) else np.zeros(0, np.int64)


def ranked(values: Sequence[Any]) -> tuple[I64, Sequence[Any]]:
    """Return the rank of each value among the distinct values, and these values in ascending order."""
    ascending = sorted(set(values))
    place = {value: number for number, value in enumerate(ascending)}
    return np.array([place[value] for value in values], np.int64), ascending


def ranks(graph: ExecutionGraph, rows: I64, name: str) -> tuple[I64, Sequence[Any]]:
    """Return the rank of each event's value among the distinct values of the field, and these values in ascending order."""
    values, codes = FIELDS[name].codes(graph, rows)
    rank, ascending = ranked(values)
    return rank[codes] if len(rank) else np.zeros(len(rows), np.int64), ascending


_FEW = 500
"""The largest number of events whose texts are read one by one; for more events, a search of the columns is faster."""


def filter_rows(graph: ExecutionGraph, rows: I64, name: str, comparison: str, operand: Any) -> I64:
    """Return the given events for which a condition holds."""
    field = FIELDS[name]
    if field.has is not None:
        rows = rows[field.has(graph, rows)]
    if name == "level" and comparison not in OF_TEXT:
        rows = rows[graph.kind[rows] == Kind.LOG]
        return rows[comparison_mask(graph.extensions.key[graph.ext[rows]].astype(np.int64), comparison, operand)]
    if field.numbers is not None:
        return rows[comparison_mask(field.numbers(graph, rows), comparison, operand)]
    if name == "text" and comparison in TESTS and len(rows) > _FEW:
        return rows[texts_pass(graph, rows, comparison, operand)]
    values, codes = field.codes(graph, rows)
    holds = comparison_mask(values, comparison, operand)
    return rows[holds[codes]] if len(holds) else rows[:0]


def comparison_mask(values: npt.NDArray[Any] | Sequence[Any], comparison: str, operand: Any) -> npt.NDArray[np.bool_]:
    """Return, per value, whether the comparison with the operand holds. An array is compared in one operation."""
    if not isinstance(values, np.ndarray):
        return np.array([COMPARISONS[comparison](value, operand) for value in values], bool)
    if comparison == "in":
        holds = np.zeros(len(values), bool)
        for one in operand:
            holds |= values == one
        return holds
    mask: npt.NDArray[np.bool_] = OF_ARRAYS[comparison](values, operand)
    return mask


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, operand: bool(value == operand),
    "ne": lambda value, operand: bool(value != operand),
    "lt": lambda value, operand: bool(value < operand),
    "le": lambda value, operand: bool(value <= operand),
    "gt": lambda value, operand: bool(value > operand),
    "ge": lambda value, operand: bool(value >= operand),
    "in": lambda value, operand: value in operand,
    **{name: test for name, test in TESTS.items() if name != "eq"},
}
OF_TEXT = frozenset(TESTS) - {"eq"}
OF_ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_NUMERIC = frozenset(name for name, field in FIELDS.items() if field.is_number)


def check_field(name: str) -> str:
    """Return the name. Raises `QueryError` if it is not the name of a field."""
    if name not in FIELDS:
        near = difflib.get_close_matches(name, FIELDS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise QueryError(f"events have no field {name!r}; {hint}fields: {', '.join(FIELDS)}")
    return name


def check_condition(name: str, value: Any) -> Condition:
    """Parse a condition: FIELD or FIELD__COMPARISON, and a value. Raises `QueryError` for a condition that can never hold."""
    field, _, comparison = name.partition("__")
    check_field(field)
    comparison = comparison or "eq"
    if comparison not in COMPARISONS:
        raise QueryError(f"{name}: unknown comparison {comparison!r}; comparisons: {', '.join(COMPARISONS)}")
    values = tuple(value) if comparison == "in" and not isinstance(value, str) else (value,)
    if comparison == "in" and isinstance(value, str):
        raise QueryError(f"{name}={value!r}: give a list of values, or write {field}__contains")
    if comparison in OF_TEXT and field in _NUMERIC:
        raise QueryError(f"{name}: {field} is a number; compare it with eq, ne, lt, le, gt, ge or in")
    if field == "level":
        numbers = tuple(_level_number(item, name) for item in values) if comparison not in OF_TEXT else values
        return field, comparison, numbers if comparison == "in" else numbers[0]
    expected: type | tuple[type, ...] = (int, float) if field in _NUMERIC else str
    for item in values:
        if not isinstance(item, expected):
            kind = "a number" if field in _NUMERIC else "a str"
            raise QueryError(f"{name}={value!r}: {field} is {kind}, so no event can match")
    if comparison in {"matches", "imatches"}:
        try:
            re.compile(value)
        except re.error as error:
            raise QueryError(f"{name}={value!r}: not a regular expression ({error})") from None
    return field, comparison, values if comparison == "in" else value


def _level_number(value: Any, name: str) -> int:
    if isinstance(value, str) and value.upper() in LEVEL_NUMBERS:
        return LEVEL_NUMBERS[value.upper()]
    if isinstance(value, int):
        return value
    raise QueryError(f"{name}={value!r}: unknown level; levels: {', '.join(LEVEL_NUMBERS)}, or a number")
