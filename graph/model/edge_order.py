"""Sorts edges as an execution graph stores them.

Invariant: the sort is stable and by the source's region, then the source, then the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.records.format.event import EdgeKind

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

LOCK = "lock"
"""The channel of mutual exclusion; see `excluding`."""


@dataclass(frozen=True)
class Joined:
    """The columns of edges, one row each: source and target rows, and an `EdgeKind`."""

    src: I64
    dst: I64
    kind: npt.NDArray[np.uint8]


def sort_edges(
    edges: Joined, region: U32, regions: int, ext: npt.NDArray[np.int32], channel: U32
) -> tuple[Joined, U32]:
    """Return the sorted edges and the channel of each. `region` and `ext` are by event, `channel` is by extension."""
    to = Joined(*map(np.empty_like, (edges.src, edges.dst, edges.kind)))
    name = np.empty(len(edges.src), np.uint32)
    kernels.edges(
        np.ascontiguousarray(edges.src), np.ascontiguousarray(edges.dst), np.ascontiguousarray(edges.kind),
        np.ascontiguousarray(region), regions, np.ascontiguousarray(ext), np.ascontiguousarray(channel), to.src, to.dst,
        to.kind, name,
    )  # fmt: skip
    return to, name


def excluding(kind: npt.NDArray[np.uint8], channel: U32, strings: Sequence[str]) -> npt.NDArray[np.bool_] | None:
    """Return, per edge, whether it only shows that one strand waited until another released a lock; None if none does.

    `strings` are the names of the channels.
    """
    if LOCK not in strings:
        return None
    excludes: npt.NDArray[np.bool_] = (kind == EdgeKind.SYNC) & (channel == strings.index(LOCK))
    return excludes if excludes.any() else None
