"""Edges sorted by (region, position) in both directions, so that a slice can follow just those a moving bound uncovers.

Invariant: for every edge, `next` is where in the same index the edges begin that reaching its far end uncovers.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        return EdgeIndex(
            _direction(region, regions, src, dst, forward=True), _direction(region, regions, dst, src, forward=False)
        )

    def stored(self) -> dict[str, I64]:
        """The columns that cost time to make; `restored` makes the others of them."""
        return {
            f"{name}_{column}": getattr(direction, column)
            for name, direction in (("out", self.out), ("into", self.into))
            for column in ("edge", "first", "next")
        }

    @staticmethod
    def restored(region: npt.NDArray[np.uint32], src: I64, dst: I64, columns: Mapping[str, I64]) -> EdgeIndex:
        """Inverse of `stored`."""
        out, into = (
            _completed(region, near, far, (columns[f"{name}_edge"], columns[f"{name}_first"], columns[f"{name}_next"]))
            for name, near, far in (("out", src, dst), ("into", dst, src))
        )
        return EdgeIndex(out, into)


def _direction(region: npt.NDArray[np.uint32], regions: int, near: I64, far: I64, *, forward: bool) -> Direction:
    events = len(region)
    near_region = region[near].astype(np.int64)
    # One number sorts by region first; a graph of 2**31 events and as many regions still fits.
    key = near_region * events + near
    order = np.argsort(key, kind="stable").astype(np.int64)
    first = np.searchsorted(near_region[order], np.arange(regions + 1)).astype(np.int64)
    reached = region[far[order]].astype(np.int64) * events + far[order]
    following = np.searchsorted(key[order], reached, "left" if forward else "right").astype(np.int64)
    return _completed(region, near, far, (order, first, following))


def _completed(region: npt.NDArray[np.uint32], near: I64, far: I64, columns: tuple[I64, I64, I64]) -> Direction:
    edge, first, following = columns
    near, far = near[edge], far[edge]
    key = region[near].astype(np.int64) * len(region) + near
    return Direction(edge, key, first, near, far, region[far].astype(np.int64), following)
