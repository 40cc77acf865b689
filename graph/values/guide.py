"""Guide the choice of steps along ways from a value back to likely lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from clew.graph.values.flow import Flow, NodeKind

_PARTS = frozenset({NodeKind.EXPRESSION, NodeKind.CONSTANT, NodeKind.CALLED})
"""Kinds of nodes that are parts of a statement, not steps of their own."""


class Guide:
    """The ways, and which nodes of them may become steps. A way is a list of nodes from the value back to one of the line."""

    def __init__(self, flow: Flow, ways: Sequence[Sequence[int]]) -> None:
        self.targets: dict[int, int] = {}
        """The number of the way that ends at a node."""
        self._ways: dict[int, int] = {}
        """The first way of each node."""
        self._next: dict[int, dict[int, None]] = {}
        for number, way in enumerate(ways):
            stops = [*way[:1], *(node for node in way[1:-1] if flow.kind[node] not in _PARTS), *way[1:][-1:]]
            if _is_told_by_argument(flow, stops):
                stops.pop()
            self.targets.setdefault(stops[-1], number)
            for node, deeper in pairwise(stops):
                self._next.setdefault(node, {})[deeper] = None
            for node in stops:
                self._ways.setdefault(node, number)

    def next(self, node: int) -> Iterable[int]:
        """Return the nodes that follow a node on the ways."""
        return self._next.get(node, ())

    def cost(self, node: int, cost: float) -> float:
        """Return a cost below zero for a node of a way, lower for a likelier line; for any other node the cost that it has."""
        way = self._ways.get(node, -1)
        return cost if way < 0 else -1.0 / (1 + way)


def _is_told_by_argument(flow: Flow, stops: Sequence[int]) -> bool:
    """Return whether a way ends at a call behind a parameter of that call, whose step tells the call."""
    if len(stops) < 2:
        return False
    parameter, called = stops[-2:]
    return flow.kind[parameter] == NodeKind.PARAMETER and flow.calls[flow.call[parameter]].node == called
