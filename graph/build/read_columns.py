"""Reads a run's records into columns: of each thread pieces that follow each other, with the strand of every record.

Numbers in them are the process's own, and times are ticks: what a run makes of both may change as it grows. Invariant: in how
many pieces a thread was read shows in nothing that is made of them.
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

_AT_ONCE = 32 << 20
"""Bytes of a stream that become one piece."""


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
    """A part of a thread's stream that has been read, see `clew.records.read.process_records.Part`."""

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

    def read_on(self, found: Iterable[tuple[Columns, tuple[Taken, ...] | None]]) -> ThreadRead:
        """With the records that follow, and the parts of the stream that they are of."""
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
    """What has been added to a part."""
    return Part(part.size - size, lambda: part.load()[size:], part.name, part.frame)


class _Watch:
    """Parts whose bytes are summed up as they are read; of one that was read as far as `last` they go on from there."""

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
    processes: Sequence[ProcessRecords],
    tell: Callable[[int], None],
    before: Mapping[str, Mapping[int, ThreadRead]],
    *,
    watched: bool,
) -> list[ProcessRead]:
    """All of some processes; of threads that were read `before` (by the file's name and serial) only what has been added.
    `tell` is told how many bytes come next; `watched`: so that it can be added to."""
    threads = [thread for process in processes for _, thread in sorted(process.threads.items())]
    known = [
        before.get(os.path.basename(process.path), {}).get(serial)
        for process in processes
        for serial in sorted(process.threads)
    ]
    begun = together(partial(_begin, thread.extents, read, tell) for thread, read in zip(threads, known, strict=True))
    slices = [list(_slices(rest)) for _, rest in begun]
    # One after the other: a stream is read and decoded in steps too small to be worth handing the GIL over between them.
    decoded = (
        _decode(extents, read.taken, tell, watched=watched)
        for (read, _), of_thread in zip(begun, slices, strict=True)
        for extents in of_thread
    )
    found = [list(islice(decoded, len(of_thread))) for of_thread in slices]
    whole = iter(together(partial(read.read_on, more) for (read, _), more in zip(begun, found, strict=True)))
    return [_process(records, dict(zip(sorted(records.threads), whole, strict=False))) for records in processes]


def _process(records: ProcessRecords, threads: dict[int, ThreadRead]) -> ProcessRead:
    return ProcessRead(records, threads, number((serial, thread.steps) for serial, thread in threads.items()))


def _begin(extents: Extents, known: ThreadRead | None, tell: Callable[[int], None]) -> tuple[ThreadRead, Extents]:
    """What need not be read again of a stream, and what is to be read."""
    read, rest = (known and known.follow(extents)) or (ThreadRead(), extents)
    tell(extents.bytes - rest.bytes)
    return read, rest


def _slices(extents: Extents) -> Iterator[Extents]:
    """A stream in parts, at least one, whose columns several threads translate."""
    found = Extents()
    for part in extents.parts:
        if found.bytes >= _AT_ONCE:
            yield found
            found = Extents()
        found.add(part)
    yield found


def _decode(
    extents: Extents, before: tuple[Taken, ...] | None, tell: Callable[[int], None], *, watched: bool
) -> tuple[Columns, tuple[Taken, ...] | None]:
    tell(extents.bytes)
    if not watched or before is None:
        return decode(extents), None
    watch = _Watch(extents, before[-1] if before else None)
    return decode(watch.extents), watch.taken
