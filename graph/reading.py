"""Reads a run's records into columns: of each thread pieces that follow each other, with the strand of every record.

Numbers in them are the process's own, and times are ticks: what a run makes of both may change as it grows. Invariant: in how
many pieces a thread was read shows in nothing that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.decode import decode
from clew.graph.strands import Steps, Strands, number, split
from clew.records.found import Extents, ProcessRecords

I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]


class Piece(NamedTuple):
    """Records of one thread that follow each other. Columns from `key` on have a row per extension, which `ext` names (-1 for
    none)."""

    ticks: npt.NDArray[np.uint64]
    kind: npt.NDArray[np.uint8]
    site: U32
    strand: U32
    """Within the thread, see `Steps`."""
    ext: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    channel: U32
    flags: U16
    length: U16
    """Bytes of each text, which follow each other in `texts`."""
    texts: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ThreadRead:
    """What has been read of a thread."""

    pieces: tuple[Piece, ...] = ()
    ends: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Pairs of bytes and records, where an extent ended."""
    steps: Steps = field(default_factory=Steps)

    @property
    def records(self) -> int:
        return int(self.ends[-1, 1]) if len(self.ends) else 0

    def read_on(self, extents: Extents) -> ThreadRead:
        """With the records that follow."""
        found = decode(extents)
        if not len(found):
            return self
        strand, steps = split(self.steps, found.kind, found.site, found.ext, found.key)
        length = np.diff(found.text_start).astype(np.uint16)
        piece = Piece(
            found.ticks, found.kind, found.site, strand, found.ext, found.key, found.channel, found.flags, length,
            found.texts,
        )  # fmt: skip
        before = self.ends[-1:] if len(self.ends) else np.zeros((1, 2), np.int64)
        return ThreadRead((*self.pieces, piece), np.concatenate((self.ends, before + found.ends)), steps)


@dataclass(frozen=True)
class ProcessRead:
    """What has been read of a process."""

    records: ProcessRecords
    threads: dict[int, ThreadRead]
    """By their serials, in this order."""
    strands: Strands

    def let_go(self) -> None:
        """Of the columns, once they are no longer needed."""
        for serial, thread in self.threads.items():
            self.threads[serial] = replace(thread, pieces=())


def read_columns(records: ProcessRecords, tell: Callable[[int], None]) -> ProcessRead:
    """All of a process. `tell` is told how many bytes are about to be read."""
    threads = {}
    for serial, thread in sorted(records.threads.items()):
        tell(thread.extents.bytes)
        threads[serial] = ThreadRead().read_on(thread.extents)
    return ProcessRead(records, threads, number((serial, thread.steps) for serial, thread in threads.items()))
