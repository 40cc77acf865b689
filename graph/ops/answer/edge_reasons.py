"""Tell what kind of reason a recorded edge is, and which edges are none."""

from __future__ import annotations

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.causes.why import effects
from clew.graph.ops.diagnoses.finding import Reason
from clew.records.format.event import FLAG_BACK, EdgeKind, Kind

_OUTCOMES = frozenset({"asyncio.future", "thread.join", "executor.result", "process.end"})
_STARTS = frozenset({"thread.start", "asyncio.handle", "executor.submit", "process.start", "asyncio.future", "context"})
"""The channels of edges that only start or wake a strand."""


def reason_of(graph: ExecutionGraph, edge: int) -> Reason:
    kind = graph.edge_kind[edge]
    if kind == EdgeKind.SYNC:
        return Reason.RESOURCE
    if kind == EdgeKind.STATE or is_outcome(graph, edge):
        return Reason.DATA
    return Reason.SCHEDULING if _channel_of(graph, edge) in _STARTS else Reason.DATA


def is_outcome(graph: ExecutionGraph, edge: int) -> bool:
    """Return whether an edge leads from the end of a thread, task or process to a strand that waited for it."""
    return _channel_of(graph, edge) in _OUTCOMES and graph.at("kind", int(graph.edge_dst[edge])) == Kind.JOIN


def is_no_cause(graph: ExecutionGraph, edge: int) -> bool:
    """Return whether an edge leads from a pooled object's last user, or from the registration of a callback.

    What comes in later, and not the registration, is the cause of a callback that runs again and again, such as a
    connection's reader.
    """
    source = int(graph.edge_src[edge])
    row = graph.at("ext", source)
    if row >= 0 and int(graph.extensions.flags[row]) & FLAG_BACK:
        return True
    if graph.at("kind", int(graph.edge_dst[edge])) != Kind.SCOPE_BEGIN or _channel_of(graph, edge) != "asyncio.handle":
        return False
    return sum(graph.at("kind", effect.event) == Kind.SCOPE_BEGIN for effect in effects(graph, source)) > 1


def _channel_of(graph: ExecutionGraph, edge: int) -> str:
    return graph.strings[int(graph.edge_channel[edge])]
