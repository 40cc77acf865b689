"""Count the calls of a live run's functions so far, from the data added to its record files.

No graph is built, so a snapshot costs only the data added since the previous one. Invariant: after any number of
snapshots, the counts equal one count of all records. This includes records that the quota dropped after a snapshot
had read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clew.graph.build.decode_records import Columns, decode
from clew.graph.model.event import ERROR
from clew.records.format.event import Kind, SiteInfo
from clew.records.read.process_records import Definitions, Part, ProcessRecords
from clew.records.read.reader import read_run
from clew.records.read.scan_cache import Known

_COUNTED = (Kind.ENTER, Kind.EXIT, Kind.UNWIND)


@dataclass(frozen=True)
class FunctionCount:
    """The counts of one function in all processes."""

    module: str
    qualname: str
    file: str
    line: int
    calls: int
    under_way: int
    """Calls that have not ended yet."""
    raised: int
    """Calls that ended with an exception."""

    @property
    def label(self) -> str:
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True)
class Counts:
    """The counts up to a snapshot."""

    processes: int = 0
    events: int = 0
    calls: int = 0
    errors: int = 0
    """Log lines of level ERROR and above."""
    functions: tuple[FunctionCount, ...] = ()
    """The functions that were called."""


@dataclass
class _Process:
    """The data read from one trace file."""

    seen: dict[int, dict[bytes, tuple[int, int]]] = field(default_factory=dict)
    """Map each thread and each part of its stream to the compressed block that holds the part and the number of bytes
    counted.
    """
    definitions: Definitions | None = None
    sites: dict[int, SiteInfo] = field(default_factory=dict)
    calls: dict[Kind, Counter[int]] = field(default_factory=lambda: {kind: Counter() for kind in _COUNTED})
    """The number of calls by site that began, ended, and ended with an exception."""
    only_counted: Mapping[int, int] = field(default_factory=dict)
    """Calls that were only counted, by site."""

    def known(self) -> Known:
        # A part's name is its chunk's identity plus one byte.
        ends = {name[:-1]: part for parts in self.seen.values() for name, part in parts.items() if part[0]}
        return Known(ends, self.definitions)


class Tally:
    """Counts the calls of the run in a folder. One thread at a time may use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: dict[str, _Process] = {}
        self._events = self._errors = 0

    def poll(self) -> Counts:
        """Count the data added since the last call. Damaged or missing files never raise an error."""
        known = {name: process.known() for name, process in self._processes.items()}
        found = read_run(self.folder, known).processes
        for records in found:
            self._add(self._processes.setdefault(Path(records.path).name, _Process()), records)
        functions = _functions(self._processes.values())
        calls = sum(function.calls for function in functions)
        return Counts(len(found), self._events, calls, self._errors, functions)

    def _add(self, process: _Process, records: ProcessRecords) -> None:
        process.sites, process.definitions = records.sites, records.definitions
        process.only_counted = records.counters
        for serial, thread in records.threads.items():
            seen = process.seen.setdefault(serial, {})
            for part in thread.extents.parts:
                block_crc, before = seen.get(part.name, (0, 0))
                if part.size > before:
                    self._count(process, decode([_after(part, before)]))
                if part.size > before or part.block_crc != block_crc:
                    seen[part.name] = (part.block_crc, max(part.size, before))

    def _count(self, process: _Process, added: Columns) -> None:
        if not len(added):
            return
        self._events += len(added)
        logged = added.ext[added.kind == Kind.LOG]
        self._errors += int(np.count_nonzero(added.key[logged[logged >= 0]] >= ERROR))
        for kind, calls in process.calls.items():
            sites, counts = np.unique(added.site[added.kind == kind], return_counts=True)
            calls.update(dict(zip(sites.tolist(), counts.tolist(), strict=True)))


def _after(part: Part, size: int) -> memoryview:
    """Return the data added to a part, empty if the part was dropped meanwhile."""
    return part.load()[size:]


def _functions(processes: Iterable[_Process]) -> tuple[FunctionCount, ...]:
    sums: dict[tuple[str, str, str, int], list[int]] = {}
    for process in processes:
        begun, ended, raised = (process.calls[kind] for kind in _COUNTED)
        for site in (begun.keys() | process.only_counted.keys()) & process.sites.keys():
            about = process.sites[site]
            sum_ = sums.setdefault((about.module, about.qualname, about.file, about.line), [0, 0, 0])
            sum_[0] += begun[site] + process.only_counted.get(site, 0)
            # A call that began before the recording can end during it, so the difference can be negative.
            sum_[1] += max(0, begun[site] - ended[site] - raised[site])
            sum_[2] += raised[site]
    return tuple(FunctionCount(*key, *sum_) for key, sum_ in sums.items())
