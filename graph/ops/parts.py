"""Slices that one bound per region does not describe: both ways from the roots, and those that stop at some events.

To stop, regions are cut at those events: nothing flows from one part of a region into the next, and no edge is followed behind
a stop. Invariant: the answer is that of the event-by-event traversal; the events asked to stop at are in it, when reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import I64, EdgeFilter, Mask, slice_events
from clew.graph.structure import Structure

Direction = Literal["forward", "backward", "both"]


@dataclass(frozen=True, eq=False)
class Part:
    """Some events of a graph, with the edges among them that may be followed."""

    graph: ExecutionGraph
    direction: Direction
    roots: tuple[int, ...]
    rows: I64
    """Ascending."""
    allowed: Mask | None = None
    """The edges that may be followed; None: all but those of mutual exclusion."""

    @property
    def count(self) -> int:
        return len(self.rows)

    def events(self) -> I64:
        return self.rows

    @cached_property
    def _inside(self) -> Mask:
        inside = np.zeros(len(self.graph), bool)
        inside[self.rows] = True
        return inside

    def holds(self, events: I64) -> Mask:
        """Which of these events are in it."""
        held: Mask = self._inside[events]
        return held

    def contains(self, event: int) -> bool:
        return bool(self._inside[event])

    @cached_property
    def _edges(self) -> I64:
        graph = self.graph
        held = self._inside[graph.edge_src] & self._inside[graph.edge_dst]
        return np.flatnonzero(held & _followed(graph, self.allowed))

    def edges(self) -> I64:
        """The numbers of the edges that may be followed and whose both ends are in it, ascending."""
        return self._edges


def _followed(graph: ExecutionGraph, allowed: Mask | None) -> Mask:
    if allowed is not None:
        return allowed
    excludes = graph.edge_excludes
    return np.ones(len(graph.edge_src), bool) if excludes is None else ~excludes


def slice_parts(
    graph: ExecutionGraph,
    roots: I64,
    direction: Direction,
    *,
    stops: I64 | None = None,
    max_hops: int | None = None,
    max_network_hops: int | None = None,
    edge_filter: EdgeFilter | None = None,
) -> Part:
    """What followed from the roots, what led to them, or both; behind the events `stops` nothing is followed, which holds for
    roots, too. The rest is as for `slice_events`."""
    ways: tuple[Literal["forward", "backward"], ...] = ("forward", "backward") if direction == "both" else (direction,)
    found = []
    for way in ways:
        plain = slice_events(
            graph, roots, way, max_hops=max_hops, max_network_hops=max_network_hops, edge_filter=edge_filter
        )
        edge_filter = plain.allowed  # a function is asked once
        if stops is None or not len(stops) or not plain.roots:
            found.append(plain.events())
            continue
        structure = _cut(graph, stops, forward=way == "forward")
        stop = np.zeros(len(graph), bool)
        stop[stops] = True
        open_ends = ~stop[graph.edge_src if way == "forward" else graph.edge_dst]
        lows, highs, _ = structure.slice(
            np.array(plain.roots, np.int64),
            forward=way == "forward",
            allowed=_followed(graph, plain.allowed) & open_ends,
            crosses=None if max_network_hops is None else graph.edge_crosses,
            max_hops=max_hops,
            max_network_hops=max_network_hops,
        )
        found.append(np.frombuffer(structure.plane.rows(lows, highs), np.int64))
    rows = found[0] if len(found) == 1 else np.union1d(*found)
    return Part(graph, direction, plain.roots, rows, plain.allowed)


def _cut(graph: ExecutionGraph, stops: I64, *, forward: bool) -> Structure:
    """The graph's structure with every region cut after each stop (backward: before it)."""
    stop = np.zeros(len(graph), bool)
    stop[stops] = True
    with_stops = np.zeros(len(graph.regions), bool)
    with_stops[graph.region[stops]] = True
    rows = np.flatnonzero(with_stops[graph.region])
    rows = rows[np.argsort(graph.region[rows], kind="stable")]
    begins = np.ones(len(rows), bool)
    begins[1:] = graph.region[rows[1:]] != graph.region[rows[:-1]]
    begins[1:] |= stop[rows[:-1]] if forward else stop[rows[1:]]
    region = graph.region.copy()
    numbers = len(graph.regions) + np.cumsum(begins) - 1
    region[rows] = numbers
    return Structure.of(
        region=region,
        regions=int(numbers[-1]) + 1,
        src=graph.edge_src,
        dst=graph.edge_dst,
        excluded=graph.edge_excludes,
        ts=graph.ts,
    )
