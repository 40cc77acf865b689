"""The fields of events that queries choose, sort and select by, and what they can be compared with."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model import I64, LEVEL_NAMES, Event, ExecutionGraph
from clew.graph.nodes import Condition, QueryError
from clew.graph.ops.find import LEVEL_NUMBERS
from clew.records.event import Kind


@dataclass(frozen=True)
class Field:
    """A field of events: its values for some rows are `values[codes]`."""

    codes: Callable[[ExecutionGraph, I64], tuple[Sequence[Any], npt.NDArray[Any]]]
    cost: int
    """Conditions on cheaper fields are tried first."""


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


def _numbers(column: str) -> Field:
    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        return distinct(getattr(graph, column)[rows])

    return Field(codes, 2)


def _each(value: Callable[[Event], Any], cost: int) -> Field:
    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        return [value(graph.event(row)) for row in rows.tolist()], np.arange(len(rows))

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
    "id": Field(lambda _, rows: (rows.tolist(), np.arange(len(rows))), 2),
    "ts": _numbers("ts"),
    "kind": Field(_kinds, 0),
    "level": Field(_levels, 1),
    "text": _each(lambda event: event.text, 9),
    "channel": Field(_channels, 1),
    "key": _each(lambda event: event.key, 8),
    "function": _by_site(lambda site: site.label),
    "module": _by_site(lambda site: site.module),
    "component": _by_site(lambda site: site.component),
    "file": _by_place(lambda site: site.file),
    "line": _by_place(lambda site: site.line),
    "process": _by_strand(lambda graph, strand: graph.processes[strand.process].name),
    "strand": _by_strand(lambda _, strand: strand.name),
    "thread": _by_strand(lambda _, strand: strand.thread_name),
}
"""What events can be chosen, sorted and selected by."""

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: bool(value == wanted),
    "ne": lambda value, wanted: bool(value != wanted),
    "lt": lambda value, wanted: bool(value < wanted),
    "le": lambda value, wanted: bool(value <= wanted),
    "gt": lambda value, wanted: bool(value > wanted),
    "ge": lambda value, wanted: bool(value >= wanted),
    "in": lambda value, wanted: value in wanted,
    "contains": lambda value, wanted: wanted in value,
    "startswith": lambda value, wanted: bool(value.startswith(wanted)),
    "endswith": lambda value, wanted: bool(value.endswith(wanted)),
    "matches": lambda value, wanted: re.search(wanted, value) is not None,
}
OF_TEXT = frozenset({"contains", "startswith", "endswith", "matches"})
_NUMERIC = frozenset({"id", "ts", "line"})


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
    if comparison == "matches":
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
