"""Find the call in which a strand spent most of a time."""

from __future__ import annotations

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind

SHARE = 0.5
MOST_ROWS = 200_000


def main_call(graph: ExecutionGraph, begin: int, stop: int, ns: int) -> tuple[int, int]:
    """Return the first and the last row of the innermost call that took at least half of a time of `ns`; -1 for none.

    The rows from `begin` to before `stop` are of one strand. A coroutine's part counts from its RESUME to its SUSPEND.
    """
    stack: list[int] = []
    best, depth = (-1, -1), -1
    for row in range(begin, min(stop, begin + MOST_ROWS)):
        kind = graph.at("kind", row)
        if kind in (Kind.ENTER, Kind.RESUME):
            stack.append(row)
        elif kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND) and stack:
            opened = stack.pop()
            if graph.at("ts", row) - graph.at("ts", opened) >= SHARE * ns and len(stack) > depth:
                best, depth = (opened, row), len(stack)
    return best
