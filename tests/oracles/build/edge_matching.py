"""Reference implementation of the edges between events with equal keys in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.edge_matching import FAMILIES, I64, U64, Edges
from clew.graph.build.row_order import Rows
from clew.records.format.event import FLAG_BYTES, EdgeKind, Kind


def by_columns(rows: Rows) -> Edges:
    """Return the result of `edge_matching.pair`."""
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
    """Return for each target, in time order, the position of its source; -1 if it is unmatched, and for sources."""
    found = np.full(len(key), -1, np.int64)
    # Stable sorts keep the time order among equal keys.
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
    """Carry the latest source forward through each group of equal key (and process) in `order`."""
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
    """Return, for each key that more than one process sends, its records in time order."""
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
