"""What the slice view draws, and from what, whatever its level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.graph.ops.critical_path import CriticalPath
from clew.graph.ops.walk import Step
from clew.server.protocol import GraphEdge, GraphNode


@dataclass(frozen=True)
class Focus:
    """What a drawing leaves out last."""

    roots: Sequence[int]
    """The events that the view starts from, newest first."""
    steps: Sequence[Step]
    """The chain of causes of the newest."""
    path: CriticalPath


@dataclass(frozen=True)
class Drawing:
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    hidden: int
    """Nodes that were left out."""
    node_of: Callable[[int], str]
    """The id of the node that an event is in, "" for none; it may be one that was left out."""
