"""What the functions of a run that goes on have done so far, counted from what was added to its record files.

Nothing is built of it: a look costs what was added since the last one. Invariant: after any looks, what was counted is what
one count of all records gives, those included that were dropped for the quota since a look met them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clew.graph.decode import Columns, decode
from clew.records.event import Kind, SiteInfo
from clew.records.found import Definitions, Part, ProcessRecords
from clew.records.known import Known
from clew.records.reader import read_run

ERROR = 40
"""The number of the level from which on a log line is an error."""
_COUNTED = (Kind.ENTER, Kind.EXIT, Kind.UNWIND)


@dataclass(frozen=True)
class FunctionCount:
    """Of one function, in all processes."""

    module: str
    qualname: str
    file: str
    line: int
    calls: int
    under_way: int
    """Calls that have not ended yet."""
    raised: int
    """Calls that an exception ended."""

    @property
    def label(self) -> str:
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True)
class Counts:
    """Up to a look."""

    processes: int = 0
    events: int = 0
    calls: int = 0
    errors: int = 0
    """Log lines of level ERROR and above."""
    functions: tuple[FunctionCount, ...] = ()
    """Those that were called."""


@dataclass
class _Process:
    """What was read of one trace file."""

    seen: dict[int, dict[bytes, tuple[int, int]]] = field(default_factory=dict)
    """By thread and by part of its stream: the frame that it is packed in, and how many bytes were counted."""
    definitions: Definitions | None = None
    sites: dict[int, SiteInfo] = field(default_factory=dict)
    calls: dict[Kind, Counter[int]] = field(default_factory=lambda: {kind: Counter() for kind in _COUNTED})
    """By site the calls that began, ended, and ended by an exception."""
    only_counted: Mapping[int, int] = field(default_factory=dict)
    """Calls that were not recorded, by site."""

    def known(self) -> Known:
        # A part's name is its chunk's identity and one byte more.
        ends = {name[:-1]: part for parts in self.seen.values() for name, part in parts.items() if part[0]}
        return Known(ends, self.definitions)


class Tally:
    """Of the run in a folder, by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: dict[str, _Process] = {}
        self._events = self._errors = 0

    def look(self) -> Counts:
        """Counts what was added. Never raises for what is in the files, or missing there."""
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
                frame, before = seen.get(part.name, (0, 0))
                if part.size > before:
                    self._count(process, decode([_after(part, before)]))
                if part.size > before or part.frame != frame:
                    seen[part.name] = (part.frame, max(part.size, before))

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
    """What has been added to a part; nothing of one that was dropped meanwhile."""
    return part.load()[size:]


def _functions(processes: Iterable[_Process]) -> tuple[FunctionCount, ...]:
    sums: dict[tuple[str, str, str, int], list[int]] = {}
    for process in processes:
        begun, ended, raised = (process.calls[kind] for kind in _COUNTED)
        for site in (begun.keys() | process.only_counted.keys()) & process.sites.keys():
            about = process.sites[site]
            sum_ = sums.setdefault((about.module, about.qualname, about.file, about.line), [0, 0, 0])
            sum_[0] += begun[site] + process.only_counted.get(site, 0)
            # What began before the recording did may end in it.
            sum_[1] += max(0, begun[site] - ended[site] - raised[site])
            sum_[2] += raised[site]
    return tuple(FunctionCount(*key, *sum_) for key, sum_ in sums.items())
