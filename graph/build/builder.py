"""Builds the execution graph of a run: reads its trace files into the columns that `assemble` takes.

Every step works on whole columns; loops run only over steps of strands, scopes and definitions. Invariant: unusable records
are skipped and counted in a problem, and never prevent a graph.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.build.assemble import Events, Tables, assemble, scopes_of
from clew.graph.build.byte_stream_edges import pair_bytes
from clew.graph.build.clock_alignment import Alignment, Correction, Messages, align
from clew.graph.build.edge_matching import Edges, crossings, pair
from clew.graph.build.id_remap import Numbers
from clew.graph.build.read_columns import Piece, ProcessRead, read_columns
from clew.graph.build.row_order import Rows, arrange
from clew.graph.build.tick_conversion import monotonic_ns
from clew.graph.model.edge_order import Joined
from clew.graph.model.gaps import lost_of
from clew.graph.model.graph import ExecutionGraph, Gap, Process, Site, Strand
from clew.graph.model.machines import Machine
from clew.graph.model.processes.process_names import process_names
from clew.graph.runtime.progress import Meter, Progress, no_progress
from clew.graph.store.incremental_cache import Growing, growing
from clew.records.errors import Problem
from clew.records.format.event import FLAG_BYTES, EdgeKind, Kind, SiteInfo
from clew.records.format.header import State
from clew.records.plan.match import matches
from clew.records.plan.plan import Level, Plan, load
from clew.records.read.parallel import both, together
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import RunRecords, read_run
from clew.records.run.directory import PLAN_FILE, RunInfo, load_run
from clew.records.run.liveness import is_abandoned, silence

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

_NOT_OVER = "the run is not over; this is its recording so far"
_ABANDONED = "the launcher was killed: it is unknown how the program ended"
_READING, _MAKING = "the records", "the graph"
COMPONENT = "component"
PROCESS_END = "process.end"
"""The channel on which a parent process joins the end of a child that it waited for."""
_ENDS: dict[int, str] = {
    State.RECORDING: "recording",
    State.CLOSED: "closed",
    State.QUOTA: "quota",
    State.FAILED: "failed",
}


@dataclass
class _Shared:
    """The tables that the processes of a run share. Equal sites, and equal strings, have one number."""

    plan: Plan | None
    sites: list[Site] = field(default_factory=lambda: [Site("", "", "", 0, 0, "")])
    strings: list[str] = field(default_factory=lambda: [""])
    _site_ids: dict[tuple[object, ...], int] = field(default_factory=dict)
    _string_ids: dict[str, int] = field(default_factory=lambda: {"": 0})

    def site(self, info: SiteInfo) -> int:
        fields = info[1:8]  # without the file's state, which may differ between two processes
        number = self._site_ids.get(fields)
        if number is None:
            number = self._site_ids[fields] = len(self.sites)
            component = component_of(self.plan, info.module, info.qualname, info.file)
            self.sites.append(Site(*fields, component=component))
        return number

    def string(self, text: str) -> int:
        number = self._string_ids.get(text)
        if number is None:
            number = self._string_ids[text] = len(self.strings)
            self.strings.append(text)
        return number


def component_of(plan: Plan | None, module: str, qualname: str, file: str) -> str:
    """Return the label of the spec's level "component", else the first two parts of the module's name."""
    for level in plan.levels if plan else ():
        if level.name == COMPONENT:
            label = level_label(level, module, qualname, file)
            if label:
                return label
    return ".".join(module.split(".")[:2])


def level_label(level: Level, module: str, qualname: str, file: str) -> str:
    """Return the level's label of a function, "" when none of its patterns matches."""
    return next((label for label, target in level.labels if matches(target, module, qualname, file)), "")


def build(
    folder: Path, progress: Progress = no_progress, *, keep: bool = False
) -> tuple[ExecutionGraph, list[Problem]]:
    """Build the graph of the run in a folder. Return it with the problems of its files.

    For a live run, build the graph of its records so far. With `keep`, read on from its cached records, and cache the new ones.
    Raises `RunError` when the folder is not a run, and any exception that `progress` raises.
    """
    info = load_run(folder)
    plan = _plan_of(folder)
    over = info.finished is not None
    problems: list[Problem] = []
    if not over:
        over = is_abandoned(folder, info)
        problems.append(Problem(str(folder), (silence(folder, info) or _ABANDONED) if over else _NOT_OVER))
    with growing(folder, write=not over) if keep else nullcontext(Growing(None)) as cache:
        records = read_run(folder, cache.known if keep else None)
        if not records.processes:
            problems.insert(0, Problem(str(folder), _nothing_recorded(info)))
        builder = _Builder(info, plan, records, over, progress)
        builder.problems += problems
        reads = builder.read_all(cache)
    return builder.build(reads), builder.problems


def _plan_of(folder: Path) -> Plan | None:
    """Return the run's plan, None if it has none. Raises `PlanError` when it is damaged."""
    file = folder / PLAN_FILE
    return load(file.read_text(encoding="utf-8"), str(file)) if file.exists() else None


def _nothing_recorded(info: RunInfo) -> str:
    """Return why a run has no records: the recorder's last note, else a guess."""
    if info.notes:
        return info.notes[-1]
    command = " ".join(info.command) or "the command"
    return f"no process recorded anything: `{command}` started no Python that clew could trace (a different program, or -E/-I)"


class _Builder:
    def __init__(self, info: RunInfo, plan: Plan | None, records: RunRecords, over: bool, progress: Progress) -> None:
        self.info, self.plan, self.records, self.over, self.progress = info, plan, records, over, progress
        self.problems = list(records.problems)
        self.processes = sorted(
            records.processes, key=lambda process: (process.header.start_wall_ns, process.header.pid)
        )
        self.shared = _Shared(plan)
        self.counted: Counter[int] = Counter()

    def read_all(self, cache: Growing) -> list[ProcessRead]:
        meter = Meter(self.progress, _READING, sum(process.bytes for process in self.processes))
        reads = read_columns(self.processes, meter.next, cache.threads, track=cache.writes)
        cache.keep(reads)
        meter.over()
        return reads

    def build(self, reads: Sequence[ProcessRead]) -> ExecutionGraph:
        parts = self._parts(reads)
        self.progress(_MAKING, 0, 3)
        machines = self._align(parts)
        processes = self._processes(parts)
        rows = arrange(parts, [len(part.read.strands.keys) for part in parts])
        self.progress(_MAKING, 1, 3)
        events = Events(rows.ts, rows.kind, rows.site, rows.ext, rows.sequence, rows.strand_start, rows.extensions)
        paired, scopes = both(partial(pair, rows), partial(scopes_of, events))
        edges = self._with_bytes(paired, rows)
        missing = self._lost(parts, rows)
        self.progress(_MAKING, 2, 3)
        lost = self._lost_ends(edges, events)
        self._report(edges, len(lost))
        lost = lost[(lost > 0) & (rows.strand(lost - 1) == rows.strand(lost))]
        tables = Tables(
            self.shared.strings,
            self.shared.sites,
            self._strands(parts, rows.strand_start),
            processes,
            machines,
            self.plan.levels if self.plan else (),
            self.counted,
            tuple(missing),
        )
        del rows
        joined = Joined(edges.src, edges.dst, edges.kind)
        graph, problems = assemble(self.info, events, scopes, joined, tables, waited=lost - 1)
        self.problems.extend(problems)
        self.progress(_MAKING, 3, 3)
        return graph

    def _lost(self, parts: Sequence[_Part], rows: Rows) -> list[Gap]:
        found: list[Gap] = []
        at = first = 0
        for part in parts:
            for (serial, thread), numbers in zip(part.read.threads.items(), part.read.strands.of, strict=True):
                missing = part.records.threads[serial].missing
                if missing:
                    row_of = rows.of_records(at, at + thread.records)
                    found += lost_of(missing, thread.ends, row_of, rows.strand(row_of), first + int(numbers[0]))
                at += thread.records
            first += len(part.read.strands.keys)
        return found

    def _where(self) -> str:
        return self.info.id

    def _with_bytes(self, edges: Edges, rows: Rows) -> Edges:
        """Return the edges, with those of records that claim bytes of streams."""
        extensions = rows.extensions
        claim = (extensions.flags & FLAG_BYTES) != 0
        if not claim.any():
            return edges
        claiming = np.flatnonzero(rows.ext >= 0)
        claiming = claiming[claim[rows.ext[claiming]]]
        claiming = claiming[np.argsort(rows.sequence[claiming])]
        ext = rows.ext[claiming]
        src, dst = pair_bytes(
            rows.kind[claiming],
            extensions.key[ext],
            rows.ts[claiming],
            rows.process[rows.strand(claiming)],
            [extensions.texts[row] for row in ext],
        )
        return Edges(
            np.concatenate((edges.src, claiming[src])),
            np.concatenate((edges.dst, claiming[dst])),
            np.concatenate((edges.kind, np.full(len(src), EdgeKind.USE, np.uint8))),
            edges.unmatched,
        )

    def _align(self, parts: Sequence[_Part]) -> tuple[Machine, ...]:
        """Convert the times of all processes to the first machine's clock. Return the machines."""
        boots = list(dict.fromkeys(records.boot_id for records in self.processes))
        clock_of = [boots.index(records.boot_id) for records in self.processes]
        names = [str(self.processes[clock_of.index(clock)].info.get("host", "")) for clock in range(len(boots))]
        alignment = Alignment((Correction(),) * len(boots))
        if len(boots) > 1:
            alignment = align(len(boots), _messages(parts, clock_of))
            for part in parts:
                part.times[:] = [alignment.corrections[clock_of[part.index]].apply(ts) for ts in part.times]
        machines = tuple(
            Machine(
                clock, name or self.info.host, boot, found.offset_ns, found.rate, found.below_ns, found.above_ns,
                found.messages,
            )
            for clock, (name, boot, found) in enumerate(zip(names, boots, alignment.corrections, strict=True))
        )  # fmt: skip
        if alignment.backward_ns:
            what = (
                f"the machines' clocks contradict each other by {alignment.backward_ns / 1e6:.3g} ms, "
                "for example because a clock was set during the recording: some effects come before their causes and lack edges"
            )
            self.problems.append(Problem(self._where(), what))
        return machines

    def _lost_ends(self, edges: Edges, events: Events) -> I64:
        """Return the JOINs with child processes whose end was not recorded: they were killed, or are not in the run."""
        if PROCESS_END not in self.shared.strings:
            return np.zeros(0, np.int64)
        joins = np.flatnonzero(events.kind == Kind.JOIN)
        joins = joins[events.channels(joins) == self.shared.string(PROCESS_END)]
        return np.setdiff1d(joins, edges.dst)

    def _report(self, edges: Edges, lost_ends: int) -> None:
        for kind, found in edges.unmatched.items():
            if kind in (Kind.USE, Kind.ACQUIRE):
                continue  # most states never change, and most locks are never contended
            count = found - lost_ends if kind == Kind.JOIN else found
            if not count:
                continue
            self.problems.append(
                Problem(
                    self._where(),
                    f"{count} {kind.name.lower()} events have no matching send; their causal edges are missing"
                    if count > 1
                    else f"1 {kind.name.lower()} event has no matching send; its causal edge is missing",
                )
            )

    def _times(self, records: ProcessRecords, ticks: npt.NDArray[np.uint64]) -> I64:
        """Convert ticks to nanoseconds since the run's start."""
        # All processes of a machine use the clock difference of its first process. Otherwise a step of the wall clock would
        # shift them against each other.
        first = next(other.header for other in self.processes if other.boot_id == records.boot_id)
        since_boot = monotonic_ns(self.records.clock(records), ticks)
        return since_boot + np.int64(first.start_wall_ns - first.start_monotonic_ns - self.info.started)

    # One process

    def _parts(self, reads: Sequence[ProcessRead]) -> list[_Part]:
        """Return all processes, with their columns in the run's numbers and times."""
        parts = [self._process(index, read) for index, read in enumerate(reads)]
        pieces = [(part, serial, numbers, piece) for part in parts for serial, numbers, piece in part.pieces()]
        works = (partial(self._translated, part, numbers, piece) for part, _, numbers, piece in pieces)
        for (part, serial, _, piece), (strand, ts, site, channel) in zip(pieces, together(works), strict=True):
            part.serials.append(serial)
            part.strands.append(strand)
            part.times.append(ts)
            part.kind.append(piece.kind)
            part.sites.append(site)
            part.ext.append(piece.ext)
            part.key.append(piece.key)
            part.channels.append(channel)
            part.flags.append(piece.flags)
            part.text_length.append(piece.length)
            part.texts.append(piece.texts)
        for read in reads:
            read.release_columns()
        return parts

    def _process(self, index: int, read: ProcessRead) -> _Part:
        records = read.records
        site_ids = {0: 0} | {number: self.shared.site(info) for number, info in records.sites.items()}
        string_ids = {0: 0} | {number: self.shared.string(text) for number, text in records.strings.items()}
        for note in records.notes:
            about = self.shared.sites[site_ids.get(note.key, 0)].label
            self.problems.append(Problem(records.path, f"{about}: {note.text}" if about else note.text))
        for number, count in records.counters.items():
            self.counted[site_ids.get(number, 0)] += count
        part = _Part(index, records, read, Numbers.of(site_ids), Numbers.of(string_ids))
        unmatched = sum(thread.steps.unmatched for thread in part.read.threads.values())
        if unmatched:
            self.problems.append(Problem(records.path, f"{unmatched} ends of task steps have no matching beginning"))
        if not self.records.clock(records).known:
            what = "too short to measure its clock rate: the order of events is right, their durations are estimates"
            self.problems.append(Problem(records.path, what))
        return part

    def _translated(self, part: _Part, numbers: U32, piece: Piece) -> tuple[U32, I64, U32, U32]:
        """Return the strands, times, sites and channels of a piece, converted to the run's."""
        return (
            numbers[piece.strand],
            self._times(part.records, piece.ticks),
            part.site_numbers.translate(piece.site),
            part.string_numbers.translate(piece.channel),
        )

    # Tables

    def _strands(self, parts: Sequence[_Part], strand_start: I64) -> list[Strand]:
        bounds = strand_start.tolist()
        strands: list[Strand] = []
        for part in parts:
            for key, serial in zip(part.read.strands.keys, part.read.strands.threads, strict=True):
                number = len(strands)
                thread = part.records.threads[serial]
                thread_name = thread.name or f"thread {serial}"
                kind, name = "thread", thread_name
                if key:
                    info = part.records.strands.get(key)
                    kind = (info and info.kind) or "task"
                    name = (info and info.name) or f"{kind} {number}"
                start, stop = bounds[number], bounds[number + 1]
                strands.append(Strand(number, part.index, serial, key, kind, name, thread_name, start, stop))
        return strands

    def _processes(self, parts: Sequence[_Part]) -> list[Process]:
        commands = [_words(part.records.info.get("argv")) for part in parts]
        by_uid = {part.records.header.uid: part.index for part in parts}
        parents = [by_uid.get(part.records.header.parent_uid, -1) for part in parts]
        # A process that calls exec leaves its trace file open, and continues in a new file under the same pid.
        newest = {(str(part.records.info.get("host")), part.records.header.pid): part.index for part in parts}
        boots = list(dict.fromkeys(records.boot_id for records in self.processes))
        processes = []
        for part, argv, name in zip(parts, commands, process_names(commands, parents), strict=True):
            header, info = part.records.header, part.records.info
            recording = header.state == State.RECORDING
            called_exec = recording and newest[str(info.get("host")), header.pid] != part.index
            died = recording and self.over and not called_exec
            if died:
                what = f"process {header.pid} ({name}) died while it was recorded; its events until then are in the run"
                self.problems.append(Problem(part.records.path, what))
            first, last = part.span()
            processes.append(
                Process(
                    index=part.index,
                    pid=header.pid,
                    uid=header.uid,
                    parent_pid=header.parent_pid,
                    parent_uid=header.parent_uid,
                    name=name,
                    argv=tuple(argv),
                    executable=str(info.get("executable", "")),
                    host=str(info.get("host", "")) or self.info.host,
                    file=os.path.basename(part.records.path),
                    end="died" if died else "went on" if called_exec else _ENDS.get(header.state, "unknown"),
                    died=died,
                    dropped=header.dropped,
                    first_ns=first,
                    last_ns=last,
                    machine=boots.index(part.records.boot_id),
                )
            )
        return processes


@dataclass
class _Part:
    """One process: the columns of its threads' pieces, in the order of the threads' serials. Strands are numbered from 0."""

    index: int
    records: ProcessRecords
    read: ProcessRead
    site_numbers: Numbers
    string_numbers: Numbers
    serials: list[int] = field(default_factory=list)
    times: list[I64] = field(default_factory=list)
    kind: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    sites: list[U32] = field(default_factory=list)
    ext: list[npt.NDArray[np.int32]] = field(default_factory=list)
    strands: list[U32] = field(default_factory=list)
    key: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    channels: list[U32] = field(default_factory=list)
    flags: list[npt.NDArray[np.uint16]] = field(default_factory=list)
    text_length: list[npt.NDArray[np.uint16]] = field(default_factory=list)
    texts: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    def pieces(self) -> Iterator[tuple[int, U32, Piece]]:
        """Yield each piece with its thread's serial and the process's numbers of the thread's strands."""
        for (serial, thread), numbers in zip(self.read.threads.items(), self.read.strands.of, strict=True):
            for piece in thread.pieces:
                yield serial, numbers, piece

    def span(self) -> tuple[int, int]:
        """Return the time of the first record of any thread, and of the last."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for serial, times in zip(self.serials, self.times, strict=True):
            first.setdefault(serial, int(times[0]))
            last[serial] = int(times[-1])
        return min(first.values(), default=0), max(last.values(), default=0)


def _messages(parts: Sequence[_Part], clock_of: Sequence[int]) -> Messages:
    """Return the messages between machines, with the times of their own clocks."""
    kinds: list[npt.NDArray[np.uint8]] = []
    keys: list[npt.NDArray[np.uint64]] = []
    times: list[I64] = []
    clocks: list[npt.NDArray[np.intp]] = []
    for part in parts:
        for kind_, ext, key_, ts in zip(part.kind, part.ext, part.key, part.times, strict=True):
            keyed = np.flatnonzero(ext >= 0)
            kinds.append(kind_[keyed])
            keys.append(key_[ext[keyed]])
            times.append(ts[keyed])
            clocks.append(np.full(len(keyed), clock_of[part.index], np.intp))
    kind, key, ts, clock = (
        _join(kinds, np.uint8),
        _join(keys, np.uint64),
        _join(times, np.int64),
        _join(clocks, np.intp),
    )
    src, dst = crossings(kind, key, clock)
    return Messages(clock[src], ts[src], clock[dst], ts[dst])


def _join(parts: Sequence[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else []
