"""The answer of the call tree alone: the functions that ran before an event, those nearest in the tree first."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind


def nearest_functions(graph: ExecutionGraph, event: int) -> list[str]:
    """Return the functions with calls before an event, without its own, by their distance from it in the tree of calls.

    A strand's first calls hang on the call that started the strand. Of calls at the same distance the latest is first.
    """
    time = graph.ts
    neighbours: dict[int, set[int]] = defaultdict(set)
    for call in map(int, np.flatnonzero((graph.kind == Kind.ENTER) & (time < time[event]))):
        parent = _parent(graph, call)
        neighbours[parent].add(call)
        neighbours[call].add(parent)
    begin = graph.enclosing_call(event)
    order, waiting, seen = list[int](), deque([begin]), {begin}
    while waiting:
        call = waiting.popleft()
        order.append(call)
        others = sorted(neighbours[call] - seen, key=lambda other: int(time[other]) if other >= 0 else 0, reverse=True)
        seen.update(others)
        waiting += others
    return list(dict.fromkeys(graph.function(call) for call in order if call not in (-1, begin)))


def _parent(graph: ExecutionGraph, call: int) -> int:
    """Return the call around a call, else the one that started its strand; -1 for none."""
    around = graph.enclosing_call(call)
    if around >= 0:
        return around
    strand = graph.strand[call]
    into = np.flatnonzero((graph.strand[graph.edge_dst] == strand) & (graph.ts[graph.edge_dst] <= graph.ts[call]))
    sources = graph.edge_src[into][graph.strand[graph.edge_src[into]] != strand]
    return graph.enclosing_call(int(sources[np.argmin(graph.ts[sources])])) if len(sources) else -1
