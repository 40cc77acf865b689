"""Find the events one edge away from an event: recorded edges, and the previous and next events in its region.

Invariant: the relation is symmetric. If A is a cause of B, B is an effect of A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model.event import Event
from clew.graph.model.graph import I64, ExecutionGraph, edge_kind_name
from clew.graph.render.table import Column, Table

NEXT = "next"
"""The kind of a neighbour that is only adjacent in its region, without a recorded edge."""
ROLES = ("cause", "effect")
KINDS = ("", "use", "sync", "state", NEXT)


@dataclass(frozen=True)
class Neighbour:
    """An event one edge away."""

    event: Event
    role: str
    """ "cause" if the edge leads from this event, "effect" if it leads to it."""
    kind: str
    """ "use", "sync", "state", or "next" for the order in a region."""
    channel: str
    edge: int
    """The edge's number, -1 for the order in a region."""


def neighbours(graph: ExecutionGraph, event: int) -> list[Neighbour]:
    """Return the neighbours of an event: causes first, each side sorted by edge, region neighbours last."""
    columns = _found(graph, np.array([event], np.int64))
    return [
        Neighbour(
            Event(graph, other),
            ROLES[role],
            NEXT if edge < 0 else edge_kind_name(int(graph.edge_kind[edge])),
            "" if edge < 0 else graph.strings[int(graph.edge_channel[edge])],
            edge,
        )
        for _, other, role, edge in zip(*(column.tolist() for column in columns), strict=True)
    ]


def neighbour_table(graph: ExecutionGraph, events: I64) -> Table:
    """Return a table with one row per event and neighbour, in the order of the events."""
    place, other, role, edge = _found(graph, events)
    # The order in a region has edge -1, so index -1 selects the appended last element.
    kind = np.append(graph.edge_kind.astype(np.int64), len(KINDS) - 1)[edge]
    channel = np.append(graph.edge_channel.astype(np.int64), len(graph.strings))[edge]
    return Table(
        {
            "event": Column(events[place]),
            "role": Column(role, ROLES),
            "kind": Column(kind, KINDS),
            "channel": Column(channel, [*graph.strings, ""]),
            "edge": Column(edge),
            "neighbour": Column(other),
        }
    )


def _found(graph: ExecutionGraph, events: I64) -> tuple[I64, I64, I64, I64]:
    """Return columns: the event's index in `events`, the neighbour, its role and the edge."""
    order = np.argsort(events, kind="stable")
    ascending = events[order]
    parts = []
    for role, near, far in ((0, graph.edge_dst, graph.edge_src), (1, graph.edge_src, graph.edge_dst)):
        begin, end = np.searchsorted(ascending, near, "left"), np.searchsorted(ascending, near, "right")
        edges = np.repeat(np.arange(len(near)), end - begin)
        # An event that occurs twice in `events` gets its neighbours twice.
        nth = np.arange(len(edges)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
        parts.append((order[begin[edges] + nth], far[edges], np.full(len(edges), role), edges))
        place, rows = _adjacent(graph, events, 1 if role else -1)
        parts.append((place, rows, np.full(len(place), role), np.full(len(place), -1)))
    place, other, roles, edge = (np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
    sort = np.lexsort((np.where(edge < 0, len(graph.edge_src), edge), roles, place))
    return place[sort], other[sort], roles[sort], edge[sort]


def _adjacent(graph: ExecutionGraph, events: I64, step: int) -> tuple[I64, I64]:
    """Return the indices of the events that have a previous (-1) or next (1) event in their region, and those
    neighbours' rows.
    """
    structure = graph.structure
    regions, positions = structure.locate(events)
    adjacent = positions.astype(np.int64) + step
    start = structure.arrays["start"].astype(np.int64)
    place = np.flatnonzero((adjacent >= start[regions]) & (adjacent < start[regions.astype(np.int64) + 1]))
    return place, structure.rows_of(regions[place], adjacent[place].astype(np.uint32))
