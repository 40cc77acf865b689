"""Record bytes to columns: in C; or plain records all at once, with a loop only over those with an extension.

Invariant: extents hold whole records, as `records.reader` gives them; then there is one row per record, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import expand
from clew.graph.walks import in_c, walks
from clew.records.event import RECORD_SIZE
from clew.records.found import Extents

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Columns:
    """Records in their order; the columns from `key` on have a row per extension, which `ext` names (-1 for none)."""

    ticks: U64
    kind: npt.NDArray[np.uint8]
    site: npt.NDArray[np.uint32]
    ext: npt.NDArray[np.int32]
    key: U64
    channel: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint16]
    text_start: I64
    """One more than there are extensions: text i is `texts[text_start[i]:text_start[i + 1]]`."""
    texts: npt.NDArray[np.uint8]
    ends: I64
    """Per extent the bytes and the records up to its end, shape (n, 2)."""

    def __len__(self) -> int:
        return len(self.ticks)

    def text(self, row: int) -> str:
        ext = int(self.ext[row])
        if ext < 0:
            return ""
        return self.texts[self.text_start[ext] : self.text_start[ext + 1]].tobytes().decode("utf-8", "replace")


def decode(extents: Iterable[bytes | memoryview]) -> Columns:
    """The records of one thread's extents."""
    return _by_walks(extents) if in_c else by_columns(extents)


def _by_walks(extents: Iterable[bytes | memoryview]) -> Columns:
    if not isinstance(extents, Extents):
        extents = [memoryview(extent) for extent in extents]
    size = extents.bytes if isinstance(extents, Extents) else sum(map(len, extents))
    # As much as there can be: what is not written takes no memory, and no extent is read twice.
    most, most_extended = size // RECORD_SIZE, size // (2 * RECORD_SIZE)
    ticks, kind = np.empty(most, np.uint64), np.empty(most, np.uint8)
    site, ext = np.empty(most, np.uint32), np.empty(most, np.int32)
    key, channel = np.empty(most_extended, np.uint64), np.empty(most_extended, np.uint32)
    flags, start = np.empty(most_extended, np.uint16), np.empty(most_extended + 1, np.int64)
    texts = np.empty(size, np.uint8)
    row = extension = done = 0
    start[0] = 0
    ends: list[tuple[int, int]] = []
    for extent in extents:
        records, extended = walks.fill(
            extent, extension, ticks[row:], kind[row:], site[row:], ext[row:], key[extension:], channel[extension:],
            flags[extension:], start[extension:], texts[start[extension] :],
        )  # fmt: skip
        row += records
        extension += extended
        done += len(extent)
        ends.append((done, row))
    text = int(start[extension])
    return Columns(
        ticks[:row], kind[:row], site[:row], ext[:row], key[:extension], channel[:extension], flags[:extension],
        start[: extension + 1], texts[:text], np.array(ends, np.int64).reshape(-1, 2),
    )  # fmt: skip


def by_columns(extents: Iterable[bytes | memoryview]) -> Columns:
    """The same in numpy."""
    parts = [np.frombuffer(extent, "<u8").reshape(-1, 2) for extent in extents]
    units = np.concatenate(parts) if parts else np.zeros((0, 2), np.uint64)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return _columns(units, _extended(units), ends)


def _extended(units: U64) -> I64:
    """Where the records with an extension are."""
    slots = units.view(np.uint8).reshape(-1, RECORD_SIZE)[:, 9]
    candidates = np.flatnonzero(slots)
    # What looks like an extended record may be a slot of the one before: each says where the next can be.
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
