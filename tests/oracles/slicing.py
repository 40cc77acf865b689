"""Reference implementation of slices over the structure plane in numpy, in rounds of edges.

Invariant: unless both limits are given, every edge is followed at most once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand

if TYPE_CHECKING:
    from tests.oracles.structure import Plane

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Search:
    """A search in one direction, in rounds of ranges of edge places. All edges of a round have the same number of hops."""

    def __init__(self, plane: Plane, forward: bool, allowed: Mask) -> None:
        self.plane, self.forward, self.allowed = plane, forward, allowed
        self.none = plane.events if forward else -1
        self.first = plane.out_first if forward else plane.in_first
        self.bounds = np.full(plane.regions, self.none, np.int64)
        self.covered = self.first[1:].copy() if forward else self.first[:-1].copy()
        """For each region, where the places covered by its bound begin (backward: end)."""
        self.winner = np.empty(plane.regions, np.int64)
        """Scratch memory: for each region, the edge of a round that reaches farthest into it."""
        self.ranges: list[tuple[I64, I64]] = []
        self.followed = 0
        # In a backward search, places are those of `into`.
        self.edge = np.arange(plane.edges) if forward else plane.place
        self.near = plane.near if forward else plane.far[plane.place]
        self.far = plane.far if forward else plane.near[plane.place]
        self.far_region = plane.far_region if forward else plane.near_region[plane.place]
        self.starts: tuple[I64, I64] = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _edge_of_bound(self, positions: I64) -> I64:
        # Positions ascend with regions, so near ends ascend over all places.
        return np.searchsorted(self.near, positions, "left" if self.forward else "right")

    def begin(self, regions: I64, positions: I64) -> None:
        self.starts = regions, positions
        self._reach(regions, positions)

    def _reach(self, region: I64, position: I64) -> None:
        """Move the bounds of regions, and add the ranges that this uncovers."""
        better = position < self.bounds[region] if self.forward else position > self.bounds[region]
        region, position = region[better], position[better]
        (np.minimum if self.forward else np.maximum).at(self.bounds, region, position)
        # Among edges into one region the farthest-reaching edge counts; among equal edges, the last.
        best = np.flatnonzero(self.bounds[region] == position)
        self.winner[region[best]] = best
        best = best[self.winner[region[best]] == best]
        region, position = region[best], position[best]
        before, now = self.covered[region], self._edge_of_bound(position)
        self.covered[region] = now
        low, high = (now, before) if self.forward else (before, now)
        if len(low):
            self.ranges.append((low[low < high], high[low < high]))

    def _round(self) -> I64:
        """Return the places of all added ranges."""
        lows = np.concatenate([low for low, _ in self.ranges])
        highs = np.concatenate([high for _, high in self.ranges])
        self.ranges = []
        places = expand(lows, highs)
        self.followed += len(places)
        return places[self.allowed[self.edge[places]]]

    def run(self, crosses: Mask, max_hops: int, max_network_hops: int) -> None:
        """Search with at most one of the limits."""
        deferred: list[I64] = []
        hops = network_hops = 0
        while True:
            if not self.ranges:
                # All events within this number of network hops are found; continue with the edges to other processes.
                if not deferred or network_hops == max_network_hops:
                    return
                network_hops += 1
                places = np.concatenate(deferred)
                deferred = []
            else:
                if hops == max_hops:
                    return
                hops += 1
                places = self._round()
                if max_network_hops >= 0:
                    remote = crosses[self.edge[places]]
                    if remote.any():
                        deferred.append(places[remote])
                    places = places[~remote]
            self._reach(self.far_region[places], self.far[places])

    def limited(self, crosses: Mask, max_hops: int, max_network_hops: int) -> None:
        """Search with both limits: a region has one bound per number of network hops, and a round is one hop.

        An event that is reached by fewer hops in one way and by fewer network hops in another keeps both bounds.
        """
        spent: list[dict[int, int]] = [{} for _ in range(max_network_hops + 1)]
        frontier: set[tuple[int, int]] = set()

        def reach(region: int, position: int, network_hops: int) -> None:
            for fewer in spent[: network_hops + 1]:
                known = fewer.get(region)
                if known is not None and (known <= position if self.forward else known >= position):
                    return
            spent[network_hops][region] = position
            frontier.add((region, network_hops))

        for region, position in zip(*(ends.tolist() for ends in self.starts), strict=True):
            reach(region, position, 0)
        for _ in range(max_hops):
            round_bounds = [(region, network_hops, spent[network_hops][region]) for region, network_hops in frontier]
            frontier.clear()
            for region, network_hops, position in round_bounds:
                low, high = int(self.first[region]), int(self.first[region + 1])
                bound = int(self._edge_of_bound(np.array([position]))[0])
                low, high = (max(low, bound), high) if self.forward else (low, min(high, bound))
                self.followed += high - low
                for place in range(low, high):
                    edge = self.edge[place]
                    if not self.allowed[edge]:
                        continue
                    total = network_hops + int(crosses[edge])
                    if total <= max_network_hops:
                        reach(int(self.far_region[place]), int(self.far[place]), total)
            if not frontier:
                break
        self._merge(spent)

    def _merge(self, spent: Iterable[dict[int, int]]) -> None:
        best: Callable[[int, int], int] = min if self.forward else max
        for reached in spent:
            for region, position in reached.items():
                self.bounds[region] = best(int(self.bounds[region]), position)
