"""Convert answers to networkx graphs; networkx is loaded only on use."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clew.graph.errors import QueryError
from clew.graph.model.graph import edge_kind_name
from clew.graph.ops.aggregation.aggregate import AggregateGraph
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.slicing.two_way import Part
from clew.graph.ops.timing.critical_path import CriticalPath
from clew.graph.render.display import in_order
from clew.query.fields import column

if TYPE_CHECKING:
    import networkx


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise QueryError("networkx is not installed; install it, or iterate over the answer") from None
    return networkx


def to_networkx(graph: AggregateGraph) -> networkx.MultiDiGraph:
    """Build a graph: nodes by number, edges by kind and channel. Raises `QueryError` if networkx is not installed."""
    result = _networkx().MultiDiGraph()
    for node in graph.nodes:
        result.add_node(node.id, **asdict(node))
    for edge in graph.edges:
        result.add_edge(edge.source, edge.target, **asdict(edge))
    return result


def path_to_networkx(path: CriticalPath) -> networkx.MultiDiGraph:
    """Return a graph with a node per segment, in the order of time."""
    result = _networkx().MultiDiGraph()
    for place, segment in enumerate(path.segments):
        result.add_node(place, **asdict(segment))
        if place:
            result.add_edge(place - 1, place, edge=segment.edge)
    return result


def slice_to_networkx(cut: Slice | Part) -> networkx.MultiDiGraph:
    """Return a graph with a node per event, by number, the edges between them, and "next" where a region continues."""
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
