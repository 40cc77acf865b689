"""The model of the slice view's drawings at all levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.graph.ops.causes.why import Step
from clew.graph.ops.timing.critical_path import CriticalPath
from clew.server.protocol.views.slice import GraphEdge, GraphNode


@dataclass(frozen=True)
class Focus:
    """The parts that a drawing omits last."""

    roots: Sequence[int]
    """The events that the view starts from, newest first."""
    steps: Sequence[Step]
    """The chain of causes of the newest event."""
    path: CriticalPath


@dataclass(frozen=True)
class Drawing:
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    hidden: int
    """Number of omitted nodes."""
    node_of: Callable[[int], str]
    """Returns the id of the node for an event, "" for none; the node may be an omitted one."""
