"""Reads a run's records into columns: of each thread pieces that follow each other, with the strand of every record.

Numbers in them are the process's own, and times are ticks: what a run makes of both may change as it grows. Invariant: in how
many pieces a thread was read shows in nothing that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from clew.graph.decode import decode
from clew.graph.strands import Steps, Strands, number, split
from clew.records.found import Extents, Part, ProcessRecords

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


class Taken(NamedTuple):
    """A part of a thread's stream that has been read, see `clew.records.found.Part`."""

    name: bytes
    frame: int
    size: int
    crc: int
    """Of its bytes, by which it is known again while it may have grown."""


@dataclass(frozen=True)
class ThreadRead:
    """What has been read of a thread."""

    pieces: tuple[Piece, ...] = ()
    ends: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Pairs of bytes and records, where an extent ended."""
    steps: Steps = field(default_factory=Steps)
    taken: tuple[Taken, ...] | None = ()
    """None when that was not asked for, or a part turned out to be other than it had seemed: then nothing can follow."""

    @property
    def records(self) -> int:
        return int(self.ends[-1, 1]) if len(self.ends) else 0

    def follow(self, extents: Extents) -> tuple[ThreadRead, Extents] | None:
        """This, as far as it is still right, and what follows it in the stream; None when the stream begins otherwise."""
        parts, taken = extents.parts, self.taken
        if taken is None or len(taken) > len(parts):
            return None
        known = []
        for place, (part, seen) in enumerate(zip(parts, taken, strict=False)):
            grown = part.size > seen.size and place == len(taken) - 1
            if part.name != seen.name or (part.size != seen.size and not grown):
                return None
            if not part.frame or part.frame != seen.frame:
                data = part.load()
                if len(data) < seen.size or crc32(data[: seen.size]) != seen.crc:
                    return None
            known.append(seen if grown else seen._replace(frame=part.frame))
        rest = Extents()
        if known and parts[len(known) - 1].size > known[-1].size:
            rest.add(_beyond(parts[len(known) - 1], known[-1].size))
        for part in parts[len(known) :]:
            rest.add(part)
        return replace(self, taken=tuple(known)), rest

    def read_on(self, extents: Extents, *, watched: bool) -> ThreadRead:
        """With the records that follow. `watched`: so that others can follow them."""
        watch = _Watch(extents, self.taken or ()) if watched and self.taken is not None else None
        found = decode(watch.extents if watch else extents)
        taken = watch.taken if watch else None
        if not len(found):
            return replace(self, taken=taken)
        strand, steps = split(self.steps, found.kind, found.site, found.ext, found.key)
        length = np.diff(found.text_start).astype(np.uint16)
        piece = Piece(
            found.ticks, found.kind, found.site, strand, found.ext, found.key, found.channel, found.flags, length,
            found.texts,
        )  # fmt: skip
        before = self.ends[-1:] if len(self.ends) else np.zeros((1, 2), np.int64)
        return ThreadRead((*self.pieces, piece), np.concatenate((self.ends, before + found.ends)), steps, taken)


def _beyond(part: Part, size: int) -> Part:
    """What has been added to a part."""
    return Part(part.size - size, lambda: part.load()[size:], part.name, part.frame)


class _Watch:
    """Parts whose bytes are summed up as they are read."""

    def __init__(self, extents: Extents, before: tuple[Taken, ...]) -> None:
        self._taken = list(before)
        self._whole = True
        self.extents = Extents()
        for part in extents.parts:
            self.extents.add(part._replace(load=partial(self._load, part)))

    def _load(self, part: Part) -> memoryview:
        data = part.load()
        self._whole &= len(data) == part.size
        before = Taken(part.name, 0, 0, 0)
        if self._taken and self._taken[-1].name == part.name:
            before = self._taken.pop()
        self._taken.append(Taken(part.name, part.frame, before.size + len(data), crc32(data, before.crc)))
        return data

    @property
    def taken(self) -> tuple[Taken, ...] | None:
        return tuple(self._taken) if self._whole else None


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


def read_columns(
    records: ProcessRecords, tell: Callable[[int], None], before: Mapping[int, ThreadRead], *, watched: bool
) -> ProcessRead:
    """All of a process; of threads that were read `before` only what has been added. `tell` is told how many bytes come next;
    `watched`: so that it can be added to."""
    threads = {}
    for serial, thread in sorted(records.threads.items()):
        tell(thread.extents.bytes)
        known = before[serial].follow(thread.extents) if serial in before else None
        read, rest = known or (ThreadRead(), thread.extents)
        threads[serial] = read.read_on(rest, watched=watched)
    return ProcessRead(records, threads, number((serial, thread.steps) for serial, thread in threads.items()))
