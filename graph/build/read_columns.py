"""Reads a run's records into columns: consecutive pieces of each thread, with the strand of every record.

Numbers in the columns are the process's own, and times are ticks, because their conversion may change while a run is live.
Invariant: the number of pieces that a thread was read in does not affect the graph.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from clew.graph.build.decode_records import Columns, decode
from clew.graph.build.split_strands import Steps, Strands, number, split
from clew.records.read.parallel import together
from clew.records.read.process_records import Extents, Part, ProcessRecords

I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]

_PIECE_BYTES = 32 << 20
"""The number of bytes of a stream that become one piece."""


class Piece(NamedTuple):
    """Consecutive records of one thread. The columns from `key` on have a row per extension; `ext` is that row, -1 for none."""

    ticks: npt.NDArray[np.uint64]
    kind: npt.NDArray[np.uint8]
    site: U32
    strand: U32
    """Strand numbers within the thread, see `Steps`."""
    ext: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    channel: U32
    flags: U16
    length: U16
    """The length of each text in bytes; `texts` is their concatenation."""
    texts: npt.NDArray[np.uint8]


class Taken(NamedTuple):
    """A part of a thread's stream that has been read; see `clew.records.read.process_records.Part`."""

    name: bytes
    block_crc: int
    size: int
    crc: int
    """The checksum of the bytes read, which identifies the part even if it has grown since."""


@dataclass(frozen=True)
class ThreadRead:
    """The records of a thread that have been read."""

    pieces: tuple[Piece, ...] = ()
    ends: I64 = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Per extent, the numbers of bytes and of records up to its end."""
    steps: Steps = field(default_factory=Steps)
    taken: tuple[Taken, ...] | None = ()
    """The parts that were read. None if they were not tracked or a part changed while it was read: reading cannot continue."""

    @property
    def records(self) -> int:
        return int(self.ends[-1, 1]) if len(self.ends) else 0

    def follow(self, extents: Extents) -> tuple[ThreadRead, Extents] | None:
        """Return this with updated parts, and the rest of the stream; None when the stream does not begin with these parts."""
        parts, taken = extents.parts, self.taken
        if taken is None or len(taken) > len(parts):
            return None
        unchanged = []
        for place, (part, seen) in enumerate(zip(parts, taken, strict=False)):
            grown = part.size > seen.size and place == len(taken) - 1
            if part.name != seen.name or (part.size != seen.size and not grown):
                return None
            if not part.block_crc or part.block_crc != seen.block_crc:
                data = part.load()
                if len(data) < seen.size or crc32(data[: seen.size]) != seen.crc:
                    return None
            unchanged.append(seen if grown else seen._replace(block_crc=part.block_crc))
        rest = Extents()
        if unchanged and parts[len(unchanged) - 1].size > unchanged[-1].size:
            rest.add(_beyond(parts[len(unchanged) - 1], unchanged[-1].size))
        for part in parts[len(unchanged) :]:
            rest.add(part)
        return replace(self, taken=tuple(unchanged)), rest

    def read_on(self, found: Iterable[tuple[Columns, tuple[Taken, ...] | None]]) -> ThreadRead:
        """Return this with the following records appended. `found` has each batch with the parts of the stream it is from."""
        pieces, ends, steps, taken = list(self.pieces), [self.ends], self.steps, self.taken
        for columns, parts in found:
            if taken is None or parts is None:
                taken = None
            else:
                grown = taken and parts and taken[-1].name == parts[0].name
                taken = (*taken[: len(taken) - 1 if grown else None], *parts)
            if not len(columns):
                continue
            strand, steps = split(steps, columns.kind, columns.site, columns.ext, columns.key)
            pieces.append(
                Piece(
                    columns.ticks, columns.kind, columns.site, strand, columns.ext, columns.key, columns.channel,
                    columns.flags, np.diff(columns.text_start).astype(np.uint16), columns.texts,
                )
            )  # fmt: skip
            before = ends[-1][-1:] if len(ends[-1]) else np.zeros((1, 2), np.int64)
            ends.append(before + columns.ends)
        return ThreadRead(tuple(pieces), np.concatenate(ends), steps, taken)


def _beyond(part: Part, size: int) -> Part:
    """Return the bytes of a part after the first `size`, as a part."""
    return Part(part.size - size, lambda: part.load()[size:], part.name, part.block_crc)


class _TrackedParts:
    """Parts that compute checksums while they are read. The checksum of a part that grew since `last` continues from it."""

    def __init__(self, extents: Extents, last: Taken | None) -> None:
        self._taken: list[Taken] = []
        self._last = last
        self._whole = True
        self.extents = Extents()
        for part in extents.parts:
            self.extents.add(part._replace(load=partial(self._load, part)))

    def _load(self, part: Part) -> memoryview:
        data = part.load()
        self._whole &= len(data) == part.size
        last = self._last
        before = last if last and last.name == part.name else Taken(part.name, 0, 0, 0)
        self._taken.append(Taken(part.name, part.block_crc, before.size + len(data), crc32(data, before.crc)))
        return data

    @property
    def taken(self) -> tuple[Taken, ...] | None:
        return tuple(self._taken) if self._whole else None


@dataclass(frozen=True)
class ProcessRead:
    """The records of a process that have been read."""

    records: ProcessRecords
    threads: dict[int, ThreadRead]
    """The threads by serial, in ascending order."""
    strands: Strands

    def release_columns(self) -> None:
        """Drop the columns once they are no longer needed."""
        for serial, thread in self.threads.items():
            self.threads[serial] = replace(thread, pieces=())


def read_columns(
    processes: Sequence[ProcessRecords],
    report: Callable[[int], None],
    before: Mapping[str, Mapping[int, ThreadRead]],
    *,
    track: bool,
) -> list[ProcessRead]:
    """Read all records of some processes. Of threads that were read `before`, read only the records added since.

    `before` is by file name and serial. `report` gets the number of bytes that are read next. `track` the parts of streams, so
    that a later call can continue.
    """
    threads = [thread for process in processes for _, thread in sorted(process.threads.items())]
    cached = [
        before.get(os.path.basename(process.path), {}).get(serial)
        for process in processes
        for serial in sorted(process.threads)
    ]
    begun = together(
        partial(_begin, thread.extents, read, report) for thread, read in zip(threads, cached, strict=True)
    )
    slices = [list(_slices(rest)) for _, rest in begun]
    # Sequential: the steps of reading and decoding are too short to gain from handing the GIL over between them.
    decoded = (
        _decode(extents, read.taken, report, track=track)
        for (read, _), of_thread in zip(begun, slices, strict=True)
        for extents in of_thread
    )
    found = [list(islice(decoded, len(of_thread))) for of_thread in slices]
    whole = iter(together(partial(read.read_on, more) for (read, _), more in zip(begun, found, strict=True)))
    return [_process(records, dict(zip(sorted(records.threads), whole, strict=False))) for records in processes]


def _process(records: ProcessRecords, threads: dict[int, ThreadRead]) -> ProcessRead:
    return ProcessRead(records, threads, number((serial, thread.steps) for serial, thread in threads.items()))


def _begin(extents: Extents, cached: ThreadRead | None, report: Callable[[int], None]) -> tuple[ThreadRead, Extents]:
    """Return the records of a stream that need not be read again, and the extents that have to be read."""
    read, rest = (cached and cached.follow(extents)) or (ThreadRead(), extents)
    report(extents.bytes - rest.bytes)
    return read, rest


def _slices(extents: Extents) -> Iterator[Extents]:
    """Yield a stream in at least one slice of whole parts. Several threads convert the columns of slices."""
    found = Extents()
    for part in extents.parts:
        if found.bytes >= _PIECE_BYTES:
            yield found
            found = Extents()
        found.add(part)
    yield found


def _decode(
    extents: Extents, before: tuple[Taken, ...] | None, report: Callable[[int], None], *, track: bool
) -> tuple[Columns, tuple[Taken, ...] | None]:
    report(extents.bytes)
    if not track or before is None:
        return decode(extents), None
    tracked = _TrackedParts(extents, before[-1] if before else None)
    return decode(tracked.extents), tracked.taken
