"""Find the path of a slice with the largest cost, where functions tell what each event and each step costs.

A step leads from an event to the next one of its scope, or along an edge. A slice has very many paths, but the costliest
one to an event is the costliest one to a cause of it, and the step from there. Steps against time, which clocks that
disagree make, are not taken. Invariant: no other path of the slice between the same events costs more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from clew.graph.model.event import Event
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction, labels_of
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.destination import destination
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]

VertexCost = Callable[[Event], float]
EdgeCost = Callable[[Event, Event], float]
"""The cost of the step from an event to a later one."""


@dataclass(frozen=True)
class CostSegment:
    """A part of a path with one label, on one strand."""

    label: str
    cost: float
    """The costs of its events, and of the steps to them."""
    start: int
    """The time of the first event, in ns since the run's start."""
    end: int
    strand: int
    first_event: int
    last_event: int


@dataclass(frozen=True)
class CostPath:
    level: str
    segments: list[CostSegment]
    """The segments in time order."""
    total: float
    events: tuple[int, ...]
    limits: tuple[str, ...] = ()
    """A sentence about the choice among several requests."""


def cost_path(
    graph: ExecutionGraph,
    slice_: Slice,
    level: str | LabelFunction = "function",
    *,
    vertex_cost: VertexCost | None = None,
    edge_cost: EdgeCost | None = None,
    until: int | None = None,
) -> CostPath:
    """Return the costliest path of a slice to the event where `destination` ends it; without a function, a part is free.

    In a slice of effects the path begins at the root; in a slice of causes it may begin at any event without a cause. A
    function is called once for each event, or step, up to the end. Raise `ClewError` for a cost that is no number, and if only
    steps against time lead to the end.
    """
    to = destination(graph, slice_, until)
    labels = labels_of(graph, level)
    if to.end < 0:
        return CostPath(labels.level, [], 0.0, (), to.limits)
    rows = to.slice.events()
    rows = rows[graph.ts[rows] <= graph.ts[to.end]]
    rows = rows[np.lexsort((rows, graph.ts[rows]))]
    place = {row: number for number, row in enumerate(rows.tolist())}
    into = _steps(graph, to.slice, rows, place)
    events = [graph.event(row) for row in rows.tolist()]
    best, costs, came = [-inf] * len(rows), [0.0] * len(rows), [-1] * len(rows)
    for number, event in enumerate(events):
        if not into[number] and (not to.slice.forward or event.id in to.slice.roots):
            best[number] = 0.0
        for source in into[number]:
            cost = _cost(edge_cost(events[source], event), event) if edge_cost else 0.0
            if best[source] + cost > best[number]:
                best[number], costs[number], came[number] = best[source] + cost, cost, source
        if vertex_cost and best[number] > -inf:
            costs[number] += (own := _cost(vertex_cost(event), event))
            best[number] += own
    if best[place[to.end]] == -inf:
        raise ClewError(f"every way to event {to.end} goes back in time, because clocks disagree; no path ends there")
    chain, number = [place[to.end]], came[place[to.end]]
    while number >= 0:
        chain.append(number)
        number = came[number]
    chain.reverse()
    path = rows[chain]
    return CostPath(
        labels.level,
        _segments(graph, [labels.name(code) for code in labels.of(path).tolist()], path, [costs[at] for at in chain]),
        best[place[to.end]],
        tuple(path.tolist()),
        to.limits,
    )


def _steps(graph: ExecutionGraph, slice_: Slice, rows: I64, place: dict[int, int]) -> list[list[int]]:
    """Return for each event the places of those from which a step leads to it; they are all earlier ones."""
    into: list[list[int]] = [[] for _ in rows]
    by_region = rows[np.lexsort((rows, graph.region[rows]))]
    same = graph.region[by_region[:-1]] == graph.region[by_region[1:]]
    edges = slice_.edges()
    sources = np.concatenate((by_region[:-1][same], graph.edge_src[edges]))
    targets = np.concatenate((by_region[1:][same], graph.edge_dst[edges]))
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        low, high = place.get(source, -1), place.get(target, -1)
        if 0 <= low < high:
            into[high].append(low)
    return into


def _cost(value: object, event: Event) -> float:
    try:
        cost = float(value)  # type: ignore[arg-type]  # the next lines tell what is no number
    except (TypeError, ValueError):
        cost = inf
    if not isfinite(cost):
        raise ClewError(f"the cost at event {event.id} is {value!r}; a cost function returns a finite number")
    return cost


def _segments(graph: ExecutionGraph, labels: list[str], path: I64, costs: list[float]) -> list[CostSegment]:
    strand = graph.strand[path].tolist()
    keys = list(zip(labels, strand, strict=True))
    starts = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    return [
        CostSegment(
            labels[low],
            sum(costs[low:high]),
            graph.at("ts", int(path[low])),
            graph.at("ts", int(path[high - 1])),
            strand[low],
            int(path[low]),
            int(path[high - 1]),
        )
        for low, high in zip(starts, [*starts[1:], len(keys)], strict=True)
    ]
