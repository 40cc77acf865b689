"""Matches edges: each target with the last source of its key before it.

A source of the same process is preferred over sources of other processes. There is one exception: after another process has
received the sent object and sent its key again, e.g. in a reply with the request's number, the later source is used.
Invariant: an edge never leads backward in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.build.row_order import Rows
from clew.graph.kernel import _ingest as kernels
from clew.records.format.event import FLAG_BYTES, EdgeKind, Kind

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

FAMILIES = (
    (EdgeKind.USE, Kind.SEND, (Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN)),
    (EdgeKind.SYNC, Kind.RELEASE, (Kind.ACQUIRE,)),
    (EdgeKind.STATE, Kind.DEFINE, (Kind.USE,)),
)
"""The kinds of edges, each with the kinds of its source and its targets."""

GRANTED = 1 << 22
"""The number of events, of 32 bytes each, that the kernel may hold at a time."""


@dataclass(frozen=True)
class Edges:
    """The columns of edges as rows of events, unsorted. `unmatched` counts the targets without a source, by kind."""

    src: I64
    dst: I64
    kind: npt.NDArray[np.uint8]
    unmatched: dict[Kind, int]


def pair(rows: Rows, granted: int = GRANTED) -> Edges:
    """Match the events that have a key. Of two events with equal times, the one recorded first is the earlier.

    The kernel partitions the keys and holds up to `granted` events at a time.
    """
    family, source = np.zeros(256, np.uint8), np.zeros(256, bool)
    for number, (_, source_kind, target_kinds) in enumerate(FAMILIES, 1):
        family[[source_kind, *target_kinds]] = number
        source[source_kind] = True
    edge = np.array([edge_kind for edge_kind, _, _ in FAMILIES], np.uint8)
    key = np.ascontiguousarray(rows.extensions.key)
    # Allocate the maximum: pages that are not written take no memory.
    src, dst, kind = np.empty(len(key), np.int64), np.empty(len(key), np.int64), np.empty(len(key), np.uint8)
    edges, missed = kernels.pair(
        rows.kind, rows.ext, rows.ts, rows.sequence, rows.sequence.dtype == np.int64, rows.strand_start, rows.process, key,
        np.ascontiguousarray(rows.extensions.flags), FLAG_BYTES, family, source, edge == EdgeKind.USE, edge, granted, src, dst,
        kind,
    )  # fmt: skip
    count = np.frombuffer(missed, np.int64)
    unmatched = {Kind(number): int(count[number]) for number in np.flatnonzero(count).tolist()}
    return Edges(src[:edges], dst[:edges], kind[:edges], unmatched)


def crossings(kind: npt.NDArray[np.uint8], key: U64, clock: npt.NDArray[np.intp]) -> tuple[I64, I64]:
    """Find messages between clocks that cannot be compared yet. Return the positions of the sends and of their receives.

    A message counts only if each clock sent its key at most once, and exactly one clock other than the receiver's sent it.
    Keys that were sent again or forwarded could be matched only by time.
    """
    nothing = np.zeros(0, np.int64)
    use = FAMILIES[0]
    sources = np.flatnonzero(kind == use[1])
    targets = np.flatnonzero(np.isin(kind, [int(target) for target in use[2]]) & (key != 0))
    if not len(sources) or not len(targets):
        return nothing, nothing
    sources = sources[np.argsort(key[sources], kind="stable")]
    first = np.searchsorted(key[sources], key[targets], "left")
    count = np.searchsorted(key[sources], key[targets], "right") - first
    found: list[I64] = []
    # There is one send, by another clock; or two, of which one is by the receiver's clock.
    single = np.flatnonzero(count == 1)
    found.append(np.stack((sources[first[single]], targets[single])))
    double = np.flatnonzero(count == 2)
    one, other = sources[first[double]], sources[np.minimum(first[double] + 1, len(sources) - 1)]
    own = clock[targets[double]]
    found.append(np.stack((one, targets[double]))[:, clock[other] == own])
    found.append(np.stack((other, targets[double]))[:, clock[one] == own])
    src, dst = np.concatenate(found, axis=1)
    across = clock[src] != clock[dst]
    return src[across], dst[across]
