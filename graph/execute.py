"""Answers query plans on the local machine, and spells them.

Invariant: cheap conditions are tried first, so that a text is decoded only for events that every other condition admits.
"""

from __future__ import annotations

import difflib
import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clew.graph.model import LEVEL_NAMES, Event, ExecutionGraph
from clew.graph.ops.aggregate import AggregateGraph, aggregate
from clew.graph.ops.critical_path import CriticalPath, critical_path
from clew.graph.ops.diff import Diff, diff
from clew.graph.ops.find import LEVEL_NUMBERS
from clew.graph.ops.slice import Slice, slice_events
from clew.graph.query import (
    Aggregate,
    Chosen,
    Columns,
    Compare,
    Condition,
    Cut,
    EventNode,
    Events,
    Limit,
    Node,
    OrderBy,
    PathNode,
    QueryError,
    Requests,
    Where,
    run_of,
)
from clew.records.event import Kind

if TYPE_CHECKING:
    import networkx
    import pyarrow

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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


def _numbers(column: str) -> Field:
    def codes(graph: ExecutionGraph, rows: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
        return _distinct(getattr(graph, column)[rows])

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
_OF_TEXT = frozenset({"contains", "startswith", "endswith", "matches"})
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
    if comparison in _OF_TEXT and field in _NUMERIC:
        raise QueryError(f"{name}: {field} is a number; compare it with eq, ne, lt, le, gt, ge or in")
    if field == "level":
        numbers = tuple(_level_number(item, name) for item in values) if comparison not in _OF_TEXT else values
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


def execute(node: Node) -> Any:
    """The answer of a plan: a `Slice`, an `AggregateGraph`, a `CriticalPath`, a `Diff`, rows, or event numbers."""
    match node:
        case Cut():
            return _slice(node)
        case Aggregate():
            return _aggregate(node)
        case PathNode():
            return _path(node)
        case Compare():
            return _compare(node)
        case Columns():
            return _columns(node)
        case _:
            return execute_events(node)


def execute_events(node: EventNode) -> I64:
    """The events that a plan chooses, in its order: that of time, unless it says otherwise."""
    graph = run_of(node).graph
    match node:
        case Events():
            return _by_time(graph, np.arange(len(graph), dtype=np.int64))
        case Chosen():
            return np.array(node.events, np.int64)
        case Requests():
            return _requests(node)
        case Where():
            return _where(graph, execute_events(node.source), node.conditions)
        case OrderBy():
            rows = execute_events(node.source)
            values, codes = FIELDS[node.field].codes(graph, rows)
            rank = np.empty(len(values), np.int64)
            rank[sorted(range(len(values)), key=values.__getitem__)] = _dense(sorted(values))
            order = rank[codes] if len(rows) else np.zeros(0, np.int64)
            return rows[np.argsort(-order if node.descending else order, kind="stable")]
        case Limit():
            return execute_events(node.source)[: node.count]
        case Cut():
            return _by_time(graph, _slice(node).events())


def _dense(ascending: list[Any]) -> list[int]:
    """Equal values get one number."""
    numbers: list[int] = []
    for place, value in enumerate(ascending):
        same = place > 0 and value == ascending[place - 1]
        numbers.append(numbers[-1] + (not same) if numbers else 0)
    return numbers


def _by_time(graph: ExecutionGraph, rows: I64) -> I64:
    return rows[np.argsort(graph.ts[rows], kind="stable")]


def _requests(node: Requests) -> I64:
    graph = node.run.graph
    rows = graph.rows_of([Kind.REQUEST])
    if node.name is not None:
        names = graph.extensions.channel[graph.ext[rows]] if len(rows) else np.zeros(0, np.uint32)
        chosen = rows[names == graph.channel_ids.get(node.name, -1)]
        if not len(chosen):
            known = sorted({graph.channel(row) for row in rows.tolist()})
            what = f"its requests: {', '.join(known)}" if known else "mark one in the spec: request FUNCTION as NAME"
            raise QueryError(f"run {node.run.info.name} has no request named {node.name!r}; {what}")
        rows = chosen
    return _by_time(graph, rows)


def _where(graph: ExecutionGraph, rows: I64, conditions: tuple[Condition, ...]) -> I64:
    costs = {name: field.cost for name, field in FIELDS.items()} | {"": 10}
    for field, comparison, wanted in sorted(conditions, key=lambda condition: costs[condition[0]]):
        if comparison == "call":
            rows = rows[np.array([bool(wanted(graph.event(row))) for row in rows.tolist()], bool)]
            continue
        if field == "level" and comparison not in _OF_TEXT:
            rows = rows[graph.kind[rows] == Kind.LOG]
            values, codes = _distinct(graph.extensions.key[graph.ext[rows]].astype(np.int64))
        else:
            values, codes = FIELDS[field].codes(graph, rows)
        holds = np.array([COMPARISONS[comparison](value, wanted) for value in values], bool)
        rows = rows[holds[codes]] if len(holds) else rows[:0]
    return rows


def _distinct(numbers: I64) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    values, codes = np.unique(numbers, return_inverse=True)
    return values.tolist(), codes


def _slice(node: Cut) -> Slice:
    graph = run_of(node).graph
    roots = execute_events(node.source)
    if isinstance(_origin(node.source), Requests):
        roots = _request_roots(graph, roots, node.direction)
    return slice_events(
        graph,
        roots,
        node.direction,
        max_hops=node.max_hops,
        max_network_hops=node.max_network_hops,
        edge_filter=node.edge_filter,
    )


def _origin(node: EventNode) -> EventNode:
    while isinstance(node, Where | OrderBy | Limit):
        node = node.source
    return node


def _request_roots(graph: ExecutionGraph, rows: I64, direction: str) -> I64:
    """Where a request's flow begins (forward: with its call's ENTER) or ends (backward: with its call's end)."""
    region = graph.region[rows]
    if direction == "forward":
        return np.where(graph.regions.opener[region] == rows, graph.regions.first[region], rows)
    ends = []
    for row in rows.tolist():
        call = graph.call_of(row)
        end = graph.exit_of(call) if call >= 0 else -1
        ends.append(end if end >= 0 else int(graph.regions.last[graph.region[row]]))
    return np.array(ends, np.int64)


def _aggregate(node: Aggregate) -> AggregateGraph:
    of = _slice(node.source) if isinstance(node.source, Cut) else node.source.run.graph
    return aggregate(of, node.level, node.reduce)


def _path(node: PathNode) -> CriticalPath:
    return critical_path(run_of(node).graph, _slice(node.source), node.level)


def _compare(node: Compare) -> Diff:
    return diff(_aggregate(node.before), _aggregate(node.after))


def _columns(node: Columns) -> list[Any]:
    graph, rows = run_of(node).graph, execute_events(node.source)
    columns = []
    for name in node.names:
        values, codes = FIELDS[name].codes(graph, rows)
        columns.append([values[code] for code in codes.tolist()])
    row_type = namedtuple("Row", node.names)  # type: ignore[misc]  # the names are the query's
    return [row_type(*row) for row in zip(*columns, strict=True)]


# Spelling


def spell(node: Node) -> str:
    """The plan as it would be written."""
    match node:
        case Events():
            return f"{node.run!r}.events"
        case Chosen():
            return f"{node.run!r}.event({', '.join(map(str, node.events))})"
        case Requests():
            return f"{node.run!r}.requests" + (f".named({node.name!r})" if node.name is not None else "")
        case Compare():
            return f"{spell(node.before)}.diff({spell(node.after)})"
        case Aggregate(source=Events(run=run)):
            return f"{run!r}.{_step(node)}"
        case _:
            return f"{spell(node.source)}.{_step(node)}"


def explain(node: Node, indent: str = "") -> str:
    """A step per line, the last one first, what it works on below it."""
    match node:
        case Events() | Chosen() | Requests():
            return indent + spell(node)
        case Compare():
            below = [explain(side, indent + "   ") for side in (node.before, node.after)]
            return "\n".join([f"{indent}diff", *below])
        case _:
            return f"{indent}{_step(node)}\n{explain(node.source, indent + '   ')}"


def _step(node: Node) -> str:
    match node:
        case Where():
            return f"where({', '.join(_condition(*condition) for condition in node.conditions)})"
        case OrderBy():
            return f"order_by({('-' if node.descending else '') + node.field!r})"
        case Limit():
            return f"limit({node.count})"
        case Cut():
            options = [repr(node.direction)]
            for name in ("max_hops", "max_network_hops"):
                if getattr(node, name) is not None:
                    options.append(f"{name}={getattr(node, name)}")
            if node.edge_filter is not None:
                options.append("edge_filter=…")
            return f"slice({', '.join(options)})"
        case Columns():
            return f"select({', '.join(map(repr, node.names))})"
        case Aggregate():
            return f"aggregate({_name(node.level)}{', reduce=' + _name(node.reduce) if node.reduce else ''})"
        case PathNode():
            return f"critical_path({_name(node.level)})"
        case _:
            return type(node).__name__.lower()


def _condition(field: str, comparison: str, value: Any) -> str:
    if comparison == "call":
        return _name(value)
    if field == "level" and comparison not in _OF_TEXT:
        value = tuple(map(_level, value)) if comparison == "in" else _level(value)
    return f"{field}{'' if comparison == 'eq' else '__' + comparison}={value!r}"


def _level(number: int) -> str | int:
    return LEVEL_NAMES.get(number, number)


def _name(value: Any) -> str:
    return getattr(value, "__name__", "…") if callable(value) else repr(value)


# Other forms


def to_arrow(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pyarrow.Table:
    """A table with a column per name."""
    import pyarrow

    return pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def to_networkx(graph: AggregateGraph) -> networkx.MultiDiGraph:
    """Nodes by number, edges by kind and channel. Raises `QueryError` where networkx is not installed."""
    try:
        import networkx
    except ImportError:
        raise QueryError("networkx is not installed; install it, or use .nodes and .edges") from None
    result = networkx.MultiDiGraph()
    for node in graph.nodes:
        result.add_node(node.id, **asdict(node))
    for edge in graph.edges:
        result.add_edge(edge.source, edge.target, **asdict(edge))
    return result
