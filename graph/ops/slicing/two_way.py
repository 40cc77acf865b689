"""Compute slices that one bound per region cannot describe: both directions from the roots, or stopping at given
events.

Regions are cut at the stop events. Causality does not pass from one side of a cut to the other, and no edge is
followed beyond a stop. Invariant: the answer equals that of the event-by-event traversal. A stop event is part of the
slice if it is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.structure_plane import Structure
from clew.graph.ops.slicing.interval import I64, EdgeFilter, Mask, slice_events

Direction = Literal["forward", "backward", "both"]


@dataclass(frozen=True, eq=False)
class Part:
    """Some events of a graph and the edges among them that may be followed."""

    graph: ExecutionGraph
    direction: Direction
    roots: tuple[int, ...]
    rows: I64
    """The events, ascending."""
    allowed: Mask | None = None
    """The edges that may be followed. None allows all edges except those of mutual exclusion."""

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
        """Return for each of these events whether it is included."""
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
        """Return the numbers of the followed edges that have both ends included, ascending."""
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
    """Return the events that followed from the roots, led to them, or both.

    No path continues beyond the events `stops`, even if they are roots. The other parameters are those of
    `slice_events`.
    """
    ways: tuple[Literal["forward", "backward"], ...] = ("forward", "backward") if direction == "both" else (direction,)
    found = []
    for way in ways:
        plain = slice_events(
            graph, roots, way, max_hops=max_hops, max_network_hops=max_network_hops, edge_filter=edge_filter
        )
        edge_filter = plain.allowed  # call a filter function only once
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
    """Return the graph's structure with every region cut after each stop (backward: before each stop)."""
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
