"""Finds the edges: each target joined to the last source of its key before it.

A source of the same process is preferred, whatever other processes did with the key, with one exception: a sent object that
another process has received meanwhile is out of the process's hands, so when that process sent the key again, as a reply
that carries its request's number does, the later source counts. Invariant: no edge leads backward in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.walks import in_c, walks
from clew.records.event import EdgeKind, Kind

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

FAMILIES = (
    (EdgeKind.USE, Kind.SEND, (Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN)),
    (EdgeKind.SYNC, Kind.RELEASE, (Kind.ACQUIRE,)),
    (EdgeKind.STATE, Kind.DEFINE, (Kind.USE,)),
)


@dataclass(frozen=True)
class Edges:
    """Rows of events; `unmatched` counts, per kind of target, those whose source was not found."""

    src: I64
    dst: I64
    kind: npt.NDArray[np.uint8]
    unmatched: dict[Kind, int]


def pair(row: I64, kind: npt.NDArray[np.uint8], key: U64, ts: I64, process: npt.NDArray[np.uint32]) -> Edges:
    """Columns of the events that have a key; those of one thread in its order, which decides between equal times."""
    by_time = np.argsort(ts, kind="stable")
    row, kind, key, process = row[by_time], kind[by_time], key[by_time], process[by_time]
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
        found = _last_sources(is_source[chosen], key[chosen], process[chosen], handed_over=edge_kind == EdgeKind.USE)
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


def _last_sources(
    is_source: npt.NDArray[np.bool_], key: U64, process: npt.NDArray[np.uint32], *, handed_over: bool
) -> I64:
    """Positions in time order: for each target the source it is joined to, -1 for none (and for sources)."""
    if not in_c:
        return last_sources(is_source, key, process, handed_over=handed_over)
    found = np.empty(len(key), np.int64)
    walks.sources(is_source, key, process, handed_over, found)
    return found


def last_sources(
    is_source: npt.NDArray[np.bool_], key: U64, process: npt.NDArray[np.uint32], *, handed_over: bool
) -> I64:
    """The same in numpy."""
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
