"""Reference implementation of decoding record bytes into columns in numpy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clew.graph.build.decode_records import I64, U64, Columns
from clew.graph.model.array_utils import expand
from clew.records.format.event import RECORD_SIZE


def by_columns(extents: Iterable[bytes | memoryview]) -> Columns:
    """Return the result of `decode_records.decode`."""
    parts = [np.frombuffer(extent, "<u8").reshape(-1, 2) for extent in extents]
    units = np.concatenate(parts) if parts else np.zeros((0, 2), np.uint64)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return _columns(units, _extended(units), ends)


def _extended(units: U64) -> I64:
    """Return the positions of the records with an extension."""
    slots = units.view(np.uint8).reshape(-1, RECORD_SIZE)[:, 9]
    candidates = np.flatnonzero(slots)
    # A candidate may be a slot of the previous extended record; each record limits where the next can begin.
    following = np.searchsorted(candidates, candidates + 1 + slots[candidates]).tolist()
    found: list[int] = []
    at, count = 0, len(candidates)
    while at < count:
        found.append(at)
        at = following[at]
    return candidates[np.array(found, np.int64)]


def _columns(units: U64, places: I64, ends: I64) -> Columns:
    slots = units.view(np.uint8).reshape(-1, RECORD_SIZE)[places, 9].astype(np.int64)
    records = ends
    if len(places):
        is_record = np.ones(len(units), bool)
        is_record[expand(places + 1, places + 1 + slots)] = False
        rows = np.flatnonzero(is_record)
        records = np.searchsorted(rows, ends)
        ext = np.full(len(units), -1, np.int32)
        ext[places] = np.arange(len(places), dtype=np.int32)
        ext = ext[rows]
        ticks, word = units[rows, 0], units[rows, 1]
    else:
        ext = np.full(len(units), -1, np.int32)
        ticks, word = units[:, 0].copy(), units[:, 1]
    head, key = units[places + 1, 0], units[places + 1, 1]
    length = np.minimum((head & np.uint64(0xFFFF)).astype(np.int64), (slots - 1) * RECORD_SIZE)
    start = (places + 2) * RECORD_SIZE
    texts = units.view(np.uint8).reshape(-1)[expand(start, start + length)]
    return Columns(
        ticks,
        (word & np.uint64(0xFF)).astype(np.uint8),
        (word >> np.uint64(32)).astype(np.uint32),
        ext,
        key,
        (head >> np.uint64(32)).astype(np.uint32),
        (head >> np.uint64(16)).astype(np.uint16),
        np.concatenate(([0], np.cumsum(length))).astype(np.int64),
        texts,
        np.stack((ends * RECORD_SIZE, records), axis=1).astype(np.int64),
    )
