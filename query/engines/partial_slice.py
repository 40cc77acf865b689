"""The part of a slice that lies in one part of a run, and goes on whenever mail from other parts comes in.

Invariants: whatever the order in which mail comes in, and however often the same comes again, the slice ends up the same, so a
part may be put back to an earlier state and get its mail once more; an edge to another part goes out at most once per state.
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
from clew.query.engines.partition import REMOTE, Piece
from clew.records.format.event import EdgeKind

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mail = npt.NDArray[np.uint32]
"""Rows of the part that gets it that are reached; with limits a row of three each: the event, hops, and network hops so far."""
NONE = (1 << 32) - 1


@dataclass(frozen=True)
class Ask:
    """What is asked of a slice."""

    forward: bool
    max_hops: int | None = None
    max_network_hops: int | None = None
    edge_filter: Mask | Callable[[int], bool] | None = None
    """By the run's numbers of edges, as for `slice_events`."""
    edge_kinds: tuple[int, ...] | None = None
    """The kinds that may be followed; None: all."""

    @property
    def limited(self) -> bool:
        return self.max_hops is not None or self.max_network_hops is not None


class Search(Protocol):
    ask: Ask
    followed: int

    @property
    def allowed(self) -> Mask | None:
        """Of the edges inside the part; None: all but those of mutual exclusion."""

    def go_on(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        """Follows all that is now to be followed in the part (or so many rounds of edges); gives the mail for other parts."""

    @property
    def idle(self) -> bool:
        """Is nothing left to be followed but what mail may bring?"""

    def reached(self) -> Reached: ...

    def remote_allowed(self, edges: npt.NDArray[Any]) -> Mask:
        """Which edges to or from other parts may be followed?"""

    def save(self) -> Any:
        """Its state, which `load` takes: what is small in comparison with the part."""

    def load(self, state: Any) -> None: ...


def search(piece: Piece, ask: Ask) -> Search:
    return _Limited(piece, ask) if ask.limited else _Unlimited(piece, ask)


def chosen(graph: ExecutionGraph, edges: npt.NDArray[Any], ask: Ask) -> Mask:
    """Of edges (with number, kind and channel, as `cut.REMOTE`) those that may be followed."""
    if ask.edge_filter is None:
        lock = graph.channel_ids.get(LOCK, -1)
        kept: Mask = (edges["kind"] != EdgeKind.SYNC) | (edges["channel"] != lock)
    else:
        kept = np.ones(len(edges), bool)
    if ask.edge_kinds is not None:
        kept &= np.isin(edges["kind"], ask.edge_kinds)
    if callable(ask.edge_filter):
        among = np.flatnonzero(kept)
        kept[among] = np.fromiter(map(ask.edge_filter, edges["number"][among].tolist()), bool, len(among))
    elif ask.edge_filter is not None:
        kept &= ask.edge_filter[edges["number"]]
    return kept


class _Base:
    def __init__(self, piece: Piece, ask: Ask) -> None:
        self.piece, self.ask = piece, ask
        self.structure = piece.graph.structure
        self.followed = 0
        self.allowed: Mask | None = None
        if ask.edge_filter is not None or ask.edge_kinds is not None:
            own = np.zeros(len(piece.edges), REMOTE)
            own["number"], own["kind"], own["channel"] = piece.edges, piece.graph.edge_kind, piece.graph.edge_channel
            self.allowed = chosen(piece.graph, own, ask)
        edges = piece.outgoing if ask.forward else piece.incoming
        edges = edges[self.remote_allowed(edges)]
        position = self.structure.locate(edges["near"].astype(np.int64))[1]
        order = np.argsort(position, kind="stable")
        self.exits, self.exit_at = edges[order], position[order]
        """The edges out of the part, by position."""

    def _ranges(self, regions: I64, bounds: npt.NDArray[Any]) -> Reached:
        start, bound = self.structure.arrays["start"], bounds.astype(np.uint32)
        if self.ask.forward:
            return Reached(bound, start[regions + 1], self.followed)
        return Reached(start[regions], bound + np.uint32(1), self.followed)

    def remote_allowed(self, edges: npt.NDArray[Any]) -> Mask:
        return chosen(self.piece.graph, edges, self.ask)


class _Unlimited(_Base):
    def __init__(self, piece: Piece, ask: Ask) -> None:
        super().__init__(piece, ask)
        self.state = np.zeros(self.structure.regions, STATE)
        self.pending = b""

    @property
    def idle(self) -> bool:
        return not self.pending

    def go_on(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        regions, positions = self.structure.locate(mail.astype(np.int64))
        moves, self.pending, followed = self.structure.plane.resume(
            self.ask.forward, self.state, self.pending, regions, positions, self.allowed, rounds
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
        return self._ranges(regions, NONE - reach if self.ask.forward else reach - np.uint32(1))

    def save(self) -> Any:
        regions = np.flatnonzero(self.state["reach"]).astype(np.uint32)
        return regions, self.state[regions], self.pending

    def load(self, state: Any) -> None:
        regions, kept, self.pending = state
        self.state["reach"] = 0
        self.state[regions] = kept


class _Limited(_Base):
    """With limits a region has several bounds, each with the hops spent on it: those that no other is better than in all."""

    def __init__(self, piece: Piece, ask: Ask) -> None:
        super().__init__(piece, ask)
        unlimited = 1 << 31
        self.most = tuple(unlimited if limit is None else limit for limit in (ask.max_hops, ask.max_network_hops))
        self.fronts: dict[int, list[tuple[int, int, int]]] = {}
        """Per region (hops, network hops, key): the key is the position, backward its negative, so that less is better."""
        self.open: list[tuple[int, int, int, int]] = []
        arrays = self.structure.arrays
        self.near = arrays["out_near"] if ask.forward else arrays["out"]["far"][arrays["into"]["place"]]
        self.far = arrays["out"] if ask.forward else arrays["into"]
        places = np.arange(self.structure.edges) if ask.forward else arrays["into"]["place"]
        graph = piece.graph
        free = self.allowed
        if free is None:
            free = np.ones(self.structure.edges, bool) if graph.edge_excludes is None else ~graph.edge_excludes
        edge = arrays["out_edge"][places]
        self.free, self.crosses = free[edge], graph.edge_crosses[edge]

    @property
    def idle(self) -> bool:
        return not self.open

    def go_on(self, mail: Mail, rounds: int = -1) -> dict[int, Mail]:
        regions, positions = (ends.tolist() for ends in self.structure.locate(mail[:, 0].astype(np.int64)))
        for (hops, network), region, position in zip(mail[:, 1:].tolist(), regions, positions, strict=True):
            self._reach(region, hops, network, position if self.ask.forward else -position)
        found: dict[int, list[tuple[int, int, int]]] = {}
        until = self.open[0][0] + rounds if self.open and rounds >= 0 else None
        # Those that spent the least come first: they make most of the others needless.
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
        low, high = (key, int(start[region + 1])) if self.ask.forward else (int(start[region]), 1 - key)
        first = self.structure.arrays["out_first" if self.ask.forward else "in_first"]
        near = self.near[int(first[region]) : int(first[region + 1])]
        begin, end = (int(first[region]) + np.searchsorted(near, [low, high])).tolist()
        self.followed += end - begin
        for place in range(begin, end):
            spent = network + int(self.crosses[place])
            if self.free[place] and spent <= self.most[1]:
                position = int(self.far["far"][place])
                self._reach(
                    int(self.far["far_region"][place]), hops + 1, spent, position if self.ask.forward else -position
                )
        if network == self.most[1]:
            return
        begin, end = np.searchsorted(self.exit_at, [low, high]).tolist()
        for edge in self.exits[begin:end]:
            found.setdefault(int(edge["far_part"]), []).append((int(edge["far"]), hops + 1, network + 1))

    def reached(self) -> Reached:
        regions = np.array(sorted(self.fronts), np.int64)
        best = np.array([min(key for _, _, key in self.fronts[region]) for region in regions.tolist()], np.int64)
        return self._ranges(regions, best if self.ask.forward else -best)

    def save(self) -> Any:
        return {region: list(front) for region, front in self.fronts.items()}, list(self.open)

    def load(self, state: Any) -> None:
        fronts, still_open = state
        self.fronts, self.open = {region: list(front) for region, front in fronts.items()}, list(still_open)
