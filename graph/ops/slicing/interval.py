"""Slice by intervals (G2, section 3): one bound per region instead of a mark per event.

Invariant: the answer equals that of the event-by-event traversal. Unless both limits are set, every edge is followed
at most once. A forward slice holds an event if its row is at or after its region's bound, a backward slice if it is
at or before the bound. Properties of a slice are computed lazily.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.structure_plane import Reached
from clew.graph.ops.slicing.dominators import Dominators, dominators
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
EdgeFilter = Mask | Callable[[int], bool]
"""A selection of the edges that may be followed: one truth value per edge, or a function of an edge's number, called once per
edge.

Without a filter, all edges except those of mutual exclusion are followed (`ExecutionGraph.edge_excludes`). A strand
that waited for a lock received no data from the holder, and following that edge would add the holder's entire past.
To follow one kind of edge only, use `graph.edge_kind == EdgeKind.USE`. To follow every edge, use `lambda edge: True`.
"""


@dataclass(frozen=True, eq=False)
class Slice:
    """The events reachable from `roots` along causal edges. Rows outside every bound are excluded."""

    graph: ExecutionGraph
    direction: Literal["forward", "backward"]
    roots: tuple[int, ...]
    allowed: Mask | None = None
    """The edges that may be followed. None allows all edges except those of mutual exclusion."""
    max_hops: int | None = None
    max_network_hops: int | None = None

    @property
    def forward(self) -> bool:
        return self.direction == "forward"

    @property
    def follows_all(self) -> bool:
        """Return whether the slice is everything that followed from one event, without limits or filters."""
        unlimited = self.max_hops is None and self.max_network_hops is None
        return self.forward and len(self.roots) == 1 and self.allowed is None and unlimited

    @cached_property
    def reached(self) -> Reached:
        """Return the extent of the slice in the structure plane."""
        graph = self.graph
        return graph.structure.slice(
            np.array(self.roots, np.int64),
            forward=self.forward,
            allowed=self.allowed,
            crosses=None if self.max_network_hops is None else graph.edge_crosses,
            max_hops=self.max_hops,
            max_network_hops=self.max_network_hops,
        )

    @property
    def followed(self) -> int:
        """Return the number of edges examined, which is the cost of the slice."""
        return self.reached.followed

    @cached_property
    def bounds(self) -> I64:
        """Return one bound per region.

        A forward bound is the smallest row reached (the number of events if no row is reached), a backward bound the
        largest (-1 if no row is reached).
        """
        graph = self.graph
        bounds = np.full(len(graph.regions), len(graph) if self.forward else -1, np.int64)
        rows = self.bound_rows
        bounds[graph.region[rows]] = rows
        return bounds

    @cached_property
    def touched(self) -> I64:
        """Return the regions that have an event in the slice, ascending."""
        return np.sort(self.graph.region[self.bound_rows].astype(np.int64))

    @cached_property
    def processes(self) -> I64:
        """Return the processes that have an event in the slice, ascending."""
        graph = self.graph
        seen = np.zeros(len(graph.processes), np.bool_)
        seen[graph.strand_process[graph.regions.strand[graph.region[self.bound_rows]]]] = True
        return np.flatnonzero(seen)

    @cached_property
    def bound_rows(self) -> I64:
        """Return the bounds of the regions that have an event in the slice, as rows, in no order."""
        structure = self.graph.structure
        return structure.rows_of(*structure.by_region(self.reached, forward=self.forward))

    def holds(self, events: I64) -> Mask:
        """Return for each of these events whether it is in the slice."""
        bound = self.bounds[self.graph.region[events]]
        held: Mask = events >= bound if self.forward else events <= bound
        return held

    def contains(self, event: int) -> bool:
        bound = int(self.bounds[self.graph.region[event]])
        return event >= bound if self.forward else event <= bound

    def events(self) -> I64:
        """Return the slice's events, ascending."""
        return self._events

    @cached_property
    def _events(self) -> I64:
        return np.frombuffer(self.graph.structure.plane.rows(self.reached.lows, self.reached.highs), np.int64)

    @property
    def count(self) -> int:
        return int((self.reached.highs - self.reached.lows).sum(dtype=np.int64))

    @cached_property
    def _edges(self) -> I64:
        arrays = self.graph.structure.arrays
        # Positions ascend with regions, so the near ends ascend across all regions.
        low, high = (np.searchsorted(arrays["out_near"], ends, "left") for ends in self.reached[:2])
        edges = np.sort(arrays["out_edge"][expand(low, high)].astype(np.int64))
        allowed = self.allowed
        if allowed is None and self.graph.edge_excludes is not None:
            allowed = ~self.graph.edge_excludes
        if allowed is not None:
            edges = edges[allowed[edges]]
        return edges[self.holds(self.graph.edge_dst[edges])]

    def dominators(self) -> Dominators:
        """Return the events that every path from the roots to an event of the slice passes through."""
        return self._dominators

    @cached_property
    def _dominators(self) -> Dominators:
        return dominators(self)

    def edges(self) -> I64:
        """Return the numbers of the allowed edges that have both ends in the slice, ascending."""
        return self._edges


def slice_events(
    graph: ExecutionGraph,
    roots: Sequence[int] | I64,
    direction: Literal["forward", "backward"] = "backward",
    *,
    max_hops: int | None = None,
    max_network_hops: int | None = None,
    edge_filter: EdgeFilter | None = None,
) -> Slice:
    """Return the slice of the events that followed from the roots (forward) or led to them (backward).

    `max_hops` bounds the edges on a path; fall-through inside a region is free. `max_network_hops` bounds the edges
    between processes. An event is in the slice if one path to it satisfies both limits. Raise `ClewError` for an
    unknown direction, a root outside the run or a negative limit.
    """
    if direction not in ("forward", "backward"):
        raise ClewError(f'a slice goes "forward" or "backward", not {direction!r}')
    for name, limit in (("max_hops", max_hops), ("max_network_hops", max_network_hops)):
        if limit is not None and limit < 0:
            raise ClewError(f"{name} is {limit}; give 0 or more, or None for no limit")
    starts = tuple(np.unique(np.asarray(roots, np.int64)).tolist()) if len(roots) != 1 else (int(roots[0]),)
    if starts and not (starts[0] >= 0 and starts[-1] < len(graph)):
        raise ClewError(f"a slice starts at events of the run, 0 to {len(graph) - 1}; got {starts[-1]}")
    return Slice(graph, direction, starts, _mask(graph, edge_filter), max_hops, max_network_hops)


def _mask(graph: ExecutionGraph, edge_filter: EdgeFilter | None) -> Mask | None:
    if edge_filter is None:
        return None
    if callable(edge_filter):
        return np.fromiter((edge_filter(edge) for edge in range(len(graph.edge_src))), bool, len(graph.edge_src))
    mask = np.ascontiguousarray(edge_filter, bool)
    if mask.shape != graph.edge_src.shape:
        raise ClewError(f"an edge filter has one truth value per edge, {len(graph.edge_src)}; this one has {mask.size}")
    return mask
