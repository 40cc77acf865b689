"""Builds the execution graph of a run from its trace files: their records as the columns that `assemble` makes a graph of.

Every step works on whole columns; loops go over strands' steps, scopes and definitions only. Invariant: what cannot be used
is left out and counted in a problem, never a reason to give no graph.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.alignment import Alignment, Correction, Messages, align
from clew.graph.assemble import Events, Joined, Tables, assemble
from clew.graph.clocks import monotonic_ns
from clew.graph.decode import Columns, decode
from clew.graph.gaps import lost_of
from clew.graph.model import ExecutionGraph, Extensions, Gap, Machine, Process, Site, Strand, Texts
from clew.graph.names import process_names
from clew.graph.pairing import Edges, crossings, pair
from clew.graph.progress import Progress, nobody
from clew.graph.strands import Demultiplexer
from clew.graph.streams import pair_bytes
from clew.records.alive import is_abandoned
from clew.records.errors import Problem
from clew.records.event import FLAG_BYTES, EdgeKind, Kind, SiteInfo
from clew.records.found import ProcessRecords
from clew.records.header import State
from clew.records.match import matches
from clew.records.plan import Level, Plan, load
from clew.records.reader import RunRecords, read_run
from clew.records.run import PLAN_FILE, RunInfo, load_run

I64 = npt.NDArray[np.int64]

_NOT_OVER = "the run is not over; this is what has been recorded so far"
_ABANDONED = "the launcher was killed: how the program ended is not known"
_READING, _MAKING = "what was recorded", "the graph"
COMPONENT = "component"
PROCESS_END = "process.end"
"""The channel on which whoever waited for a child process joins its end."""
_ENDS: dict[int, str] = {
    State.RECORDING: "recording",
    State.CLOSED: "closed",
    State.QUOTA: "quota",
    State.FAILED: "failed",
}


@dataclass
class _Shared:
    """What the processes of a run share: equal sites and equal strings have one number."""

    plan: Plan | None
    sites: list[Site] = field(default_factory=lambda: [Site("", "", "", 0, 0, "")])
    strings: list[str] = field(default_factory=lambda: [""])
    _site_ids: dict[tuple[object, ...], int] = field(default_factory=dict)
    _string_ids: dict[str, int] = field(default_factory=lambda: {"": 0})

    def site(self, info: SiteInfo) -> int:
        fields = info[1:]
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
    """What the spec's level "component" says; without one, the first two parts of the module's name."""
    for level in plan.levels if plan else ():
        if level.name == COMPONENT:
            label = level_label(level, module, qualname, file)
            if label:
                return label
    return ".".join(module.split(".")[:2])


def level_label(level: Level, module: str, qualname: str, file: str) -> str:
    """The level's label of a function, "" when none of its patterns matches."""
    return next((label for label, target in level.labels if matches(target, module, qualname, file)), "")


def build(folder: Path, progress: Progress = nobody) -> tuple[ExecutionGraph, list[Problem]]:
    """The graph of the run in a folder, and what was odd about its files. What `progress` raises ends it.

    Works on a run that is still going on: what has been recorded so far. Raises `RunError` when the folder is no run.
    """
    info = load_run(folder)
    plan = _plan_of(folder)
    records = read_run(folder)
    problems: list[Problem] = []
    if not records.processes:
        problems.append(Problem(str(folder), _nothing_recorded(info)))
    over = info.finished is not None
    if not over:
        over = is_abandoned(folder, info)
        problems.append(Problem(str(folder), _ABANDONED if over else _NOT_OVER))
    builder = _Builder(info, plan, records, over, progress)
    builder.problems += problems
    return builder.build(), builder.problems


def _plan_of(folder: Path) -> Plan | None:
    """The run's plan; None when there is none. Raises `PlanError` when it is damaged."""
    file = folder / PLAN_FILE
    return load(file.read_text(encoding="utf-8"), str(file)) if file.exists() else None


def _nothing_recorded(info: RunInfo) -> str:
    command = " ".join(info.command) or "the command"
    return f"no process recorded anything: `{command}` started no Python that clew could trace (a different program, or -E/-I)"


class _Builder:
    def __init__(self, info: RunInfo, plan: Plan | None, records: RunRecords, over: bool, progress: Progress) -> None:
        self.info, self.plan, self.records, self.over, self.progress = info, plan, records, over, progress
        self.problems = list(records.problems)
        self.read, self.bytes = 0, sum(process.bytes for process in records.processes)
        self.processes = sorted(
            records.processes, key=lambda process: (process.header.start_wall_ns, process.header.pid)
        )
        self.shared = _Shared(plan)
        self.counted: Counter[int] = Counter()

    def build(self) -> ExecutionGraph:
        parts = [self._process(index, trace) for index, trace in enumerate(self.processes)]
        self.progress(_READING, self.bytes, self.bytes)
        self.progress(_MAKING, 0, 3)
        machines = self._align(parts)
        stream = _Stream.of(parts)
        # Rows: by strand, in a strand by time when it ran on several threads, else in the thread's order.
        strand = stream.strand
        tangled = [stream.first_strand[part.index] + number for part in parts for number in part.tangled()]
        order = _strand_major(strand, stream.ts, tangled)
        numbers = np.arange(stream.first_strand[-1] + 1)
        strand_start = np.searchsorted(strand[order], numbers).astype(np.int64)
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))

        self.progress(_MAKING, 1, 3)
        has_key = stream.ext >= 0
        of_bytes = has_key & ((np.append(stream.flags, np.uint16(0))[stream.ext] & FLAG_BYTES) != 0)
        keyed = np.flatnonzero(has_key & ~of_bytes)
        edges = pair(
            row_of[keyed],
            stream.kind[keyed],
            stream.key[stream.ext[keyed]],
            stream.ts[keyed],
            stream.process[keyed],
        )
        if of_bytes.any():
            edges = self._with_bytes(edges, stream, row_of, np.flatnonzero(of_bytes))
        self.progress(_MAKING, 2, 3)
        events = Events(
            stream.ts[order],
            stream.kind[order],
            stream.site[order],
            stream.ext[order],
            order,
            strand_start,
            stream.extensions(),
        )
        lost = self._lost_ends(edges, events)
        self._report(edges, len(lost))
        strand = strand[order]
        lost = lost[(lost > 0) & (strand[lost - 1] == strand[lost])]
        tables = Tables(
            self.shared.strings,
            self.shared.sites,
            self._strands(parts, strand_start),
            self._processes(parts),
            machines,
            self.plan.levels if self.plan else (),
            self.counted,
            tuple(self._lost(parts, stream, row_of)),
        )
        graph, problems = assemble(self.info, events, Joined(edges.src, edges.dst, edges.kind), tables, lost - 1)
        self.problems.extend(problems)
        self.progress(_MAKING, 3, 3)
        return graph

    def _lost(self, parts: Sequence[_Part], stream: _Stream, row_of: I64) -> list[Gap]:
        found: list[Gap] = []
        at = 0
        for part in parts:
            first = stream.first_strand[part.index]
            for columns, (serial, thread) in zip(part.columns, sorted(part.records.threads.items()), strict=True):
                here = slice(at, at + len(columns))
                at += len(columns)
                if thread.missing:
                    own = first + part.demultiplexer.own(serial)
                    found += lost_of(thread.missing, columns.ends, row_of[here], stream.strand[here], own)
        return found

    def _where(self) -> str:
        return self.info.id

    def _with_bytes(self, edges: Edges, stream: _Stream, row_of: I64, places: I64) -> Edges:
        """The edges, and those of the records at `places`, which claim bytes of streams."""
        ext = stream.ext[places]
        texts = stream.extensions().texts
        src, dst = pair_bytes(
            stream.kind[places], stream.key[ext], stream.ts[places], stream.process[places], [texts[row] for row in ext]
        )
        rows = row_of[places]
        return Edges(
            np.concatenate((edges.src, rows[src])),
            np.concatenate((edges.dst, rows[dst])),
            np.concatenate((edges.kind, np.full(len(src), EdgeKind.USE, np.uint8))),
            edges.unmatched,
        )

    def _align(self, parts: Sequence[_Part]) -> tuple[Machine, ...]:
        """Puts the processes' times onto the first machine's clock."""
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
                "as when one is set while it is recorded: some effects come before their causes, and lack their edges"
            )
            self.problems.append(Problem(self._where(), what))
        return machines

    def _lost_ends(self, edges: Edges, events: Events) -> I64:
        """The JOINs with the ends of children that left none: they were killed, or not recorded, and waited for."""
        if PROCESS_END not in self.shared.strings:
            return np.zeros(0, np.int64)
        joins = np.flatnonzero(events.kind == Kind.JOIN)
        joins = joins[events.channels(joins) == self.shared.string(PROCESS_END)]
        return np.setdiff1d(joins, edges.dst)

    def _report(self, edges: Edges, lost_ends: int) -> None:
        for kind, found in edges.unmatched.items():
            if kind in (Kind.USE, Kind.ACQUIRE):
                continue  # most states are never changed, and most locks never contended
            count = found - lost_ends if kind == Kind.JOIN else found
            if not count:
                continue
            self.problems.append(
                Problem(
                    self._where(),
                    f"{count} {kind.name.lower()} events have no send of the same key before them: no edge leads to them"
                    if count > 1
                    else f"1 {kind.name.lower()} event has no send of the same key before it: no edge leads to it",
                )
            )

    def _times(self, records: ProcessRecords, ticks: npt.NDArray[np.uint64]) -> I64:
        """Nanoseconds since the run's start."""
        # One machine's processes share the first one's difference of the clocks, or a step of the wall clock would tear
        # them apart.
        first = next(other.header for other in self.processes if other.boot_id == records.boot_id)
        since_boot = monotonic_ns(self.records.clock(records), ticks)
        return since_boot + np.int64(first.start_wall_ns - first.start_monotonic_ns - self.info.started)

    # One process

    def _process(self, index: int, records: ProcessRecords) -> _Part:
        site_ids = {0: 0} | {number: self.shared.site(info) for number, info in records.sites.items()}
        string_ids = {0: 0} | {number: self.shared.string(text) for number, text in records.strings.items()}
        for note in records.notes:
            about = self.shared.sites[site_ids.get(note.key, 0)].label
            self.problems.append(Problem(records.path, f"{about}: {note.text}" if about else note.text))
        for number, count in records.counters.items():
            self.counted[site_ids.get(number, 0)] += count
        demultiplexer = Demultiplexer()
        columns: list[Columns] = []
        strands: list[npt.NDArray[np.uint32]] = []
        for serial, thread in sorted(records.threads.items()):
            self.progress(_READING, self.read, self.bytes)
            decoded = decode(thread.extents)
            self.read += thread.extents.bytes
            keys = np.append(decoded.key, np.uint64(0))[decoded.ext]
            strands.append(demultiplexer.split(serial, decoded.kind, decoded.site, keys))
            columns.append(decoded)
        if demultiplexer.unmatched_ends:
            what = f"{demultiplexer.unmatched_ends} steps of tasks end without a beginning"
            self.problems.append(Problem(records.path, what))
        if not self.records.clock(records).known:
            what = "too short to measure its clock by: the order of its events is right, their durations are guesses"
            self.problems.append(Problem(records.path, what))
        times = [self._times(records, thread.ticks) for thread in columns]
        sites = _translate(site_ids, [thread.site for thread in columns])
        channels = _translate(string_ids, [thread.channel for thread in columns])
        return _Part(index, records, columns, times, sites, channels, strands, demultiplexer)

    # Tables

    def _strands(self, parts: Sequence[_Part], strand_start: I64) -> list[Strand]:
        bounds = strand_start.tolist()
        strands: list[Strand] = []
        for part in parts:
            demultiplexer = part.demultiplexer
            for key, serial in zip(demultiplexer.keys, demultiplexer.threads, strict=True):
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
        # One that executed another program leaves its file open, and goes on in a new one under the same number.
        newest = {(str(part.records.info.get("host")), part.records.header.pid): part.index for part in parts}
        boots = list(dict.fromkeys(records.boot_id for records in self.processes))
        processes = []
        for part, argv, name in zip(parts, commands, process_names(commands, parents), strict=True):
            header, info = part.records.header, part.records.info
            recording = header.state == State.RECORDING
            went_on = recording and newest[str(info.get("host")), header.pid] != part.index
            died = recording and self.over and not went_on
            if died:
                what = f"process {header.pid} ({name}) died while it was recorded; what it did until then is here"
                self.problems.append(Problem(part.records.path, what))
            spans = [(int(times[0]), int(times[-1])) for times in part.times if len(times)]
            first, last = min((first for first, _ in spans), default=0), max((last for _, last in spans), default=0)
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
                    end="died" if died else "went on" if went_on else _ENDS.get(header.state, "unknown"),
                    died=died,
                    dropped=header.dropped,
                    first_ns=first,
                    last_ns=last,
                    machine=boots.index(part.records.boot_id),
                )
            )
        return processes


@dataclass(frozen=True)
class _Part:
    """One process, its threads' columns in the order of their serials; strands are numbered from 0."""

    index: int
    records: ProcessRecords
    columns: list[Columns]
    times: list[I64]
    sites: list[npt.NDArray[np.uint32]]
    channels: list[npt.NDArray[np.uint32]]
    strands: list[npt.NDArray[np.uint32]]
    demultiplexer: Demultiplexer

    def tangled(self) -> list[int]:
        """The strands that more than one thread ran."""
        threads: Counter[int] = Counter()
        for strand in self.strands:
            threads.update(np.unique(strand).tolist())
        return [strand for strand, count in threads.items() if count > 1]


@dataclass(frozen=True)
class _Stream:
    """All records of a run: process by process, thread by thread, in each thread's order."""

    ts: I64
    kind: npt.NDArray[np.uint8]
    site: npt.NDArray[np.uint32]
    ext: npt.NDArray[np.int32]
    strand: npt.NDArray[np.uint32]
    process: npt.NDArray[np.uint32]
    key: npt.NDArray[np.uint64]
    channel: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint16]
    text_length: I64
    texts: npt.NDArray[np.uint8]
    first_strand: list[int]
    """Number in the run of each process's strand 0."""

    @classmethod
    def of(cls, parts: Sequence[_Part]) -> _Stream:
        threads = [(part, number, columns) for part in parts for number, columns in enumerate(part.columns)]
        first_strand = np.concatenate(([0], np.cumsum([len(part.demultiplexer.keys) for part in parts]))).tolist()
        ext: list[npt.NDArray[np.int32]] = []
        extensions = 0
        for _, _, columns in threads:
            ext.append(np.where(columns.ext >= 0, columns.ext + np.int32(extensions), np.int32(-1)))
            extensions += len(columns.key)
        return cls(
            _join([part.times[number] for part, number, _ in threads], np.int64),
            _join([columns.kind for _, _, columns in threads], np.uint8),
            _join([part.sites[number] for part, number, _ in threads], np.uint32),
            _join(ext, np.int32),
            _join([part.strands[number] + first_strand[part.index] for part, number, _ in threads], np.uint32),
            _join([np.full(len(columns), part.index) for part, _, columns in threads], np.uint32),
            _join([columns.key for _, _, columns in threads], np.uint64),
            _join([part.channels[number] for part, number, _ in threads], np.uint32),
            _join([columns.flags for _, _, columns in threads], np.uint16),
            _join([np.diff(columns.text_start) for _, _, columns in threads], np.int64),
            _join([columns.texts for _, _, columns in threads], np.uint8),
            first_strand,
        )

    def extensions(self) -> Extensions:
        start = np.concatenate(([0], np.cumsum(self.text_length))).astype(np.int64)
        return Extensions(self.key, self.channel, self.flags, Texts(start, self.texts))


def _messages(parts: Sequence[_Part], clock_of: Sequence[int]) -> Messages:
    """What the machines sent each other, as their own clocks show it."""
    kinds: list[npt.NDArray[np.uint8]] = []
    keys: list[npt.NDArray[np.uint64]] = []
    times: list[I64] = []
    clocks: list[npt.NDArray[np.intp]] = []
    for part in parts:
        for columns, ts in zip(part.columns, part.times, strict=True):
            keyed = np.flatnonzero(columns.ext >= 0)
            kinds.append(columns.kind[keyed])
            keys.append(columns.key[columns.ext[keyed]])
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


def _translate(ids: dict[int, int], columns: Sequence[npt.NDArray[np.uint32]]) -> list[npt.NDArray[np.uint32]]:
    """A process's ids to the run's; what was never defined (its definition is lost) becomes 0."""
    known = np.array(sorted(ids), np.uint32)
    run = np.array([ids[number] for number in known.tolist()], np.uint32)
    translated = []
    for column in columns:
        place = np.minimum(np.searchsorted(known, column), len(known) - 1)
        translated.append(np.where(known[place] == column, run[place], np.uint32(0)))
    return translated


def _strand_major(strand: npt.NDArray[np.uint32], ts: I64, tangled: Sequence[int]) -> I64:
    """Positions in the stream sorted by strand. `tangled` strands, which several threads ran, are sorted by time."""
    small = strand.astype(np.uint16) if len(strand) and strand.max() < 1 << 16 else strand
    order = np.argsort(small, kind="stable")
    for number in tangled:
        low, high = np.searchsorted(strand[order], [number, number + 1])
        rows = order[low:high]
        order[low:high] = rows[np.argsort(ts[rows], kind="stable")]
    return order


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else []
