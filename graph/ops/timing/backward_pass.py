"""Walk back along a critical path: within a region to the wait that ended last, then along the edge that ended it.

The kernel performs the walk. Invariant: a walk visits every event at most once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_times import passive_kinds
from clew.graph.build.regions import OPENING, ROOT_OPENING
from clew.graph.model.array_utils import expand
from clew.graph.model.graph import ExecutionGraph, RegionKind
from clew.graph.model.structure_layout import PIECE, STRETCH
from clew.graph.ops.slicing.interval import Slice
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

_SCOPE_END = int(Kind.SCOPE_END)
NEVER = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A path as columns, one row per piece, in time order. A piece is the path on one strand between two edges."""

    edge: I64
    """The edge by which the path reached the piece, -1 if the path began there."""
    slack: I64
    """The time by which the last event came later than the other waited-for events; -1 if there were none."""
    stretches: I64
    """The number of entries of `low` and `stop` that belong to the piece."""
    low: I64
    stop: I64
    """Row ranges from `low` to `stop`, ascending within a piece. Rows that another scope ran in between are excluded.
    """
    rival_counts: I64
    rivals: I64
    """The other events that were waited for where the path entered the piece, piece by piece."""

    @cached_property
    def rows(self) -> I64:
        """Return the events of all pieces."""
        return expand(self.low, self.stop)

    @cached_property
    def bounds(self) -> I64:
        """Return the offsets of the pieces: piece i has `rows[bounds[i] : bounds[i + 1]]`."""
        ends: I64 = np.append(0, np.cumsum(self.stop - self.low))
        first: I64 = ends[np.append(0, np.cumsum(self.stretches))]
        return first

    def __len__(self) -> int:
        return len(self.edge)

    @staticmethod
    def backward(pieces: npt.NDArray[np.void], stretches: npt.NDArray[np.void], rivals: I64) -> Pieces:
        """Return the pieces from the output of a walk, which lists the latest piece first. The rivals of a piece keep
        their order.
        """
        counts = pieces["rivals"]
        ends = np.cumsum(counts)
        rivals = rivals[expand((ends - counts)[::-1], ends[::-1])]
        latest_first = (
            pieces["edge"],
            pieces["slack"],
            pieces["stretches"],
            stretches["low"],
            stretches["stop"],
            counts,
        )
        edge, slack, of, low, stop, counts = (column[::-1] for column in latest_first)
        return Pieces(edge, slack, of, low, stop, counts, rivals)

    def since(self, graph: ExecutionGraph, ns: int) -> Pieces:
        """Return the path without the rows of its first piece before that piece's last event at or before `ns`."""
        count = int(self.stretches[0])
        early = int(np.searchsorted(graph.ts[self.low[:count]], ns, "right")) - 1
        if early < 0:
            return self
        low, stop = self.low[early:].copy(), self.stop[early:]
        low[0] += max(0, int(np.searchsorted(graph.ts[low[0] : stop[0]], ns, "right")) - 1)
        stretches = self.stretches.copy()
        stretches[0] -= early
        return Pieces(self.edge, self.slack, stretches, low, stop, self.rival_counts, self.rivals)

    def since_piece(self, place: int) -> Pieces:
        """Return the pieces from a place on, which keep the edge by which the path reached the first of them."""
        stretches, rivals = int(self.stretches[:place].sum()), int(self.rival_counts[:place].sum())
        return Pieces(
            self.edge[place:],
            self.slack[place:],
            self.stretches[place:],
            self.low[stretches:],
            self.stop[stretches:],
            self.rival_counts[place:],
            self.rivals[rivals:],
        )

    def with_last_slack(self, slack: int) -> Pieces:
        """Return the pieces with another slack of the last one."""
        return replace(self, slack=np.append(self.slack[:-1], slack))

    @staticmethod
    def joined(parts: Sequence[Pieces]) -> Pieces:
        """Return the pieces of several paths, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return Pieces(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Pieces)))


NO_PIECES = Pieces(*(np.zeros(0, np.int64) for _ in range(7)))


class Extent(NamedTuple):
    """The rows of each region that a walk may visit, and the edges that it may take there."""

    forward: bool
    bounds: I64
    """The bounds of the regions, as in a `Slice`."""
    follow: npt.NDArray[np.bool_]
    """Whether each edge may be taken. This includes edges that lead beyond the bounds of a slice of causes."""


def walk_back(graph: ExecutionGraph, slice_: Slice, event: int, since_ns: int | None) -> Pieces:
    """Return the path to an event of a slice, starting at a time."""
    return Walker(graph, extent_of(graph, slice_)).back(event, since_ns)


def extent_of(graph: ExecutionGraph, slice_: Slice) -> Extent:
    """Return the rows and edges that a walk in a slice may take."""
    follow = np.zeros(len(graph.edge_src), bool)
    follow[slice_.edges()] = True
    if not slice_.forward and graph.edge_excludes is not None:
        # These edges identify the holder of a lock that a strand on the path waited for.
        follow |= graph.edge_excludes
    return Extent(slice_.forward, slice_.bounds, follow)


@dataclass(frozen=True, eq=False)
class Restriction:
    """The edges that walks may follow, as 0 or 1."""

    follow: npt.NDArray[np.generic]

    def forbid(self, edges: I64) -> None:
        self.follow[edges] = 0


class Walker:
    """Walks back from any number of events; the graph is prepared once."""

    def __init__(self, graph: ExecutionGraph, extent: Extent) -> None:
        self.graph, self._extent = graph, extent
        self._columns = _columns(graph, extent)

    @staticmethod
    def of_all(graph: ExecutionGraph) -> Walker:
        """Return a walker over everything that led to an event."""
        return Walker.along(graph, np.ones(len(graph.edge_src), bool))

    @staticmethod
    def along(graph: ExecutionGraph, follow: npt.NDArray[np.bool_]) -> Walker:
        """Return a walker that follows some edges, in all regions."""
        # With these bounds no event is beyond a slice of causes, so an edge is followed only if `follow` says so.
        everywhere = np.full(len(graph.regions), len(graph), np.int64)
        return Walker(graph, Extent(False, everywhere, follow))

    @contextmanager
    def restricted(self) -> Iterator[Restriction]:
        """Within the block, walks follow no edge that is forbidden."""
        follow = self._columns["follow"]
        limit = Restriction(follow.copy())
        self._columns["follow"] = limit.follow
        try:
            yield limit
        finally:
            self._columns["follow"] = follow

    def back(self, event: int, since_ns: int | None) -> Pieces:
        """Return the path to an event, starting at a time."""
        since = NEVER if since_ns is None else since_ns
        found = self.graph.structure.plane.path(self._extent.forward, event, since, self._columns)
        pieces, stretches = np.frombuffer(found[0], PIECE), np.frombuffer(found[1], STRETCH)
        walked = Pieces.backward(pieces, stretches, np.frombuffer(found[2], np.int64))
        return walked if since_ns is None else walked.since(self.graph, since_ns)


def _columns(graph: ExecutionGraph, extent: Extent) -> dict[str, npt.NDArray[np.generic]]:
    given = {
        "ts": (graph.ts, np.int64),
        "kind": (graph.kind, np.uint8),
        "site": (graph.site, np.uint32),
        "strand": (graph.strand, np.uint32),
        "region": (graph.region, np.uint32),
        "src": (graph.edge_src, np.int64),
        "dst": (graph.edge_dst, np.int64),
        "follow": (extent.follow, np.uint8),
        "bounds": (extent.bounds, np.int64),
        "root": (graph.regions.kind == RegionKind.ROOT, np.uint8),
        "adapter": (graph.site_is_adapter, np.uint8),
        "strand_start": ([strand.start for strand in graph.strands], np.int64),
        "kinds": (_kinds(), np.uint8),
    }
    # Most columns already have the right type and layout, so they are not copied.
    columns = {name: np.ascontiguousarray(column, dtype) for name, (column, dtype) in given.items()}
    # Cache rows between walks; pages take memory only when a walk writes to them.
    return {**columns, "begun": np.zeros(len(graph), np.uint32)}


def _kinds() -> npt.NDArray[np.uint8]:
    """Return the properties of event kinds that the kernel needs, as bits."""
    table = passive_kinds().astype(np.uint8)
    for bit, kinds in ((2, OPENING), (4, ROOT_OPENING), (8, {Kind.SCOPE_END}), (16, {Kind.ACQUIRE})):
        table[[int(kind) for kind in kinds]] |= bit
    return table
