"""How far each function and line is from a value, along the values that it was made from: near ones are likelier to be wrong.

An operation in the same call is nearer than one in another call. What only selected a value, or decided that it was computed,
is further away.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from clew.graph.values.flow import Flow, NodeKind

_WITHIN, _ACROSS, _CONTROL, _POINTER = 0.2, 1.0, 2.0, 3.0
_FURTHEST = 30.0
_MOST_NODES = 200_000
"""The nearest nodes, which a second look of millions of instructions exceeds."""


@dataclass(frozen=True)
class SliceDistances:
    """The lowest distance of what the value depends on; what it does not depend on is missing."""

    functions: dict[tuple[str, str], float] = field(default_factory=dict)
    """By file and qualified name."""
    lines: dict[tuple[str, int], float] = field(default_factory=dict)
    """By file and line."""
    nearest: dict[tuple[str, int], int] = field(default_factory=dict)
    """The nearest node of each line."""
    towards: dict[int, int] = field(default_factory=dict)
    """For each node, the next one on the shortest way to the value; 0 for what is asked about itself."""

    def way_to(self, file: str, line: int) -> tuple[int, ...]:
        """Return the nodes from the value back to the nearest one of a line; none if the value does not depend on the line."""
        found = []
        node = self.nearest.get((file, line), 0)
        while node:
            found.append(node)
            node = self.towards[node]
        return tuple(reversed(found))


def slice_distances(flow: Flow, criterion: Iterable[int]) -> SliceDistances:
    """Return the distances from the nodes that are asked about."""
    found = SliceDistances()
    waiting = [(0.0, node, 0) for node in criterion]
    heapq.heapify(waiting)
    seen = found.towards
    while waiting and len(seen) < _MOST_NODES:
        distance, node, nearer = heapq.heappop(waiting)
        if distance > _FURTHEST:
            break
        if node in seen:
            continue
        seen[node] = nearer
        call = flow.call[node]
        if call >= 0:
            code = flow.code_of(node)
            found.functions.setdefault((code.file, code.name), distance)
            line = code.file, flow.line_of(node)
            found.lines.setdefault(line, distance)
            found.nearest.setdefault(line, node)
        for one in flow.data[node]:
            if one not in seen:
                heapq.heappush(waiting, (distance + (_WITHIN if flow.call[one] == call else _ACROSS), one, node))
        for one in flow.pointers[node]:
            if one not in seen:
                heapq.heappush(waiting, (distance + _POINTER, one, node))
        control = flow.control[node]
        if control and control not in seen:
            weight = _ACROSS if flow.kind[control] == NodeKind.CALLED else _CONTROL
            heapq.heappush(waiting, (distance + weight, control, node))
    return found
