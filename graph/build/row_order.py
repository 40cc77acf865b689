"""Arranges the records of a run's threads as rows of a graph: strand by strand, within a strand in the order of execution.

All records of a thread are placed at once, and its columns are released before the next thread. Processes are placed in
parallel, since a strand belongs to one process. Invariant: a strand that one thread ran keeps that thread's order; a strand
that several threads ran is sorted by time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.graph.model.graph import Extensions, Texts
from clew.records.errors import ClewError
from clew.records.read.parallel import together

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

NARROW = 1 << 31
"""From this number of rows on, row numbers have 64 bits."""
_UNUSED, _SEVERAL = -1, -2


class Threads(Protocol):
    """The columns of a process's threads. Each list has one array per piece, thread after thread."""

    serials: list[int]
    """The serial of the thread of each piece."""
    times: list[I64]
    kind: list[npt.NDArray[np.uint8]]
    sites: list[U32]
    ext: list[npt.NDArray[np.int32]]
    strands: list[U32]
    """Strand numbers, from the process's first."""
    key: list[npt.NDArray[np.uint64]]
    channels: list[U32]
    flags: list[npt.NDArray[np.uint16]]
    text_length: list[npt.NDArray[np.uint16]]
    texts: list[npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Thread:
    """Consecutive records of one thread."""

    strand: U32
    ts: I64
    kind: npt.NDArray[np.uint8]
    site: U32
    ext: npt.NDArray[np.int32]
    strands_before: int
    """The run's number of the process's first strand."""
    records_before: int
    """The run's number of the first of these records."""
    extensions_before: int
    """The run's number of the first extension of these records."""


@dataclass(frozen=True)
class Rows:
    """The columns of events; see `assemble.Events`."""

    ts: I64
    kind: npt.NDArray[np.uint8]
    site: U32
    ext: npt.NDArray[np.int32]
    sequence: npt.NDArray[Any]
    """The number of the event's record among all records: process by process, thread by thread, in the thread's order."""
    strand_start: I64
    process: U32
    """The process of each strand."""
    extensions: Extensions

    def __len__(self) -> int:
        return len(self.ts)

    def strand(self, rows: I64) -> I64:
        """Return the strands of some events."""
        return np.searchsorted(self.strand_start, rows, "right") - 1

    def of_records(self, first: int, stop: int) -> I64:
        """Return the rows of the records `range(first, stop)`, in the records' order."""
        rows = np.flatnonzero((self.sequence >= first) & (self.sequence < stop))
        return rows[np.argsort(self.sequence[rows])]


def arrange(processes: Sequence[Threads], strands: Sequence[int]) -> Rows:
    """Arrange the records of all processes, and remove the columns from them. `strands` is the number of strands of each."""
    first = [0, *itertools.accumulate(strands)]
    count, home = _sizes(processes, first)
    strand_start = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    events = int(strand_start[-1])
    extensions, works = _extensions(processes)
    to = Rows(
        np.empty(events, np.int64),
        np.empty(events, np.uint8),
        np.empty(events, np.uint32),
        np.empty(events, np.int32),
        np.empty(events, np.int32 if events < NARROW else np.int64),
        strand_start,
        np.repeat(np.arange(len(processes), dtype=np.uint32), strands),
        extensions,
    )
    free = strand_start[:-1].copy()
    records = extended = 0
    for process, base in zip(processes, first, strict=False):
        # Compute this first, because other threads remove the columns of extensions meanwhile.
        before = list(itertools.accumulate(map(len, process.key), initial=extended))
        works.append(partial(_place_all, process, free, to, base=base, records=records, extended=before))
        records += sum(map(len, process.strands))
        extended = before[-1]
    together(works)
    for tangled in np.flatnonzero(home == _SEVERAL).tolist():
        rows = slice(int(strand_start[tangled]), int(strand_start[tangled + 1]))
        order = np.argsort(to.ts[rows], kind="stable")
        for moved in (to.ts, to.kind, to.site, to.ext, to.sequence):
            moved[rows] = moved[rows][order]
    return to


def _sizes(processes: Sequence[Threads], first: Sequence[int]) -> tuple[I64, I64]:
    """Return, per strand, its number of records and the serial of the thread that ran it (or `_SEVERAL`)."""
    count, home = np.zeros(first[-1], np.int64), np.full(first[-1], _UNUSED, np.int64)
    for process, base in zip(processes, first, strict=False):
        for column, serial in zip(process.strands, process.serials, strict=True):
            _tally(column, base, serial, count, home)
    return count, home


def _tally(strand: U32, base: int, thread: int, count: I64, home: I64) -> None:
    """Add a thread's records to the count of each strand, and note the thread in `home`."""
    kernels.tally(np.ascontiguousarray(strand), base, thread, count, home)


def _place_all(process: Threads, free: I64, to: Rows, *, base: int, records: int, extended: Sequence[int]) -> None:
    """Place the records of a process's threads; see `Thread` for the numbers."""
    for before in extended[:-1]:
        thread = Thread(
            process.strands.pop(0), process.times.pop(0), process.kind.pop(0), process.sites.pop(0), process.ext.pop(0),
            base, records, before,
        )  # fmt: skip
        _place(thread, free, to)
        records += len(thread.strand)


def _place(thread: Thread, free: I64, to: Rows) -> None:
    """Copy a thread's columns to the first `free` rows of each strand, and advance `free`."""
    kernels.place(
        np.ascontiguousarray(thread.strand), np.ascontiguousarray(thread.ts), np.ascontiguousarray(thread.kind),
        np.ascontiguousarray(thread.site), np.ascontiguousarray(thread.ext), thread.strands_before, thread.records_before,
        thread.extensions_before, to.strand_start, free, to.sequence.dtype == np.int64, to.ts, to.kind, to.site, to.ext,
        to.sequence,
    )  # fmt: skip


def _extensions(processes: Sequence[Threads]) -> tuple[Extensions, list[Callable[[], None]]]:
    """Allocate the extensions of all threads, thread after thread. Return them with the functions that fill them."""
    total = sum(len(column) for process in processes for column in process.key)
    if total >= NARROW:
        raise ClewError(f"a run has at most {NARROW - 1:,} records with a key or a text; this one has {total:,}")
    key, channel, flags = np.empty(total, np.uint64), np.empty(total, np.uint32), np.empty(total, np.uint16)
    start = np.empty(total + 1, np.int64)
    texts = np.empty(sum(len(column) for process in processes for column in process.texts), np.uint8)

    def starts() -> None:
        start[0] = 0
        _join(processes, "text_length", start[1:])
        np.cumsum(start[1:], out=start[1:])

    columns: dict[str, npt.NDArray[Any]] = {"key": key, "channels": channel, "flags": flags, "texts": texts}
    works: list[Callable[[], None]] = [starts, *(partial(_join, processes, *column) for column in columns.items())]
    return Extensions(key, channel, flags, Texts(start, texts)), works


def _join(processes: Sequence[Threads], name: str, to: npt.NDArray[Any]) -> None:
    """Copy a column of all threads, and remove it from the processes."""
    at = 0
    for process in processes:
        columns: list[npt.NDArray[Any]] = getattr(process, name)
        while columns:
            column = columns.pop(0)
            to[at : at + len(column)] = column
            at += len(column)
