"""Converts record bytes to columns.

Invariant: given extents of whole records, as the reader of `clew.records` yields them, there is one row per record, in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.records.format.event import RECORD_SIZE
from clew.records.read.process_records import Extents

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Columns:
    """The columns of records. Those from `key` on have a row per extension; `ext` is that row, -1 for none."""

    ticks: U64
    kind: npt.NDArray[np.uint8]
    site: npt.NDArray[np.uint32]
    ext: npt.NDArray[np.int32]
    key: U64
    channel: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint16]
    text_start: I64
    """Text i is `texts[text_start[i]:text_start[i + 1]]`."""
    texts: npt.NDArray[np.uint8]
    ends: I64
    """The numbers of bytes and of records up to the end of each extent, of shape (n, 2)."""

    def __len__(self) -> int:
        return len(self.ticks)

    def text(self, row: int) -> str:
        ext = int(self.ext[row])
        if ext < 0:
            return ""
        return self.texts[self.text_start[ext] : self.text_start[ext + 1]].tobytes().decode("utf-8", "replace")


def decode(extents: Iterable[bytes | memoryview]) -> Columns:
    """Decode the records of one thread's extents."""
    if not isinstance(extents, Extents):
        extents = [memoryview(extent) for extent in extents]
    size = extents.bytes if isinstance(extents, Extents) else sum(map(len, extents))
    # Allocate the maximum, so that no extent is read twice: pages that are not written take no memory.
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
        records, extended = kernels.fill(
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
