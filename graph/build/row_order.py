"""Puts the records of a run's threads where a graph has its events: strand by strand, in a strand in the order they happened.

A thread's records go to their places all at once, and its columns are let go before the next thread's turn; processes take
theirs side by side, since no strand is two processes'. Invariant: a strand that one thread ran keeps that thread's order, one
that several ran is in the order of time.
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
"""So many rows and more are counted in 64 bits."""
_NOBODY, _SEVERAL = -1, -2


class Threads(Protocol):
    """The columns of a process's threads, of each as many as there are pieces of threads, one thread's after the other's."""

    serials: list[int]
    """Which thread a piece is of."""
    times: list[I64]
    kind: list[npt.NDArray[np.uint8]]
    sites: list[U32]
    ext: list[npt.NDArray[np.int32]]
    strands: list[U32]
    """Numbered from the process's first."""
    key: list[npt.NDArray[np.uint64]]
    channels: list[U32]
    flags: list[npt.NDArray[np.uint16]]
    text_length: list[npt.NDArray[np.uint16]]
    texts: list[npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Thread:
    """Records of one thread that follow each other."""

    strand: U32
    ts: I64
    kind: npt.NDArray[np.uint8]
    site: U32
    ext: npt.NDArray[np.int32]
    strands_before: int
    """What the first strand of the process is in the run; likewise the piece's first record, and its first extension."""
    records_before: int
    extensions_before: int


@dataclass(frozen=True)
class Rows:
    """Columns of events; see `assemble.Events`."""

    ts: I64
    kind: npt.NDArray[np.uint8]
    site: U32
    ext: npt.NDArray[np.int32]
    sequence: npt.NDArray[Any]
    """The number of the event's record among all: process by process, thread by thread, in each thread's order."""
    strand_start: I64
    process: U32
    """Per strand."""
    extensions: Extensions

    def __len__(self) -> int:
        return len(self.ts)

    def strand(self, rows: I64) -> I64:
        """The strands of some events."""
        return np.searchsorted(self.strand_start, rows, "right") - 1

    def of_records(self, first: int, stop: int) -> I64:
        """Where the records `first` up to `stop` are, in their order."""
        rows = np.flatnonzero((self.sequence >= first) & (self.sequence < stop))
        return rows[np.argsort(self.sequence[rows])]


def arrange(processes: Sequence[Threads], strands: Sequence[int]) -> Rows:
    """Takes the columns away from the processes; `strands` is how many each has."""
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
        # Told before: columns of extensions are taken away meanwhile.
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
    """Per strand how many records it has, and the serial of the thread that ran it."""
    count, home = np.zeros(first[-1], np.int64), np.full(first[-1], _NOBODY, np.int64)
    for process, base in zip(processes, first, strict=False):
        for column, serial in zip(process.strands, process.serials, strict=True):
            _tally(column, base, serial, count, home)
    return count, home


def _tally(strand: U32, base: int, thread: int, count: I64, home: I64) -> None:
    """Adds a thread's records to those of each strand, and notes that it ran it."""
    kernels.tally(np.ascontiguousarray(strand), base, thread, count, home)


def _place_all(process: Threads, free: I64, to: Rows, *, base: int, records: int, extended: Sequence[int]) -> None:
    """A process's threads, see `Thread` for the numbers."""
    for before in extended[:-1]:
        thread = Thread(
            process.strands.pop(0), process.times.pop(0), process.kind.pop(0), process.sites.pop(0), process.ext.pop(0),
            base, records, before,
        )  # fmt: skip
        _place(thread, free, to)
        records += len(thread.strand)


def _place(thread: Thread, free: I64, to: Rows) -> None:
    """Puts a thread's columns to the rows that are `free` first in each strand."""
    kernels.place(
        np.ascontiguousarray(thread.strand), np.ascontiguousarray(thread.ts), np.ascontiguousarray(thread.kind),
        np.ascontiguousarray(thread.site), np.ascontiguousarray(thread.ext), thread.strands_before, thread.records_before,
        thread.extensions_before, to.strand_start, free, to.sequence.dtype == np.int64, to.ts, to.kind, to.site, to.ext,
        to.sequence,
    )  # fmt: skip


def _extensions(processes: Sequence[Threads]) -> tuple[Extensions, list[Callable[[], None]]]:
    """Room for all threads' extensions, one thread's after the other's, and the works that fill it."""
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
    """A column of all threads, which the processes keep no longer."""
    at = 0
    for process in processes:
        columns: list[npt.NDArray[Any]] = getattr(process, name)
        while columns:
            column = columns.pop(0)
            to[at : at + len(column)] = column
            at += len(column)
