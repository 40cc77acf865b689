"""Show answers on a screen: tables for a terminal and a notebook, graphs as images.

Invariant: omitted rows and nodes are counted in the output.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.model.graph import ExecutionGraph, edge_kind_name
from clew.graph.ops.aggregation.aggregate import AggregateGraph, aggregate
from clew.graph.ops.diff import duration
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.slicing.two_way import Part
from clew.graph.ops.timing.critical_path import CriticalPath
from clew.graph.render.svg import DRAWN, Box, Line, draw
from clew.graph.render.table import Table

if TYPE_CHECKING:
    import rich.console

ROWS = 20
"""The number of rows shown of a table."""


def rich_table(title: str, table: Table, total: int) -> rich.console.Group:
    """Return a renderable table; `table` is the head of one with `total` rows."""
    import rich.console
    import rich.markup
    import rich.table
    import rich.text

    shown = rich.table.Table(box=None, pad_edge=False)
    for name in table.names:
        numbers = table.columns[name].values is None
        shown.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(rich.markup.escape(_cell(value)) for value in row))
    more = _more(table, total)
    return rich.console.Group(rich.text.Text(title, "dim"), shown, *([rich.text.Text(more, "dim")] if more else []))


def html_table(title: str, table: Table, total: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in table.rows
    )
    more = _more(table, total)
    below = f"<p>{escape(more)}</p>" if more else ""
    return f"<div><code>{escape(title)}</code><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _more(table: Table, total: int) -> str | None:
    return f"{total:,} rows; the first {len(table)} are shown" if total > len(table) else None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return str(value)


def aggregate_svg(condensed: AggregateGraph) -> str:
    """Draw nodes with their event counts and work times."""
    boxes = [
        Box(node.label, f"{node.events:,} event{'s' * (node.events != 1)} · {duration(node.self_ns)}", node.events)
        for node in condensed.nodes
    ]
    return draw(boxes, [Line(edge.source, edge.target, edge.kind) for edge in condensed.edges])


def slice_svg(cut: Slice | Part) -> str:
    """Draw the events of a slice, as long as they are few."""
    graph, rows = cut.graph, cut.events().tolist()
    if len(rows) > DRAWN:
        return aggregate_svg(aggregate(cut, "function").by_label())
    number = {row: place for place, row in enumerate(rows)}
    lines = [Line(number[a], number[b], "next") for a, b in in_order(graph, rows)]
    lines += [
        Line(
            number[int(graph.edge_src[edge])],
            number[int(graph.edge_dst[edge])],
            edge_kind_name(int(graph.edge_kind[edge])),
        )
        for edge in cut.edges().tolist()
    ]
    boxes = []
    for row in rows:
        event = graph.event(row)
        boxes.append(Box(f"{event.kind} {event.text or event.function}".strip(), f"{event.process}/{event.strand}", 1))
    return draw(boxes, lines)


def in_order(graph: ExecutionGraph, rows: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of adjacent events in a region among some events, given ascending."""
    latest: dict[int, int] = {}
    pairs = []
    positions = dict(zip(rows, graph.structure.locate(np.array(rows, np.int64))[1].tolist(), strict=True))
    for row in rows:
        region = int(graph.region[row])
        before = latest.get(region)
        if before is not None and positions[row] == positions[before] + 1:
            pairs.append((before, row))
        latest[region] = row
    return pairs


def path_svg(path: CriticalPath) -> str:
    """Draw the segments of a path one after the other."""
    boxes = [
        Box(part.label, f"{duration(part.self_ns)} + {duration(part.wait_ns)} waiting", part.end - part.start)
        for part in path.segments
    ]
    kinds = ["use" if part.edge >= 0 else "next" for part in path.segments]
    return draw(boxes, [Line(place - 1, place, kinds[place]) for place in range(1, len(boxes))])
