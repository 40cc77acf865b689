"""Edges sorted by (region, position) in both directions, so that a slice can follow just those a moving bound uncovers.

Invariant: for every edge, `next` is where in the same index the edges begin that reaching its far end uncovers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Direction:
    """One direction's index. Places are positions in it, not edge ids."""

    edge: I64
    """Edge at each place."""
    key: I64
    """Region of the near end times the number of events, plus `near`: ascending."""
    first: I64
    """The places of region r's edges are `first[r]` up to `first[r + 1]`."""
    near: I64
    """Event at the edge's near end, ascending within a region."""
    far: I64
    """Event at its far end."""
    far_region: I64
    next: I64
    """Forward: the first place in the far region whose near end is at or after `far`. Backward: one past the last place in
    the far region whose near end is at or before `far`."""


@dataclass(frozen=True)
class EdgeIndex:
    out: Direction
    into: Direction

    @staticmethod
    def of(region: npt.NDArray[np.uint32], regions: int, src: I64, dst: I64) -> EdgeIndex:
        """Indexes the edges `src[i] -> dst[i]` of events whose regions are given. Takes O(E log E)."""
        src_region, dst_region = region[src].astype(np.int64), region[dst].astype(np.int64)
        return EdgeIndex(
            _direction(regions, len(region), (src, src_region), (dst, dst_region), forward=True),
            _direction(regions, len(region), (dst, dst_region), (src, src_region), forward=False),
        )


def _direction(
    regions: int, events: int, near_end: tuple[I64, I64], far_end: tuple[I64, I64], *, forward: bool
) -> Direction:
    (near, near_region), (far, far_region) = near_end, far_end
    # One number sorts by region first; a graph of 2**31 events and as many regions still fits.
    place = near_region * events + near
    order = np.argsort(place, kind="stable")
    place = place[order]
    first = np.searchsorted(near_region[order], np.arange(regions + 1)).astype(np.int64)
    reached = far_region[order] * events + far[order]
    following = np.searchsorted(place, reached, "left" if forward else "right").astype(np.int64)
    return Direction(order.astype(np.int64), place, first, near[order], far[order], far_region[order], following)
