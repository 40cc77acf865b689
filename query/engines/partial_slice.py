"""Compute the local part of a slice in one partition; it continues whenever mail from other partitions arrives.

Invariants: the slice does not depend on the order of mail or on repeated mail. Therefore a partition can be reset to an
earlier state and receive its mail again. An edge to another partition is sent at most once per state.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.edge_order import LOCK
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.structure_layout import MOVE, STATE
from clew.graph.model.structure_plane import Reached
from clew.graph.ops.slicing.interval import Mask
from clew.query.engines.partition import REMOTE, Partition
from clew.records.format.event import EdgeKind

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mail = npt.NDArray[np.uint32]
"""The reached rows of the receiving part. With limits, each row has three columns: the event, its hops and its network hops."""
NONE = (1 << 32) - 1


@dataclass(frozen=True)
class SliceOptions:
    """The options of a slice."""

    forward: bool
    max_hops: int | None = None
    max_network_hops: int | None = None
    edge_filter: Mask | Callable[[int], bool] | None = None
    """The filter as for `slice_events`, by edge numbers of the run."""
    edge_kinds: tuple[int, ...] | None = None
    """The kinds of edges that the slice follows; None means all."""

    @property
    def limited(self) -> bool:
        return self.max_hops is not None or self.max_network_hops is not None


class Search(Protocol):
    """A slice in progress in one partition."""

    options: SliceOptions
    followed: int

    @property
    def allowed(self) -> Mask | None:
        """Return the mask of the local edges that the slice may follow; None means all but mutual exclusion edges."""

    def advance(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        """Follow all pending edges of the part, or up to `rounds` rounds of edges. Return the mail, by receiving part."""

    @property
    def idle(self) -> bool:
        """Return whether all edges are followed until more mail arrives."""

    def reached(self) -> Reached: ...

    def remote_allowed(self, edges: npt.NDArray[Any]) -> Mask:
        """Return the mask of the given edges to or from other parts that the slice may follow."""

    def save(self) -> Any:
        """Return the state for `load`; it is small compared with the part."""

    def load(self, state: Any) -> None: ...


def search(partition: Partition, options: SliceOptions) -> Search:
    """Return a new search in a partition."""
    return _Limited(partition, options) if options.limited else _Unlimited(partition, options)


def chosen(graph: ExecutionGraph, edges: npt.NDArray[Any], options: SliceOptions) -> Mask:
    """Return the mask of the edges that the slice may follow. `edges` have the fields of `partition.REMOTE`."""
    if options.edge_filter is None:
        lock = graph.channel_ids.get(LOCK, -1)
        mask: Mask = (edges["kind"] != EdgeKind.SYNC) | (edges["channel"] != lock)
    else:
        mask = np.ones(len(edges), bool)
    if options.edge_kinds is not None:
        mask &= np.isin(edges["kind"], options.edge_kinds)
    if callable(options.edge_filter):
        among = np.flatnonzero(mask)
        mask[among] = np.fromiter(map(options.edge_filter, edges["number"][among].tolist()), bool, len(among))
    elif options.edge_filter is not None:
        mask &= options.edge_filter[edges["number"]]
    return mask


class _Base:
    """The common data of searches: the admitted local edges and the edges to other parts."""

    def __init__(self, partition: Partition, options: SliceOptions) -> None:
        self.partition, self.options = partition, options
        self.structure = partition.graph.structure
        self.followed = 0
        self.allowed: Mask | None = None
        if options.edge_filter is not None or options.edge_kinds is not None:
            own = np.zeros(len(partition.edges), REMOTE)
            own["number"], own["kind"], own["channel"] = (
                partition.edges,
                partition.graph.edge_kind,
                partition.graph.edge_channel,
            )
            self.allowed = chosen(partition.graph, own, options)
        edges = partition.outgoing if options.forward else partition.incoming
        edges = edges[self.remote_allowed(edges)]
        position = self.structure.locate(edges["near"].astype(np.int64))[1]
        order = np.argsort(position, kind="stable")
        self.exits, self.exit_at = edges[order], position[order]
        """The edges that leave the part in the direction of the slice, sorted by position."""

    def _ranges(self, regions: I64, bounds: npt.NDArray[Any]) -> Reached:
        start, bound = self.structure.arrays["start"], bounds.astype(np.uint32)
        if self.options.forward:
            return Reached(bound, start[regions + 1], self.followed)
        return Reached(start[regions], bound + np.uint32(1), self.followed)

    def remote_allowed(self, edges: npt.NDArray[Any]) -> Mask:
        return chosen(self.partition.graph, edges, self.options)


class _Unlimited(_Base):
    """A search without limits. Each region has one bound, and the slice contains all positions beyond it."""

    def __init__(self, partition: Partition, options: SliceOptions) -> None:
        super().__init__(partition, options)
        self.state = np.zeros(self.structure.regions, STATE)
        self.pending = b""

    @property
    def idle(self) -> bool:
        return not self.pending

    def advance(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        regions, positions = self.structure.locate(mail.astype(np.int64))
        moves, self.pending, followed = self.structure.plane.resume(
            self.options.forward, self.state, self.pending, regions, positions, self.allowed, rounds
        )
        self.followed += followed
        moved = np.frombuffer(moves, MOVE)
        low = np.searchsorted(self.exit_at, moved["low"])
        exits = self.exits[expand(low, np.searchsorted(self.exit_at, moved["high"]))]
        parts = exits["far_part"]
        return {part: np.unique(exits["far"][parts == part]) for part in np.unique(parts).tolist()}

    def reached(self) -> Reached:
        regions = np.flatnonzero(self.state["reach"])
        reach = self.state["reach"][regions]
        return self._ranges(regions, NONE - reach if self.options.forward else reach - np.uint32(1))

    def save(self) -> Any:
        regions = np.flatnonzero(self.state["reach"]).astype(np.uint32)
        return regions, self.state[regions], self.pending

    def load(self, state: Any) -> None:
        regions, saved, self.pending = state
        self.state["reach"] = 0
        self.state[regions] = saved


class _Limited(_Base):
    """A search with limits. Each region has several bounds, with the hops spent on each: a Pareto front."""

    def __init__(self, partition: Partition, options: SliceOptions) -> None:
        super().__init__(partition, options)
        unlimited = 1 << 31
        self.most = tuple(
            unlimited if limit is None else limit for limit in (options.max_hops, options.max_network_hops)
        )
        self.fronts: dict[int, list[tuple[int, int, int]]] = {}
        """Per region, tuples of hops, network hops and key. The key is the position, negated backward, so smaller is better."""
        self.open: list[tuple[int, int, int, int]] = []
        arrays = self.structure.arrays
        self.near = arrays["out_near"] if options.forward else arrays["out"]["far"][arrays["into"]["place"]]
        self.far = arrays["out"] if options.forward else arrays["into"]
        places = np.arange(self.structure.edges) if options.forward else arrays["into"]["place"]
        graph = partition.graph
        free = self.allowed
        if free is None:
            free = np.ones(self.structure.edges, bool) if graph.edge_excludes is None else ~graph.edge_excludes
        edge = arrays["out_edge"][places]
        self.free, self.crosses = free[edge], graph.edge_crosses[edge]

    @property
    def idle(self) -> bool:
        return not self.open

    def advance(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        regions, positions = (ends.tolist() for ends in self.structure.locate(mail[:, 0].astype(np.int64)))
        for (hops, network), region, position in zip(mail[:, 1:].tolist(), regions, positions, strict=True):
            self._reach(region, hops, network, position if self.options.forward else -position)
        found: dict[int, list[tuple[int, int, int]]] = {}
        until = self.open[0][0] + rounds if self.open and rounds >= 0 else None
        # Bounds with the fewest hops come first, because they make most other bounds redundant.
        while self.open and (until is None or self.open[0][0] < until):
            hops, network, region, key = heapq.heappop(self.open)
            if (hops, network, key) in self.fronts[region]:
                self._follow(hops, network, region, key, found)
        return {part: np.array(sorted(set(reached)), np.uint32) for part, reached in found.items()}

    def _reach(self, region: int, hops: int, network: int, key: int) -> None:
        front = self.fronts.setdefault(region, [])
        if any(h <= hops and n <= network and k <= key for h, n, k in front):
            return
        front[:] = [(h, n, k) for h, n, k in front if not (hops <= h and network <= n and key <= k)]
        front.append((hops, network, key))
        heapq.heappush(self.open, (hops, network, region, key))

    def _follow(
        self, hops: int, network: int, region: int, key: int, found: dict[int, list[tuple[int, int, int]]]
    ) -> None:
        if hops == self.most[0]:
            return
        start = self.structure.arrays["start"]
        low, high = (key, int(start[region + 1])) if self.options.forward else (int(start[region]), 1 - key)
        first = self.structure.arrays["out_first" if self.options.forward else "in_first"]
        near = self.near[int(first[region]) : int(first[region + 1])]
        begin, end = (int(first[region]) + np.searchsorted(near, [low, high])).tolist()
        self.followed += end - begin
        for place in range(begin, end):
            spent = network + int(self.crosses[place])
            if self.free[place] and spent <= self.most[1]:
                position = int(self.far["far"][place])
                self._reach(
                    int(self.far["far_region"][place]), hops + 1, spent, position if self.options.forward else -position
                )
        if network == self.most[1]:
            return
        begin, end = np.searchsorted(self.exit_at, [low, high]).tolist()
        for edge in self.exits[begin:end]:
            found.setdefault(int(edge["far_part"]), []).append((int(edge["far"]), hops + 1, network + 1))

    def reached(self) -> Reached:
        regions = np.array(sorted(self.fronts), np.int64)
        best = np.array([min(key for _, _, key in self.fronts[region]) for region in regions.tolist()], np.int64)
        return self._ranges(regions, best if self.options.forward else -best)

    def save(self) -> Any:
        return {region: list(front) for region, front in self.fronts.items()}, list(self.open)

    def load(self, state: Any) -> None:
        fronts, still_open = state
        self.fronts, self.open = {region: list(front) for region, front in fronts.items()}, list(still_open)
