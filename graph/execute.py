"""Answers query plans on the local machine.

Invariant: cheap conditions are tried first, so that a text is decoded only for events that every other condition admits.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.fields import COMPARISONS, FIELDS, OF_TEXT, distinct
from clew.graph.model import I64, ExecutionGraph
from clew.graph.nodes import (
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
from clew.graph.ops.aggregate import AggregateGraph, aggregate
from clew.graph.ops.critical_path import CriticalPath, critical_path
from clew.graph.ops.diff import Diff, diff
from clew.graph.ops.slice import Slice, slice_events
from clew.records.event import Kind

if TYPE_CHECKING:
    import networkx
    import pyarrow


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
        if field == "level" and comparison not in OF_TEXT:
            rows = rows[graph.kind[rows] == Kind.LOG]
            values, codes = distinct(graph.extensions.key[graph.ext[rows]].astype(np.int64))
        else:
            values, codes = FIELDS[field].codes(graph, rows)
        holds = np.array([COMPARISONS[comparison](value, wanted) for value in values], bool)
        rows = rows[holds[codes]] if len(holds) else rows[:0]
    return rows


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
