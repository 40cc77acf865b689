"""The fields of events that queries choose, sort and select by, and what they can be compared with."""

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
    """A field of events: its values for some rows are `values[codes]`."""

    codes: Callable[[ExecutionGraph, I64], tuple[Sequence[Any], npt.NDArray[Any]]]
    cost: int
    """Conditions on cheaper fields are tried first."""
    numbers: Callable[[ExecutionGraph, I64], npt.NDArray[Any]] | None = None
    """The values themselves, of a field that has one per event and not one per place or strand."""
    is_number: bool = False
    has: Callable[[ExecutionGraph, I64], npt.NDArray[np.bool_]] | None = None
    """Which events have such a field at all; None: all."""


def _by_site(value: Callable[[Any], Any]) -> Field:
    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        call = graph.call[rows].astype(np.int64)
        return [value(site) for site in graph.sites], graph.site[np.where(call >= 0, call, rows)]

    return Field(codes, 1)


def _by_place(value: Callable[[Any], Any]) -> Field:
    """Of the event's own site, else of the function around it."""

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
    values, codes = np.unique(numbers, return_inverse=True)
    return values.tolist(), codes


def _numbers(
    values: Callable[[ExecutionGraph, I64], npt.NDArray[Any]],
    has: Callable[[ExecutionGraph, I64], npt.NDArray[np.bool_]] | None = None,
) -> Field:
    return Field(lambda graph, rows: distinct(values(graph, rows)), 2, values, True, has)


def _of_call(column: str) -> Field:
    """Of the call that the event opens; 0 for an event that opens none."""

    def values(graph: ExecutionGraph, rows: I64) -> npt.NDArray[Any]:
        at, opens = _calls(graph, rows)
        numbers = np.zeros(len(rows), np.int64)
        numbers[opens] = getattr(graph.calls, column)[at[opens]]
        return numbers

    return _numbers(values, lambda graph, rows: _calls(graph, rows)[1])


def _calls(graph: ExecutionGraph, rows: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Per event the row of its call in `graph.calls`, and whether it opens one."""
    enter = graph.calls.enter
    if not len(enter):
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    at = np.minimum(np.searchsorted(enter, rows), len(enter) - 1)
    return at, enter[at] == rows


def _each(value: Callable[[Event], str], cost: int) -> Field:
    """What only a record with an extension can have; the others have ""."""

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
"""What events can be chosen, sorted, grouped and selected by. Times are in nanoseconds: `ts` since the run's start, the last
three of the call that an event opens."""


def column(graph: ExecutionGraph, rows: I64, name: str) -> Column:
    """A field of some events."""
    field = FIELDS[name]
    if field.numbers is not None:
        return Column(field.numbers(graph, rows))
    values, codes = field.codes(graph, rows)
    return Column(codes, values)


def numbers(graph: ExecutionGraph, rows: I64, name: str) -> I64:
    """A field that is a number, of some events."""
    field = FIELDS[name]
    if field.numbers is not None:
        return np.asarray(field.numbers(graph, rows), np.int64)
    values, codes = field.codes(graph, rows)
    return np.array(values, np.int64)[codes] if len(values) else np.zeros(0, np.int64)


def ranked(values: Sequence[Any]) -> tuple[I64, Sequence[Any]]:
    """Per value its place among the values, which ascend and are all different."""
    ascending = sorted(set(values))
    place = {value: number for number, value in enumerate(ascending)}
    return np.array([place[value] for value in values], np.int64), ascending


def ranks(graph: ExecutionGraph, rows: I64, name: str) -> tuple[I64, Sequence[Any]]:
    """Per event the place of its value among the field's values, which ascend and are all different."""
    values, codes = FIELDS[name].codes(graph, rows)
    rank, ascending = ranked(values)
    return rank[codes] if len(rank) else np.zeros(len(rows), np.int64), ascending


_FEW = 500
"""Texts of so many events are sooner read one by one than searched all together."""


def holding(graph: ExecutionGraph, rows: I64, name: str, comparison: str, wanted: Any) -> I64:
    """Those of some events for which a condition holds."""
    field = FIELDS[name]
    if field.has is not None:
        rows = rows[field.has(graph, rows)]
    if name == "level" and comparison not in OF_TEXT:
        rows = rows[graph.kind[rows] == Kind.LOG]
        return rows[passing(graph.extensions.key[graph.ext[rows]].astype(np.int64), comparison, wanted)]
    if field.numbers is not None:
        return rows[passing(field.numbers(graph, rows), comparison, wanted)]
    if name == "text" and comparison in TESTS and len(rows) > _FEW:
        return rows[texts_pass(graph, rows, comparison, wanted)]
    values, codes = field.codes(graph, rows)
    holds = passing(values, comparison, wanted)
    return rows[holds[codes]] if len(holds) else rows[:0]


def passing(values: npt.NDArray[Any] | Sequence[Any], comparison: str, wanted: Any) -> npt.NDArray[np.bool_]:
    """For which of some values a comparison holds; those of an array are compared all at once."""
    if not isinstance(values, np.ndarray):
        return np.array([COMPARISONS[comparison](value, wanted) for value in values], bool)
    if comparison == "in":
        holds = np.zeros(len(values), bool)
        for one in wanted:
            holds |= values == one
        return holds
    mask: npt.NDArray[np.bool_] = OF_ARRAYS[comparison](values, wanted)
    return mask


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: bool(value == wanted),
    "ne": lambda value, wanted: bool(value != wanted),
    "lt": lambda value, wanted: bool(value < wanted),
    "le": lambda value, wanted: bool(value <= wanted),
    "gt": lambda value, wanted: bool(value > wanted),
    "ge": lambda value, wanted: bool(value >= wanted),
    "in": lambda value, wanted: value in wanted,
    **{name: test for name, test in TESTS.items() if name != "eq"},
}
OF_TEXT = frozenset(TESTS) - {"eq"}
OF_ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_NUMERIC = frozenset(name for name, field in FIELDS.items() if field.is_number)


def check_field(name: str) -> str:
    """Raises `QueryError` for a name that is no field."""
    if name not in FIELDS:
        near = difflib.get_close_matches(name, FIELDS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise QueryError(f"events have no field {name!r}; {hint}fields: {', '.join(FIELDS)}")
    return name


def check_condition(name: str, value: Any) -> Condition:
    """FIELD or FIELD__COMPARISON and a value. Raises `QueryError` for what can never hold."""
    field, _, comparison = name.partition("__")
    check_field(field)
    comparison = comparison or "eq"
    if comparison not in COMPARISONS:
        raise QueryError(f"{name}: there is no comparison {comparison!r}; there are {', '.join(COMPARISONS)}")
    values = tuple(value) if comparison == "in" and not isinstance(value, str) else (value,)
    if comparison == "in" and isinstance(value, str):
        raise QueryError(f"{name}={value!r}: give a list of values, or write {field}__contains")
    if comparison in OF_TEXT and field in _NUMERIC:
        raise QueryError(f"{name}: {field} is a number; compare it with eq, ne, lt, le, gt, ge or in")
    if field == "level":
        numbers = tuple(_level_number(item, name) for item in values) if comparison not in OF_TEXT else values
        return field, comparison, numbers if comparison == "in" else numbers[0]
    wanted: type | tuple[type, ...] = (int, float) if field in _NUMERIC else str
    for item in values:
        if not isinstance(item, wanted):
            kind = "a number" if field in _NUMERIC else "a str"
            raise QueryError(f"{name}={value!r}: {field} is {kind}, and never equal to that")
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
    raise QueryError(f"{name}={value!r}: there is no such level; levels: {', '.join(LEVEL_NUMBERS)}, or a number")
