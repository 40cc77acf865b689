"""Finds the edges: each target joined to the last source of its key before it.

A source of the same process is preferred, whatever other processes did with the key, with one exception: a sent object that
another process has received meanwhile is out of the process's hands, so when that process sent the key again, as a reply
that carries its request's number does, the later source counts. Invariant: no edge leads backward in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.arrange import Rows
from clew.graph.walks import in_c, walks
from clew.records.event import FLAG_BYTES, EdgeKind, Kind

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

FAMILIES = (
    (EdgeKind.USE, Kind.SEND, (Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN)),
    (EdgeKind.SYNC, Kind.RELEASE, (Kind.ACQUIRE,)),
    (EdgeKind.STATE, Kind.DEFINE, (Kind.USE,)),
)

GRANTED = 1 << 22
"""Of 32 bytes each."""


@dataclass(frozen=True)
class Edges:
    """Rows of events, in no order; `unmatched` counts, per kind of target, those whose source was not found."""

    src: I64
    dst: I64
    kind: npt.NDArray[np.uint8]
    unmatched: dict[Kind, int]


def pair(rows: Rows) -> Edges:
    """The edges between the events that have a key. Of equal times the one recorded first is the earlier one."""
    return (by_walks if in_c else by_columns)(rows)


def by_walks(rows: Rows, granted: int = GRANTED) -> Edges:
    """In parts by keys; `granted` events are held at a time."""
    family, source = np.zeros(256, np.uint8), np.zeros(256, bool)
    for number, (_, source_kind, target_kinds) in enumerate(FAMILIES, 1):
        family[[source_kind, *target_kinds]] = number
        source[source_kind] = True
    edge = np.array([edge_kind for edge_kind, _, _ in FAMILIES], np.uint8)
    key = np.ascontiguousarray(rows.extensions.key)
    # As many as there can be: what is not written takes no memory.
    src, dst, kind = np.empty(len(key), np.int64), np.empty(len(key), np.int64), np.empty(len(key), np.uint8)
    edges, missed = walks.pair(
        rows.kind, rows.ext, rows.ts, rows.sequence, rows.sequence.dtype == np.int64, rows.strand_start, rows.process, key,
        np.ascontiguousarray(rows.extensions.flags), FLAG_BYTES, family, source, edge == EdgeKind.USE, edge, granted, src, dst,
        kind,
    )  # fmt: skip
    count = np.frombuffer(missed, np.int64)
    unmatched = {Kind(number): int(count[number]) for number in np.flatnonzero(count).tolist()}
    return Edges(src[:edges], dst[:edges], kind[:edges], unmatched)


def by_columns(rows: Rows) -> Edges:
    """The same in numpy."""
    extended = np.flatnonzero(rows.ext >= 0)
    row = extended[(rows.extensions.flags[rows.ext[extended]] & FLAG_BYTES) == 0]
    row = row[np.lexsort((rows.sequence[row], rows.ts[row]))]
    kind, key, process = rows.kind[row], rows.extensions.key[rows.ext[row]], rows.process[rows.strand(row)]
    sources: list[I64] = []
    targets: list[I64] = []
    kinds: list[I64] = []
    unmatched: dict[Kind, int] = {}
    for edge_kind, source_kind, target_kinds in FAMILIES:
        is_source = kind == source_kind
        is_target = np.isin(kind, [int(target) for target in target_kinds]) & (key != 0)
        chosen = np.flatnonzero(is_source | is_target)
        if not is_target[chosen].any():
            continue
        found = last_sources(is_source[chosen], key[chosen], process[chosen], handed_over=edge_kind == EdgeKind.USE)
        hit = np.flatnonzero(found >= 0)
        sources.append(row[chosen[found[hit]]])
        targets.append(row[chosen[hit]])
        kinds.append(np.full(len(hit), edge_kind, np.int64))
        missed = kind[chosen[(found < 0) & ~is_source[chosen]]]
        for target in target_kinds:
            count = int((missed == target).sum())
            if count:
                unmatched[target] = count
    if not sources:
        nothing = np.zeros(0, np.int64)
        return Edges(nothing, nothing, nothing.astype(np.uint8), unmatched)
    return Edges(np.concatenate(sources), np.concatenate(targets), np.concatenate(kinds).astype(np.uint8), unmatched)


def last_sources(
    is_source: npt.NDArray[np.bool_], key: U64, process: npt.NDArray[np.uint32], *, handed_over: bool
) -> I64:
    """Positions in time order: for each target the source it is joined to, -1 for none (and for sources)."""
    found = np.full(len(key), -1, np.int64)
    # Stable sorts keep the time order among equals.
    by_key = np.argsort(key, kind="stable")
    if int(process.min()) == int(process.max()):
        return _fill(by_key, is_source, key, None, found)
    by_both = by_key[np.lexsort((process[by_key], key[by_key]))]
    _fill(by_both, is_source, key, process, found)
    missing = found < 0
    elsewhere = _fill(by_key, is_source, key, None, np.full(len(key), -1, np.int64))
    found[missing] = elsewhere[missing]
    if handed_over:
        for positions in _shared_keys(by_key, is_source, key, process):
            _follow_hand_overs(positions, is_source, process, found)
    return found


def _fill(
    order: I64,
    is_source: npt.NDArray[np.bool_],
    key: U64,
    process: npt.NDArray[np.uint32] | None,
    found: I64,
) -> I64:
    """Carries the latest source forward through each group of equal key (and process) in `order`."""
    source = is_source[order]
    latest = np.maximum.accumulate(np.where(source, np.arange(len(order)), -1))
    target = np.flatnonzero(~source & (latest >= 0))
    at, candidate = order[target], order[latest[target]]
    same = key[at] == key[candidate]
    if process is not None:
        same &= process[at] == process[candidate]
    found[at[same]] = candidate[same]
    return found


def _shared_keys(
    by_key: I64, is_source: npt.NDArray[np.bool_], key: U64, process: npt.NDArray[np.uint32]
) -> list[list[int]]:
    """The records, in time order, of each key that more than one process sends."""
    source = by_key[is_source[by_key]]
    changes = (key[source[1:]] == key[source[:-1]]) & (process[source[1:]] != process[source[:-1]])
    shared = np.unique(key[source[1:][changes]])
    if not len(shared):
        return []
    keys = key[by_key]
    first, last = np.searchsorted(keys, shared, "left"), np.searchsorted(keys, shared, "right")
    return [by_key[low:high].tolist() for low, high in zip(first.tolist(), last.tolist(), strict=True)]


def _follow_hand_overs(
    positions: list[int], is_source: npt.NDArray[np.bool_], process: npt.NDArray[np.uint32], found: I64
) -> None:
    own: dict[int, int] = {}
    latest = -1
    handed_over: set[int] = set()
    for position in positions:
        here = int(process[position])
        if is_source[position]:
            own[here] = latest = position
            continue
        mine = own.get(here, -1)
        source = latest if mine < 0 or mine in handed_over else mine
        found[position] = source
        if source >= 0 and process[source] != here:
            handed_over.add(source)


def crossings(kind: npt.NDArray[np.uint8], key: U64, clock: npt.NDArray[np.intp]) -> tuple[I64, I64]:
    """Messages between clocks that cannot be compared yet: positions of sends and of what they were received by.

    Only keys that every clock sends once at most, and a receive that one other clock has sent for: what was sent on, or
    again, would need the times to be told apart.
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
    # One send, by another clock; or two, of which one is by the receiver's own.
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
