"""Slicing by intervals (G2, section 3): one bound per region instead of a mark per event.

Invariant: the answer equals the event-by-event traversal's, and without both limits at once every edge is followed at most
once. A forward slice holds an event when its row is at or after its region's bound, a backward one when at or before. What is
asked of a slice is found when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import expand
from clew.graph.model import ExecutionGraph
from clew.graph.ops.dominators import Dominators, dominators
from clew.graph.structure import Reached
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
EdgeFilter = Mask | Callable[[int], bool]
"""Which edges may be followed: one truth value per edge, or a function of an edge's number that is asked once per edge.

Without a filter all are but those of mutual exclusion (`ExecutionGraph.edge_excludes`): whoever waited for a lock did not
get anything from whoever had it, and would else have all of its past. To follow one kind of edge alone:
`graph.edge_kind == EdgeKind.USE`; to follow every edge: `lambda edge: True`."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The events reachable from `roots` along causal edges. Rows that are outside every bound are not in it."""

    graph: ExecutionGraph
    direction: Literal["forward", "backward"]
    roots: tuple[int, ...]
    allowed: Mask | None = None
    """The edges that may be followed; None: all but those of mutual exclusion."""
    max_hops: int | None = None
    max_network_hops: int | None = None

    @property
    def forward(self) -> bool:
        return self.direction == "forward"

    @property
    def follows_all(self) -> bool:
        """Is it all that followed from one event, without a limit or a filter?"""
        unlimited = self.max_hops is None and self.max_network_hops is None
        return self.forward and len(self.roots) == 1 and self.allowed is None and unlimited

    @cached_property
    def reached(self) -> Reached:
        """What the slice is in the structure plane."""
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
        """How many edges were looked at: what the slice cost."""
        return self.reached.followed

    @cached_property
    def bounds(self) -> I64:
        """Per region: forward the smallest row reached (the number of events when none), backward the largest (-1)."""
        graph = self.graph
        bounds = np.full(len(graph.regions), len(graph) if self.forward else -1, np.int64)
        rows = self._bound_rows
        bounds[graph.region[rows]] = rows
        return bounds

    @cached_property
    def touched(self) -> I64:
        """The regions that have an event in the slice, ascending."""
        return np.sort(self.graph.region[self._bound_rows].astype(np.int64))

    @cached_property
    def processes(self) -> I64:
        """The processes that have an event in the slice, ascending."""
        graph = self.graph
        seen = np.zeros(len(graph.processes), np.bool_)
        seen[graph.strand_process[graph.regions.strand[graph.region[self._bound_rows]]]] = True
        return np.flatnonzero(seen)

    @cached_property
    def _bound_rows(self) -> I64:
        structure = self.graph.structure
        return structure.rows_of(*structure.by_region(self.reached, forward=self.forward))

    def holds(self, events: I64) -> Mask:
        """Which of these events are in the slice."""
        bound = self.bounds[self.graph.region[events]]
        held: Mask = events >= bound if self.forward else events <= bound
        return held

    def contains(self, event: int) -> bool:
        bound = int(self.bounds[self.graph.region[event]])
        return event >= bound if self.forward else event <= bound

    def events(self) -> I64:
        """The slice's events, ascending."""
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
        # Positions ascend with regions, so near ends ascend over all places.
        low, high = (np.searchsorted(arrays["out_near"], ends, "left") for ends in self.reached[:2])
        edges = np.sort(arrays["out_edge"][expand(low, high)].astype(np.int64))
        allowed = self.allowed
        if allowed is None and self.graph.edge_excludes is not None:
            allowed = ~self.graph.edge_excludes
        if allowed is not None:
            edges = edges[allowed[edges]]
        return edges[self.holds(self.graph.edge_dst[edges])]

    def dominators(self) -> Dominators:
        """What every path from the roots to an event of the slice passes through."""
        return self._dominators

    @cached_property
    def _dominators(self) -> Dominators:
        return dominators(self)

    def edges(self) -> I64:
        """The numbers of the edges that the filter allows and whose both ends are in the slice, ascending."""
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
    """The events that followed from the roots, or led to them.

    `max_hops` bounds the edges on a path (fall-through is free), `max_network_hops` those between processes; an event is in
    when one path keeps both. Raises `ClewError` for a wrong direction, a root that is no event or a negative limit.
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
