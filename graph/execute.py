"""Answers query plans on the local machine.

Invariant: cheap conditions are tried first, so that a text is decoded only for events that every other condition admits.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from clew.graph.columns import Table
from clew.graph.display import in_order
from clew.graph.fields import FIELDS, column, holding, numbers, ranks
from clew.graph.gaps import gaps
from clew.graph.grouping import grouped
from clew.graph.model import I64, ExecutionGraph, edge_kind_name
from clew.graph.nodes import (
    Aggregate,
    Beside,
    Chosen,
    Columns,
    Compare,
    Condition,
    Cut,
    EventNode,
    Events,
    Gaps,
    Grouped,
    Kinds,
    Limit,
    Machines,
    Node,
    OrderBy,
    PathNode,
    QueryError,
    Requests,
    Strands,
    Where,
    run_of,
)
from clew.graph.ops.aggregate import AggregateGraph, aggregate
from clew.graph.ops.categories import Category, categories
from clew.graph.ops.critical_path import CriticalPath, critical_path
from clew.graph.ops.diff import Diff, diff
from clew.graph.ops.flows import flows_of
from clew.graph.ops.neighbours import neighbour_table
from clew.graph.ops.parts import Part, slice_parts
from clew.graph.ops.slice import EdgeFilter, Mask, Slice, slice_events
from clew.graph.whole import choose
from clew.records.event import EdgeKind, Kind

if TYPE_CHECKING:
    import networkx


NO_PATH = 'a critical path goes one way and to the end: write .slice("backward") or .slice("forward"), without until=…'


def execute(node: Node) -> Any:
    """The answer of a plan: a `Slice` or `Part`, an `AggregateGraph`, a `CriticalPath`, a `Diff`, a `Table`, categories, gaps,
    machines, or events' numbers. A run in parts has an engine of its own, whose answers have the same attributes."""
    engine = run_of(node).engine
    if engine is not None:
        return engine.execute(node)
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
        case Grouped():
            return _grouped(node)
        case Beside():
            return neighbour_table(run_of(node).graph, execute_events(node.source))
        case Kinds():
            return _kinds(node)
        case Gaps():
            return gaps(node.run.graph)
        case Machines():
            return list(node.run.graph.machines)
        case Strands():
            return strands_named(node.run.graph, node.name)
        case _:
            return execute_events(node)


def strands_named(graph: ExecutionGraph, part: str) -> list[int]:
    """The threads and tasks in whose names something is, in their order. Raises `QueryError` where there is none."""
    names = [strand_name(graph, strand.index) for strand in graph.strands]
    found = [index for index, name in enumerate(names) if part.lower() in name.lower()]
    if part and not found:
        near = difflib.get_close_matches(part, dict.fromkeys(names), 3, 0.3) or list(dict.fromkeys(names))[:3]
        hint = f"some of {len(names):,} are {', '.join(map(repr, near))}" if near else "the run has none at all"
        raise QueryError(f"no thread or task has {part!r} in its name; {hint}")
    return found


def strand_name(graph: ExecutionGraph, strand: int) -> str:
    """`process / thread or task`."""
    of = graph.strands[strand]
    return f"{graph.processes[of.process].name} / {of.name}"


def execute_events(node: EventNode) -> I64:
    """The events that a plan chooses, in its order: that of time, unless it says otherwise."""
    engine = run_of(node).engine
    if engine is not None:
        return engine.events(node)
    rows, by_time = _chosen(node)
    return _by_time(run_of(node).graph, rows) if by_time else rows


def count_events(node: EventNode) -> int:
    """How many events a plan chooses."""
    engine = run_of(node).engine
    return len(_chosen(node)[0] if engine is None else engine.events(node))


def _chosen(node: EventNode) -> tuple[I64, bool]:
    """The events of a plan, and whether they are still to be put in the order of time: few are sorted sooner than many."""
    graph = run_of(node).graph
    match node:
        case Events():
            return np.arange(len(graph), dtype=np.int64), True
        case Chosen():
            return np.array(node.events, np.int64), False
        case Requests():
            return _requests(node), True
        case Where(source=Events()):
            rows, rest = choose(graph, node.conditions)
            return matching(graph, rows, tuple(rest)), True
        case Where():
            rows, by_time = _chosen(node.source)
            return matching(graph, rows, node.conditions), by_time
        case OrderBy():
            return _ordered(graph, node, None), False
        case Limit(source=OrderBy() as order):
            return _ordered(graph, order, node.count), False
        case Limit():
            rows, by_time = _chosen(node.source)
            return (_first(rows, graph.ts[rows], node.count) if by_time else rows[: node.count]), False
        case Cut():
            return _slice(node).events(), True


def _ordered(graph: ExecutionGraph, node: OrderBy, count: int | None) -> I64:
    rows, by_time = _chosen(node.source)
    keys = numbers(graph, rows, node.field) if FIELDS[node.field].is_number else ranks(graph, rows, node.field)[0]
    if node.descending:
        keys = -keys
    if count is not None:
        among = _smallest(keys, count)
        rows, keys = rows[among], keys[among]
    if by_time:
        order = np.argsort(graph.ts[rows], kind="stable")
        rows, keys = rows[order], keys[order]
    return rows[np.argsort(keys, kind="stable")][:count]


def _first(rows: I64, keys: I64, count: int) -> I64:
    """The rows with the smallest keys, ascending, equal ones as they were."""
    among = _smallest(keys, count)
    return rows[among[np.argsort(keys[among], kind="stable")[:count]]]


SAMPLE = 1 << 16
"""Of so many keys it is told which others are too large to look at again."""


def _smallest(keys: I64, count: int) -> I64:
    """The places of the `count` smallest keys and of all that equal the largest of them, ascending."""
    if count >= len(keys):
        return np.arange(len(keys), dtype=np.int64)
    if not count:
        return np.zeros(0, np.int64)
    sample = keys[:: max(1, len(keys) // SAMPLE)]
    if count < len(sample) < len(keys):
        # So many of the sample are no larger than this, so the smallest are not either.
        among = np.flatnonzero(keys <= np.partition(sample, count - 1)[count - 1])
        return among[_within(keys[among], count)]
    return _within(keys, count)


def _within(keys: I64, count: int) -> I64:
    return np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])


def _by_time(graph: ExecutionGraph, rows: I64) -> I64:
    return rows[np.argsort(graph.ts[rows], kind="stable")]


def _requests(node: Requests) -> I64:
    graph = node.run.graph
    rows = requests_named(graph, node.name)
    if node.name is not None and not len(rows):
        refuse_requests(node, {graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()})
    return rows


def requests_named(graph: ExecutionGraph, name: str | None) -> I64:
    """The requests of a name, or all, ascending."""
    rows = graph.rows_of([Kind.REQUEST])
    if name is None or not len(rows):
        return rows
    named: I64 = rows[graph.extensions.channel[graph.ext[rows]] == graph.channel_ids.get(name, -1)]
    return named


def refuse_requests(node: Requests, known: Collection[str]) -> NoReturn:
    """Says which names there are, as there is none of the one that was asked for."""
    what = f"its requests: {', '.join(sorted(known))}" if known else "mark one in the spec: request FUNCTION as NAME"
    raise QueryError(f"run {node.run.info.name} has no request named {node.name!r}; {what}")


def matching(graph: ExecutionGraph, rows: I64, conditions: tuple[Condition, ...]) -> I64:
    """Those of some events for which all conditions hold."""
    costs = {name: field.cost for name, field in FIELDS.items()} | {"": 10}
    for field, comparison, wanted in sorted(conditions, key=lambda condition: costs[condition[0]]):
        if comparison == "call":
            rows = rows[np.array([bool(wanted(graph.event(row))) for row in rows.tolist()], bool)]
            continue
        rows = holding(graph, rows, field, comparison, wanted)
    return rows


def _slice(node: Cut) -> Slice | Part:
    graph = run_of(node).graph
    roots, _ = _chosen(node.source)
    of_requests = isinstance(origin(node.source), Requests)
    edge_filter: EdgeFilter | None = node.edge_filter
    if node.edge_kinds is not None:
        edge_filter = _of_kinds(graph, node.edge_kinds, edge_filter)
    if node.direction != "both" and node.until is None:
        return slice_events(
            graph,
            request_roots(graph, roots, node.direction) if of_requests else roots,
            node.direction,
            max_hops=node.max_hops,
            max_network_hops=node.max_network_hops,
            edge_filter=edge_filter,
        )
    return slice_parts(
        graph,
        request_roots(graph, roots, node.direction) if of_requests else roots,
        node.direction,
        stops=_stops(graph, node),
        max_hops=node.max_hops,
        max_network_hops=node.max_network_hops,
        edge_filter=edge_filter,
    )


def _of_kinds(graph: ExecutionGraph, kinds: tuple[str, ...], edge_filter: EdgeFilter | None) -> Mask:
    """The edges of some kinds that a filter, if any, lets through; without one those of mutual exclusion are not followed."""
    mask: Mask = np.isin(graph.edge_kind, [int(EdgeKind[kind.upper()]) for kind in kinds])
    if callable(edge_filter):
        among = np.flatnonzero(mask)
        mask[among] = np.fromiter(map(edge_filter, among.tolist()), bool, len(among))
        return mask
    if edge_filter is None:
        if graph.edge_excludes is not None:
            mask &= ~graph.edge_excludes
        return mask
    given = np.asarray(edge_filter, bool)
    if given.shape != mask.shape:
        raise QueryError(f"an edge filter has one truth value per edge, {mask.size}; this one has {given.size}")
    mask &= given
    return mask


def _stops(graph: ExecutionGraph, node: Cut) -> I64 | None:
    until = node.until
    if until is None:
        return None
    if not callable(until):
        return np.unique(_chosen(until)[0])
    return np.flatnonzero(np.fromiter((bool(until(graph.event(row))) for row in range(len(graph))), bool, len(graph)))


def origin(node: EventNode) -> EventNode:
    while isinstance(node, Where | OrderBy | Limit):
        node = node.source
    return node


def request_roots(graph: ExecutionGraph, rows: I64, direction: str) -> I64:
    """Where a request's flow begins (forward and both ways: with its call's ENTER) or ends (backward: with its call's end)."""
    region = graph.region[rows]
    if direction != "backward":
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
    cut = _slice(node.source)
    assert isinstance(cut, Slice)  # no other has a path: the question is refused
    return critical_path(run_of(node).graph, cut, node.level)


def _kinds(node: Kinds) -> list[Category]:
    return categories(flows_of(run_of(node), execute_events(node.source), node.level))


def _compare(node: Compare) -> Diff:
    return diff(_aggregate(node.before), _aggregate(node.after))


def _columns(node: Columns) -> Table:
    graph, rows = run_of(node).graph, execute_events(node.source)
    return Table({name: column(graph, rows, name) for name in node.names})


def _grouped(node: Grouped) -> Table:
    rows, _ = _chosen(node.source)
    table = grouped(run_of(node).graph, rows, node.by, node.measures)
    for name, descending in reversed(node.order):
        values = table.columns[name].to_list()
        known = [place for place, value in enumerate(values) if value is not None]
        known.sort(key=values.__getitem__, reverse=descending)
        # What a group has no value of comes last, whichever way it goes.
        table = table.take([*known, *(place for place, value in enumerate(values) if value is None)])
    return table if node.count is None else table.head(node.count)


def size(node: Node) -> str:
    """How much a plan gives, in words; answers it."""
    match node:
        case Cut():
            cut = _slice(node)
            return f"{_many(cut.count, 'event')}, {_many(len(cut.edges()), 'edge')}"
        case Aggregate():
            condensed = _aggregate(node)
            return f"{_many(len(condensed), 'node')}, {_many(len(condensed.columns.source), 'edge')}"
        case PathNode():
            return _many(len(_path(node).segments), "segment")
        case Compare():
            return _many(len(_compare(node).rows), "label")
        case Columns() | Grouped() | Beside():
            return _many(len(execute(node)), "row")
        case Kinds():
            return _many(len(_kinds(node)), "category").replace("categorys", "categories")
        case Gaps() | Machines() | Strands():
            return _many(len(execute(node)), type(node).__name__.lower().removesuffix("s"))
        case _:
            return _many(len(_chosen(node)[0]), "event")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise QueryError("networkx is not installed; install it, or iterate over the answer") from None
    return networkx


def to_networkx(graph: AggregateGraph) -> networkx.MultiDiGraph:
    """Nodes by number, edges by kind and channel. Raises `QueryError` where networkx is not installed."""
    result = _networkx().MultiDiGraph()
    for node in graph.nodes:
        result.add_node(node.id, **asdict(node))
    for edge in graph.edges:
        result.add_edge(edge.source, edge.target, **asdict(edge))
    return result


def path_to_networkx(path: CriticalPath) -> networkx.MultiDiGraph:
    """A node per segment, in the order of time."""
    result = _networkx().MultiDiGraph()
    for place, segment in enumerate(path.segments):
        result.add_node(place, **asdict(segment))
        if place:
            result.add_edge(place - 1, place, edge=segment.edge)
    return result


def slice_to_networkx(cut: Slice | Part) -> networkx.MultiDiGraph:
    """A node per event, by its number; the edges among them, and "next" where a region goes on."""
    graph, rows = cut.graph, cut.events()
    result = _networkx().MultiDiGraph()
    names = ("ts", "kind", "level", "text", "channel", "function", "process", "strand")
    columns = [column(graph, rows, name).to_list() for name in names]
    for row, *values in zip(rows.tolist(), *columns, strict=True):
        result.add_node(row, **dict(zip(names, values, strict=True)))
    for before, after in in_order(graph, rows.tolist()):
        result.add_edge(before, after, kind="next", channel="", edge=-1)
    for edge in cut.edges().tolist():
        kind, channel = edge_kind_name(int(graph.edge_kind[edge])), graph.strings[int(graph.edge_channel[edge])]
        result.add_edge(int(graph.edge_src[edge]), int(graph.edge_dst[edge]), kind=kind, channel=channel, edge=edge)
    return result
