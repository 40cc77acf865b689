"""Slicing by intervals (G2, section 3): one bound per region instead of a mark per event.

Invariant: the answer equals the event-by-event traversal's, and without both limits at once every edge is followed at most
once. A forward slice holds an event when its row is at or after its region's bound, a backward one when at or before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import expand
from clew.graph.index import Direction
from clew.graph.model import ExecutionGraph
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
EdgeFilter = Mask | Callable[[int], bool]
"""Which edges may be followed: one truth value per edge, or a function of an edge's number that is asked once per edge.

Without a filter all are but those of mutual exclusion (`ExecutionGraph.edge_excludes`): whoever waited for a lock did not
get anything from whoever had it, and would else have all of its past. To follow one kind of edge alone:
`graph.edge_kind == EdgeKind.USE`; to follow every edge: `lambda edge: True`."""

VECTOR_ROUND = 200
"""Edges in a round from which on numpy is faster than a loop."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The events reachable from `roots` along causal edges. Rows that are outside every bound are not in it."""

    graph: ExecutionGraph
    direction: Literal["forward", "backward"]
    roots: tuple[int, ...]
    bounds: I64
    """Per region: forward the smallest row reached (the number of events when none), backward the largest (-1)."""
    followed: int
    """How many edges were looked at: what the slice cost."""
    allowed: Mask | None = None

    @property
    def forward(self) -> bool:
        return self.direction == "forward"

    @cached_property
    def touched(self) -> I64:
        """The regions that have an event in the slice, ascending."""
        return np.flatnonzero(self.bounds < len(self.graph) if self.forward else self.bounds >= 0)

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
        graph, touched = self.graph, self.touched
        if self.forward:
            start, stop = self.bounds[touched], graph.regions.last[touched] + 1
        else:
            start, stop = graph.regions.first[touched], self.bounds[touched] + 1
        if int((stop - start).sum()) < len(graph) // 4:
            rows = expand(start, stop)
            owner = np.repeat(touched, stop - start)
            return np.sort(rows[graph.region[rows] == owner])
        return np.flatnonzero(self.holds(np.arange(len(graph), dtype=np.int64)))

    @property
    def count(self) -> int:
        return len(self._events)

    @cached_property
    def _edges(self) -> I64:
        graph = self.graph
        inside = self.holds(graph.edge_src) & self.holds(graph.edge_dst)
        if self.allowed is not None:
            inside &= self.allowed
        return np.flatnonzero(inside)

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
    starts = np.unique(np.asarray(roots, np.int64))
    if len(starts) and not (starts[0] >= 0 and starts[-1] < len(graph)):
        raise ClewError(f"a slice starts at events of the run, 0 to {len(graph) - 1}; got {int(starts[-1])}")
    forward = direction == "forward"
    allowed = _mask(graph, edge_filter)
    search = _Search(graph, forward, allowed)
    if max_hops is not None and max_network_hops is not None:
        bounds, followed = search.limited(starts, max_hops, max_network_hops)
    else:
        bounds, followed = search.run(starts, max_hops, max_network_hops)
    return Slice(graph, direction, tuple(starts.tolist()), bounds, followed, allowed)


def _mask(graph: ExecutionGraph, edge_filter: EdgeFilter | None) -> Mask | None:
    if edge_filter is None:
        return None if graph.edge_excludes is None else ~graph.edge_excludes
    if callable(edge_filter):
        return np.fromiter((edge_filter(edge) for edge in range(len(graph.edge_src))), bool, len(graph.edge_src))
    mask = np.asarray(edge_filter, bool)
    if mask.shape != graph.edge_src.shape:
        raise ClewError(f"an edge filter has one truth value per edge, {len(graph.edge_src)}; this one has {mask.size}")
    return mask


class _Search:
    """Rounds of ranges of places in one direction's index. A round's edges are all at the same number of hops."""

    def __init__(self, graph: ExecutionGraph, forward: bool, allowed: Mask | None) -> None:
        self.forward = forward
        self.index: Direction = graph.index.out if forward else graph.index.into
        self.allowed = None if allowed is None else allowed[self.index.edge]
        self.graph = graph
        self.none = len(graph) if forward else -1
        self.bounds = np.full(len(graph.regions), self.none, np.int64)
        self.place = (self.index.first[1:] if forward else self.index.first[:-1]).copy()
        """Per region where in the index the edges begin (backward: end) that its bound covers."""
        self.winner = np.empty(len(graph.regions), np.int64)
        """Scratch: per region the edge of a round that reaches farthest into it."""
        self.followed = 0
        # Reading one number through a memoryview costs a third of reading it through an array.
        self._first, self._next = self.index.first.data, self.index.next.data
        self._far, self._far_region = self.index.far.data, self.index.far_region.data
        self._bound, self._place = self.bounds.data, self.place.data

    def run(self, starts: I64, max_hops: int | None, max_network_hops: int | None) -> tuple[I64, int]:
        """At most one of the limits is given."""
        crosses = None if max_network_hops is None else self.graph.edge_crosses[self.index.edge]
        lows, highs = self._begin(starts)
        deferred: list[I64] = []
        hops = network_hops = 0
        while len(lows) or deferred:
            if not len(lows):
                # Everything within so many network hops is known: only now the edges to other processes.
                if network_hops == max_network_hops:
                    break
                network_hops += 1
                lows, highs = self._reach(np.concatenate(deferred))
                deferred = []
                continue
            if hops == max_hops:
                break
            if crosses is None and self.allowed is None and int((highs - lows).sum()) < VECTOR_ROUND:
                lows, highs, hops = self._scalar_rounds(lows, highs, hops, max_hops)
                continue
            hops += 1
            places = self._places(lows, highs)
            if crosses is not None:
                remote = crosses[places]
                if remote.any():
                    deferred.append(places[remote])
                places = places[~remote]
            lows, highs = self._reach(places)
        return self.bounds, self.followed

    def _begin(self, starts: I64) -> tuple[I64, I64]:
        lows: list[int] = []
        highs: list[int] = []
        near = self.index.near
        for event in starts.tolist() if self.forward else starts.tolist()[::-1]:
            region = int(self.graph.region[event])
            if self._bound[region] != self.none:
                continue  # an earlier root of the region (a later one, backward) covers this one
            self._bound[region] = event
            begin, end = self._first[region], self._first[region + 1]
            place = begin + int(np.searchsorted(near[begin:end], event, "left" if self.forward else "right"))
            self._place[region] = place
            low, high = (place, end) if self.forward else (begin, place)
            if low < high:
                lows.append(low)
                highs.append(high)
        return np.array(lows, np.int64), np.array(highs, np.int64)

    def _places(self, lows: I64, highs: I64) -> I64:
        places = expand(lows, highs)
        self.followed += len(places)
        return places if self.allowed is None else places[self.allowed[places]]

    def _scalar_rounds(self, lows: I64, highs: I64, hops: int, max_hops: int | None) -> tuple[I64, I64, int]:
        """Rounds one number at a time, until they are too large for it, too many or over; gives the next one and `hops`."""
        far, far_region, following = self._far, self._far_region, self._next
        bound, covered, forward = self._bound, self._place, self.forward
        ranges = list(zip(lows.tolist(), highs.tolist(), strict=True))
        size = 0
        while ranges and size < VECTOR_ROUND and hops != max_hops:
            hops += 1
            size = 0
            uncovered: list[tuple[int, int]] = []
            for low, high in ranges:
                self.followed += high - low
                for place in range(low, high):
                    event, region = far[place], far_region[place]
                    if event >= bound[region] if forward else event <= bound[region]:
                        continue
                    bound[region] = event
                    begin, end = following[place], covered[region]
                    covered[region] = begin
                    if not forward:
                        begin, end = end, begin
                    if begin < end:
                        uncovered.append((begin, end))
                        size += end - begin
            ranges = uncovered
        pending = np.array(ranges, np.int64).reshape(-1, 2)
        return pending[:, 0], pending[:, 1], hops

    def _reach(self, places: I64) -> tuple[I64, I64]:
        """Moves the bounds of the regions at these edges' far ends; gives the ranges that this uncovers."""
        index, bounds = self.index, self.bounds
        event, region = index.far[places], index.far_region[places]
        better = event < bounds[region] if self.forward else event > bounds[region]
        places, event, region = places[better], event[better], region[better]
        if not len(places):
            return places, places
        # Of several edges into a region the farthest-reaching one counts, of equal ones the last.
        (np.minimum if self.forward else np.maximum).at(bounds, region, event)
        best = np.flatnonzero(bounds[region] == event)
        self.winner[region[best]] = best
        best = best[self.winner[region[best]] == best]
        places, region = places[best], region[best]
        edge_of_bound, uncovered = self.place[region], index.next[places]
        self.place[region] = uncovered
        lows, highs = (uncovered, edge_of_bound) if self.forward else (edge_of_bound, uncovered)
        some = lows < highs
        return lows[some], highs[some]

    def limited(self, starts: I64, max_hops: int, max_network_hops: int) -> tuple[I64, int]:
        """Both limits: a region has one bound per number of network hops spent, and a round is one hop.

        An event that was reached at once by few hops and by few network hops keeps both, as either may lead on.
        """
        crosses = self.graph.edge_crosses[self.index.edge]
        spent: list[dict[int, int]] = [{} for _ in range(max_network_hops + 1)]
        frontier: set[tuple[int, int]] = set()

        def reach(region: int, event: int, network_hops: int) -> None:
            for fewer in spent[: network_hops + 1]:
                known = fewer.get(region)
                if known is not None and (known <= event if self.forward else known >= event):
                    return
            spent[network_hops][region] = event
            frontier.add((region, network_hops))

        for event in starts.tolist() if self.forward else starts.tolist()[::-1]:
            reach(int(self.graph.region[event]), event, 0)
        for _ in range(max_hops):
            round_bounds = [(region, network_hops, spent[network_hops][region]) for region, network_hops in frontier]
            frontier.clear()
            for region, network_hops, event in round_bounds:
                begin, end = self._first[region], self._first[region + 1]
                near = self.index.near[begin:end]
                if self.forward:
                    begin += int(np.searchsorted(near, event, "left"))
                else:
                    end = begin + int(np.searchsorted(near, event, "right"))
                self.followed += end - begin
                for place in range(begin, end):
                    if self.allowed is not None and not self.allowed[place]:
                        continue
                    total = network_hops + int(crosses[place])
                    if total <= max_network_hops:
                        reach(self._far_region[place], self._far[place], total)
            if not frontier:
                break
        self._merge(spent)
        return self.bounds, self.followed

    def _merge(self, spent: Iterable[dict[int, int]]) -> None:
        best = min if self.forward else max
        for reached in spent:
            for region, event in reached.items():
                self._bound[region] = best(self._bound[region], event)
