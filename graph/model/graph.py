"""The execution graph of one run: events as columns, edges, regions, and the names behind the numbers.

Invariants: an event's id is its row; rows are sorted by strand and, within one, in the order they happened; every event lies
in exactly one region, and all fall-through inside a region is causal.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from clew.graph.model.edge_index import EdgeIndex
from clew.graph.model.edge_order import excluding
from clew.graph.model.event import Event
from clew.graph.model.machines import Crossing, Machine, crossing
from clew.graph.model.ownership import OUTCOMES, owners
from clew.graph.model.structure_plane import Structure
from clew.graph.model.text_templates import PART, Templated, as_strings, holds, take_apart
from clew.graph.runtime.mmap_arrays import Room
from clew.records.format.event import FLAG_FAILED, FLAG_OVER, EdgeKind, Kind
from clew.records.plan.plan import Level
from clew.records.run.directory import RunInfo

I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger]
"""Event rows, -1 for none; 32 bits wide in a graph that fits, else 64."""
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]


class RegionKind(enum.IntEnum):
    """What opened a region."""

    ROOT = 0  # a strand's own life
    RECEIVE = 1
    SCOPE = 2
    REQUEST = 3


@dataclass(frozen=True)
class Site:
    """A code location of the run, the same one in all processes. Site 0 stands for "no location"."""

    module: str
    qualname: str
    file: str
    line: int
    end_line: int
    kind: str
    rule: int = -1
    component: str = ""

    @property
    def label(self) -> str:
        return f"{self.module}:{self.qualname}" if self.qualname else self.module

    @property
    def is_adapter(self) -> bool:
        """Is it none, or clew's own code that stands for the standard library, rather than the program's?"""
        return self.kind in ("", "adapter")


UNNAMED_MACHINE = "unnamed machine"
"""Of processes whose trace does not say where they ran, as spans without `host.name` do not. What clew records says it."""


@dataclass(frozen=True)
class Process:
    """One process of the run. `end` says how its recording ended; `died` when it was killed while recording."""

    index: int
    pid: int
    uid: int
    parent_pid: int
    parent_uid: int
    name: str
    argv: tuple[str, ...]
    executable: str
    host: str
    file: str
    end: str
    died: bool
    dropped: int
    first_ns: int
    last_ns: int
    machine: int = 0


@dataclass(frozen=True)
class Strand:
    """One sequential flow: a thread, or a task that threads run in steps. Its events are rows `start` up to `stop`."""

    index: int
    process: int
    thread: int
    key: int
    kind: str
    name: str
    thread_name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Regions:
    """Columns, one row per region, sorted by strand and start. `first` and `last` are -1 in a region without events."""

    strand: U32
    kind: U8
    opener: I64
    first: I64
    last: I64
    parent: I64

    def __len__(self) -> int:
        return len(self.strand)


@dataclass(frozen=True)
class Extensions:
    """Columns of the records that carry a key, a channel (index into the graph's strings) or a text."""

    key: npt.NDArray[np.uint64]
    channel: U32
    flags: npt.NDArray[np.uint16]
    texts: TextColumn

    def text(self, row: int) -> str:
        return self.texts[row]


class TextColumn(Protocol):
    def __getitem__(self, row: int, /) -> str: ...

    def find(self, test: str, wanted: str, /) -> npt.NDArray[np.bool_]:
        """Per text: does it pass one of the `TESTS` of `clew.graph.model.text_templates`?"""
        ...

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """All texts, some at a time: the first one's row, and they."""
        ...


@dataclass(frozen=True)
class Texts:
    """Text i is bytes `start[i]` up to `start[i + 1]` of `data`."""

    start: I64
    data: U8

    def __getitem__(self, row: int, /) -> str:
        return self.data[self.start[row] : self.start[row + 1]].tobytes().decode("utf-8", "replace")

    def find(self, test: str, wanted: str, /) -> npt.NDArray[np.bool_]:
        return holds(as_strings(self.start, self.data), test, wanted)

    def parts(self) -> Iterator[tuple[int, Templated]]:
        for first in range(0, len(self.start) - 1, PART):
            yield first, take_apart(as_strings(self.start[first : first + PART + 1], self.data))


@dataclass(frozen=True)
class Gap:
    """Where events of a strand are missing."""

    strand: int
    after: int
    """The last event before it, -1 when the strand's beginning is missing or nothing tells."""
    before: int
    """The first event after it, -1 when it is open, or nothing tells."""
    lost: int | None
    """How many events or calls, None when that is not known."""
    why: str

    def __str__(self) -> str:
        between = f"after event {self.after}" if self.after >= 0 else "from the start"
        if self.before >= 0:
            between = (
                f"between events {self.after} and {self.before}" if self.after >= 0 else f"before event {self.before}"
            )
        many = "an unknown number" if self.lost is None else f"{self.lost:,}"
        return f"{between} of strand {self.strand} {many} are missing: {self.why}"


@dataclass(frozen=True)
class Calls:
    """Columns, one row per call, sorted by the event that opened it (its ENTER, or a RESUME whose ENTER is not there)."""

    enter: I64
    exit: I64
    """Row of the EXIT or UNWIND, -1 when the call never ended."""
    caller: I64
    """Row of the caller's `enter`, -1 for none."""
    total_ns: I64
    self_ns: I64
    """Time in the call's own code: without recorded calls, suspensions and recorded waits."""
    waiting_ns: I64

    def find(self, enter: int) -> int:
        """The row of the call that event `enter` opened. Raises KeyError."""
        at = int(np.searchsorted(self.enter, enter))
        if at == len(self.enter) or self.enter[at] != enter:
            raise KeyError(enter)
        return at


@dataclass(frozen=True)
class ExecutionGraph:
    """Columns of events, then edges sorted by (region of the source, source), then tables."""

    info: RunInfo
    ts: I64
    """Nanoseconds since the run's start."""
    kind: U8
    site: U32
    strand: U32
    region: U32
    ext: npt.NDArray[np.int32]
    """Row in `extensions`, -1 for none."""
    call: Rows
    """Row of the ENTER of the call that the event belongs to: its own for a call's records, else the innermost open one."""
    inner: Rows
    """Row of the ENTER of the call that runs right after the event."""
    idle: npt.NDArray[np.bool_]
    """Is the time up to the strand's next event waiting, or spent in another strand, rather than the inner call's work?"""
    edge_src: I64
    edge_dst: I64
    edge_kind: U8
    edge_channel: U32
    extensions: Extensions
    regions: Regions
    calls: Calls
    strings: list[str]
    sites: list[Site]
    strands: list[Strand]
    processes: list[Process]
    machines: tuple[Machine, ...] = ()
    levels: tuple[Level, ...] = ()
    """The spec's own aggregation levels."""
    counted: dict[int, int] = field(default_factory=dict)
    """Site to the number of its calls that were only counted."""
    lost: tuple[Gap, ...] = ()
    """Where records were lost; `graph.gaps` knows all that is missing."""
    made_structure: Structure | None = field(default=None, repr=False)
    """Where it is there already."""

    def __len__(self) -> int:
        return len(self.ts)

    @cached_property
    def structure(self) -> Structure:
        """Regions and edges in the form that slices are made in; nothing hangs there on an edge that excludes."""
        return self.made_structure or Structure.of(
            region=self.region,
            regions=len(self.regions),
            src=self.edge_src,
            dst=self.edge_dst,
            excluded=self.edge_excludes,
            ts=self.ts,
        )

    @cached_property
    def index(self) -> EdgeIndex:
        return EdgeIndex(self.structure, self.regions.first, self.edge_src, self.edge_dst)

    @cached_property
    def answers(self) -> dict[str, Any]:
        """What operators keep of the graph for the next question, under names of their own."""
        return {}

    def passing(self) -> AbstractContextManager[Callable[[], None]]:
        """For a question that looks at all of the graph once: of a large stored one what is read meanwhile is not kept, and let
        go earlier where the question says so."""
        return nullcontext(lambda: None)

    @property
    def room(self) -> Room:
        """Makes the arrays of columns, and of whatever is as large."""
        return np.empty

    def spare(self) -> None:
        """Of a large stored graph, columns that are read from now on take memory only as far as they are looked at."""

    def let_go(self) -> None:
        """Columns that take memory only as far as they were looked at take none."""

    @cached_property
    def strand_process(self) -> U32:
        """Process of every strand."""
        return np.array([strand.process for strand in self.strands], np.uint32)

    @cached_property
    def edge_crosses(self) -> npt.NDArray[np.bool_]:
        """Does the edge lead from one process to another? Those are the network hops."""
        process = self.strand_process
        crosses: npt.NDArray[np.bool_] = (
            process[self.strand[self.edge_src]] != process[self.strand[self.edge_dst]]
            if len(self.edge_src)
            else np.zeros(0, bool)
        )
        return crosses

    @cached_property
    def edge_excludes(self) -> npt.NDArray[np.bool_] | None:
        """Does the edge only say that one strand had to wait until another gave up a lock? None when no edge does.

        Waiting has such an edge as its reason, but what was done then has not: who had the lock before is chance.
        """
        return excluding(self.edge_kind, self.edge_channel, self.strings)

    @cached_property
    def channel_ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.strings)}

    @cached_property
    def site_is_adapter(self) -> npt.NDArray[np.bool_]:
        """`Site.is_adapter`, per site."""
        return np.array([site.is_adapter for site in self.sites], bool)

    @cached_property
    def site_is_named(self) -> npt.NDArray[np.bool_]:
        """Per site: is it a place of the program, which names what happens there outside of calls?"""
        named: npt.NDArray[np.bool_] = ~self.site_is_adapter
        named[0] = False
        return named

    @cached_property
    def owner(self) -> Rows:
        """Per event the call that names it, -1 for what a strand does outside of calls; see `graph.owners`."""
        is_outcome = np.zeros(len(self), bool)
        has = np.flatnonzero(self.ext >= 0)
        is_outcome[has] = np.isin(self.extensions.channel[self.ext[has]], self.outcome_channels)
        return owners(self.kind, self.region, self.strand, self.call, self.inner, is_outcome=is_outcome, room=self.room)

    @cached_property
    def outcome_channels(self) -> list[int]:
        return [self.channel_ids[name] for name in OUTCOMES if name in self.channel_ids]

    def ids(self, rows: I64) -> I64:
        """The run's numbers of events: the rows, unless the graph is a part of a run, whose `answers` say how to number."""
        numbering: Callable[[I64], I64] | None = self.answers.get("numbering")
        return rows if numbering is None else numbering(rows)

    def at(self, column: str, event: int) -> int:
        """One value of a column of events; of a stored graph without reading the whole column."""
        return int(getattr(self, column)[event])

    def event(self, event: int) -> Event:
        return Event(self, int(event))

    def wall_ns(self, event: int) -> int:
        """Nanoseconds since 1970."""
        return self.at("ts", event) + self.info.started

    def text(self, event: int) -> str:
        """A log's message, a mark's value, a payload, why events are missing; else "". What failed says so."""
        row = self.at("ext", event)
        return self.failure(event) or self.extensions.text(row) if row >= 0 else ""

    def failure(self, event: int) -> str:
        """`key failed: AttributeError` when the expression of an event's key or value raised; else ""."""
        row, kind = self.at("ext", event), self.at("kind", event)
        # A log line whose arguments do not fit has its text all the same.
        if row < 0 or kind == Kind.LOG or not int(self.extensions.flags[row]) & FLAG_FAILED:
            return ""
        return f"{'key' if kind in _KEYED else 'value'} failed: {self.extensions.text(row)}"

    def is_over(self, event: int) -> bool:
        """Does a GAP end here?"""
        row = self.at("ext", event)
        return row >= 0 and bool(int(self.extensions.flags[row]) & FLAG_OVER)

    def key(self, event: int) -> int:
        row = self.at("ext", event)
        return int(self.extensions.key[row]) if row >= 0 else 0

    def key_text(self, event: int) -> str:
        """What the key of an edge's event stands for, as the recording has it; "" when only its hash was kept."""
        return self.text(event) if self.at("kind", event) in _KEYED else ""

    def channel(self, event: int) -> str:
        """The mechanism of an edge's event; the logger of a log; the name of a request, mark or payload."""
        row = self.at("ext", event)
        return self.strings[int(self.extensions.channel[row])] if row >= 0 else ""

    def process_of(self, event: int) -> Process:
        return self.processes[self.strands[self.at("strand", event)].process]

    def strand_of(self, event: int) -> Strand:
        return self.strands[self.at("strand", event)]

    @cached_property
    def strand_machine(self) -> U32:
        """Machine of every strand."""
        return np.array([self.processes[strand.process].machine for strand in self.strands], np.uint32)

    def crossing(self, event: int, other: int) -> Crossing | None:
        """How sure the time between two events is, None when one clock shows it."""
        here, there = self.process_of(event).machine, self.process_of(other).machine
        return crossing(self.machines, here, there) if self.machines else None

    def call_of(self, event: int) -> int:
        """The ENTER of the call that the event belongs to, -1 for none."""
        return self.at("call", event)

    def enclosing_call(self, event: int) -> int:
        """The ENTER of the call around the event, which for a call's own records is the caller; -1 for none."""
        if self.at("kind", event) in (Kind.ENTER, Kind.RESUME):
            first = event == self.strand_of(event).start
            return -1 if first else self.at("inner", event - 1)
        return self.at("inner", event)

    def exit_of(self, enter: int) -> int:
        """The EXIT or UNWIND of a call, -1 when it never ended. Raises KeyError when `enter` opened no call."""
        return int(self.calls.exit[self.calls.find(enter)])

    def owner_of(self, event: int) -> int:
        """The call that names the event, -1 for none: one value of `owner`; of a stored graph without making the column."""
        call = self.at("call", event)
        return call if call >= 0 else self.at("owner", event)

    def function_site(self, event: int) -> int:
        """The site of the function that the event happened in; its own site when no recorded call is around it."""
        call = self.at("call", event)
        return self.at("site", call if call >= 0 else event)

    def function(self, event: int) -> str:
        """`module:qualname` of the function that the event happened in, "" for none."""
        return self.sites[self.function_site(event)].label

    def location(self, event: int) -> tuple[str, int] | None:
        """File and line (from 1) of the event's own site, else of the function around it."""
        site = self.sites[self.at("site", event) or self.function_site(event)]
        return (site.file, site.line) if site.file else None

    def rows_of(self, kinds: Iterable[int]) -> I64:
        """The events of some kinds, ascending."""
        wanted = np.zeros(256, bool)
        wanted[list(kinds)] = True
        return np.flatnonzero(wanted[self.kind])

    @cached_property
    def event_process(self) -> U32:
        """Process of every event."""
        return self.strand_process[self.strand]


_KEYED = frozenset(
    {Kind.SEND, Kind.RECEIVE, Kind.JOIN, Kind.RELEASE, Kind.ACQUIRE, Kind.DEFINE, Kind.USE, Kind.SCOPE_BEGIN}
)


EdgeKindName = Literal["use", "sync", "state"]
_EDGE_KIND_NAMES: dict[int, EdgeKindName] = {EdgeKind.USE: "use", EdgeKind.SYNC: "sync", EdgeKind.STATE: "state"}


def edge_kind_name(kind: int) -> EdgeKindName:
    return _EDGE_KIND_NAMES[kind]
