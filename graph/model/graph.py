"""The execution graph of one run: columns of events, edges, regions, and the tables of their names.

Invariants: an event's id is its row. Rows are sorted by strand and, within a strand, in the order of execution. Every event
belongs to exactly one region, and all fall-through inside a region is causal.
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
import pyarrow as pa

from clew.graph.model.array_utils import expand
from clew.graph.model.edge_index import EdgeIndex
from clew.graph.model.edge_order import excluding
from clew.graph.model.event import Event
from clew.graph.model.machines import Crossing, Machine, crossing
from clew.graph.model.ownership import OUTCOMES, owners
from clew.graph.model.structure_plane import Structure
from clew.graph.model.text_templates import PART, Templated, as_strings, holds, to_templates
from clew.graph.runtime.arrow_arrays import from_numbers
from clew.graph.runtime.mmap_arrays import Allocator
from clew.records.format.event import FLAG_FAILED, FLAG_OVER, EdgeKind, Kind
from clew.records.plan.plan import Level
from clew.records.run.directory import RunInfo

I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger]
"""Event rows, -1 for none; 32 bits wide where the graph's row numbers fit, else 64."""
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]


class RegionKind(enum.IntEnum):
    """The kind of event that opened a region."""

    ROOT = 0  # the whole life of a strand
    RECEIVE = 1
    SCOPE = 2
    REQUEST = 3


@dataclass(frozen=True)
class Site:
    """A code location, with one number in all processes of the run. Site 0 means "no location"."""

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
        """Whether the site is not in the program: it has no kind, or is in an adapter of clew for the standard library."""
        return self.kind in ("", "adapter")


UNNAMED_MACHINE = "unnamed machine"
"""The machine of processes without a recorded host, such as spans without `host.name`. Traces by clew always have a host."""


@dataclass(frozen=True)
class Process:
    """One process of the run. `end` is how its recording ended; `died` is true if it was killed while recording."""

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
    """One sequential flow: a thread, or a task that threads run in steps. Its events are the rows `range(start, stop)`."""

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
    """The columns of regions, one row each, sorted by strand and start. `first` and `last` are -1 for an empty region."""

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
    """The columns of records that carry a key, a channel (an index into the graph's strings) or a text."""

    key: npt.NDArray[np.uint64]
    channel: U32
    flags: npt.NDArray[np.uint16]
    texts: TextColumn

    def text(self, row: int) -> str:
        return self.texts[row]


class TextColumn(Protocol):
    """A column of texts that can be searched."""

    def __getitem__(self, row: int, /) -> str: ...

    def strings(self, rows: I64, /) -> pa.Array:
        """Return the texts of some rows as large strings."""
        ...

    def find(self, test: str, pattern: str, /) -> npt.NDArray[np.bool_]:
        """Return, per text, whether it passes `test`, one of the `TESTS` of `clew.graph.model.text_templates`."""
        ...

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """Yield all texts in chunks: the row of the chunk's first text, and the chunk."""
        ...


@dataclass(frozen=True)
class Texts:
    """A text column in memory: text i is `data[start[i]:start[i + 1]]`, in UTF-8."""

    start: I64
    data: U8

    def __getitem__(self, row: int, /) -> str:
        return self.data[self.start[row] : self.start[row + 1]].tobytes().decode("utf-8", "replace")

    def strings(self, rows: I64, /) -> pa.Array:
        if len(rows) > len(self.start) // 8:
            return as_strings(self.start, self.data).take(from_numbers(rows))
        begin, end = self.start[rows], self.start[rows + 1]
        offsets = np.concatenate(([0], np.cumsum(end - begin))).astype(np.int64)
        return as_strings(offsets, self.data[expand(begin, end)])

    def find(self, test: str, pattern: str, /) -> npt.NDArray[np.bool_]:
        return holds(as_strings(self.start, self.data), test, pattern)

    def parts(self) -> Iterator[tuple[int, Templated]]:
        for first in range(0, len(self.start) - 1, PART):
            yield first, to_templates(as_strings(self.start[first : first + PART + 1], self.data))


@dataclass(frozen=True)
class Gap:
    """A place in a strand where events are missing."""

    strand: int
    after: int
    """The last event before the gap, -1 when the strand's beginning is missing or the event is unknown."""
    before: int
    """The first event after the gap, -1 when the gap has no end or the event is unknown."""
    lost: int | None
    """The number of missing events or calls, None when unknown."""
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
    """The columns of calls, one row each, sorted by the opening event (an ENTER, or a RESUME whose ENTER is missing)."""

    enter: I64
    exit: I64
    """The row of the EXIT or UNWIND, -1 when the call never ended."""
    caller: I64
    """The row of the caller's `enter`, -1 for none."""
    total_ns: I64
    self_ns: I64
    """The time in the call's own code, without recorded calls, suspensions and recorded waits."""
    waiting_ns: I64

    def find(self, enter: int) -> int:
        """Return the row of the call that event `enter` opened. Raises KeyError."""
        at = int(np.searchsorted(self.enter, enter))
        if at == len(self.enter) or self.enter[at] != enter:
            raise KeyError(enter)
        return at


@dataclass(frozen=True)
class ExecutionGraph:
    """An execution graph: columns of events, columns of edges sorted by (region of the source, source), and tables."""

    info: RunInfo
    ts: I64
    """Times in nanoseconds since the run's start."""
    kind: U8
    site: U32
    strand: U32
    region: U32
    ext: npt.NDArray[np.int32]
    """Rows in `extensions`, -1 for none."""
    call: Rows
    """The row of the ENTER of each event's call: for a call's records its own, else the innermost open call."""
    inner: Rows
    """The row of the ENTER of the call that runs right after the event."""
    idle: npt.NDArray[np.bool_]
    """Whether the strand waits, or another strand runs, until its next event; otherwise the inner call works."""
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
    """The aggregation levels that the spec defines."""
    counted: dict[int, int] = field(default_factory=dict)
    """The number of calls that were counted but not recorded, by site."""
    lost: tuple[Gap, ...] = ()
    """The gaps of lost records; `clew.graph.model.gaps.gaps` returns every gap."""
    made_structure: Structure | None = field(default=None, repr=False)
    """The structure, if it was already built or loaded."""

    def __len__(self) -> int:
        return len(self.ts)

    @cached_property
    def structure(self) -> Structure:
        """Regions and edges in the form that slices use. Its forest of regions has no excluding edge."""
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
        """Results that operators cache with the graph, each under the operator's own name."""
        return {}

    def passing(self) -> AbstractContextManager[Callable[[], None]]:
        """Return a context for a question that reads the whole graph once.

        A large stored graph caches no column that is read in the context. Calling the context's value releases them earlier.
        """
        return nullcontext(lambda: None)

    @property
    def allocate(self) -> Allocator:
        """The allocator for columns and for arrays of a similar size."""
        return np.empty

    def spare(self) -> None:
        """Put columns that a large stored graph reads from now on into memory-mapped temp files."""

    def release_memory(self) -> None:
        """Release the memory of columns in memory-mapped temp files."""

    @cached_property
    def strand_process(self) -> U32:
        """The process of every strand."""
        return np.array([strand.process for strand in self.strands], np.uint32)

    @cached_property
    def edge_crosses(self) -> npt.NDArray[np.bool_]:
        """Whether each edge leads from one process to another; such edges are network hops."""
        process = self.strand_process
        crosses: npt.NDArray[np.bool_] = (
            process[self.strand[self.edge_src]] != process[self.strand[self.edge_dst]]
            if len(self.edge_src)
            else np.zeros(0, bool)
        )
        return crosses

    @cached_property
    def edge_excludes(self) -> npt.NDArray[np.bool_] | None:
        """Whether each edge only shows that one strand waited until another released a lock. None when there is no such edge.

        Such an edge explains the wait, but not the events after it: which strand had the lock before is chance.
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
        """Whether each site is in the program, so that it names events there outside calls."""
        named: npt.NDArray[np.bool_] = ~self.site_is_adapter
        named[0] = False
        return named

    @cached_property
    def owner(self) -> Rows:
        """The call that names each event, -1 for events of a strand outside calls; see `clew.graph.model.ownership.owners`."""
        is_outcome = np.zeros(len(self), bool)
        has = np.flatnonzero(self.ext >= 0)
        is_outcome[has] = np.isin(self.extensions.channel[self.ext[has]], self.outcome_channels)
        return owners(
            self.kind, self.region, self.strand, self.call, self.inner, is_outcome=is_outcome, allocate=self.allocate
        )

    @cached_property
    def outcome_channels(self) -> list[int]:
        return [self.channel_ids[name] for name in OUTCOMES if name in self.channel_ids]

    def ids(self, rows: I64) -> I64:
        """Return the run's numbers of events.

        They are the rows, unless the graph is a part of a run: then `answers["numbering"]` converts rows to numbers.
        """
        numbering: Callable[[I64], I64] | None = self.answers.get("numbering")
        return rows if numbering is None else numbering(rows)

    def at(self, column: str, event: int) -> int:
        """Return one value of an event column. A stored graph does not read the whole column for it."""
        return int(getattr(self, column)[event])

    def event(self, event: int) -> Event:
        return Event(self, int(event))

    def wall_ns(self, event: int) -> int:
        """Return the event's time in nanoseconds since 1970."""
        return self.at("ts", event) + self.info.started

    def text(self, event: int) -> str:
        """Return a log's message, a mark's value, a payload or a gap's reason, else "". If that failed, return `failure`."""
        row = self.at("ext", event)
        return self.failure(event) or self.extensions.text(row) if row >= 0 else ""

    def failure(self, event: int) -> str:
        """Return e.g. `key failed: AttributeError` when the expression of an event's key or value raised, else ""."""
        row, kind = self.at("ext", event), self.at("kind", event)
        # A log line whose arguments do not fit its format still has its text.
        if row < 0 or kind == Kind.LOG or not int(self.extensions.flags[row]) & FLAG_FAILED:
            return ""
        return f"{'key' if kind in _KEYED else 'value'} failed: {self.extensions.text(row)}"

    def is_over(self, event: int) -> bool:
        """Return whether a GAP ends at the event."""
        row = self.at("ext", event)
        return row >= 0 and bool(int(self.extensions.flags[row]) & FLAG_OVER)

    def key(self, event: int) -> int:
        row = self.at("ext", event)
        return int(self.extensions.key[row]) if row >= 0 else 0

    def key_text(self, event: int) -> str:
        """Return the recorded text of the key of an edge's event, "" when only the key's hash was recorded."""
        return self.text(event) if self.at("kind", event) in _KEYED else ""

    def channel(self, event: int) -> str:
        """Return the mechanism of an edge's event, the logger of a log, or the name of a request, mark or payload."""
        row = self.at("ext", event)
        return self.strings[int(self.extensions.channel[row])] if row >= 0 else ""

    def process_of(self, event: int) -> Process:
        return self.processes[self.strands[self.at("strand", event)].process]

    def strand_of(self, event: int) -> Strand:
        return self.strands[self.at("strand", event)]

    @cached_property
    def strand_machine(self) -> U32:
        """The machine of every strand."""
        return np.array([self.processes[strand.process].machine for strand in self.strands], np.uint32)

    def crossing(self, event: int, other: int) -> Crossing | None:
        """Return the clock uncertainty between two events, None when one clock measured both or no bound is known."""
        here, there = self.process_of(event).machine, self.process_of(other).machine
        return crossing(self.machines, here, there) if self.machines else None

    def call_of(self, event: int) -> int:
        """Return the ENTER of the call that the event belongs to, -1 for none."""
        return self.at("call", event)

    def enclosing_call(self, event: int) -> int:
        """Return the ENTER of the call around the event, -1 for none. The call around an ENTER or RESUME is the caller."""
        if self.at("kind", event) in (Kind.ENTER, Kind.RESUME):
            first = event == self.strand_of(event).start
            return -1 if first else self.at("inner", event - 1)
        return self.at("inner", event)

    def with_callers(self, call: int) -> Iterator[int]:
        """Yield a call's ENTER, then those of the calls around it, the innermost first; nothing for -1."""
        while call >= 0:
            yield call
            call = self.enclosing_call(call)

    def exit_of(self, enter: int) -> int:
        """Return the EXIT or UNWIND of a call, -1 when it never ended. Raises KeyError when `enter` does not open a call."""
        return int(self.calls.exit[self.calls.find(enter)])

    def owner_of(self, event: int) -> int:
        """Return the call that names the event, -1 for none: one value of `owner`, mostly without computing the column."""
        call = self.at("call", event)
        return call if call >= 0 else self.at("owner", event)

    def function_site(self, event: int) -> int:
        """Return the site of the function around the event, or the event's own site outside recorded calls."""
        call = self.at("call", event)
        return self.at("site", call if call >= 0 else event)

    def function(self, event: int) -> str:
        """Return the `module:qualname` of the function around the event, "" for none."""
        return self.sites[self.function_site(event)].label

    def location(self, event: int) -> tuple[str, int] | None:
        """Return the file and line (from 1) of the event's own site, else of the function around it."""
        site = self.sites[self.at("site", event) or self.function_site(event)]
        return (site.file, site.line) if site.file else None

    def rows_of(self, kinds: Iterable[int], channel: str | None = None) -> I64:
        """Return the events of some kinds, ascending; with a channel, only its own."""
        chosen = np.zeros(256, bool)
        chosen[list(kinds)] = True
        if channel is None:
            return np.flatnonzero(chosen[self.kind])
        number = self.channel_ids.get(channel)
        if number is None:
            return np.zeros(0, np.int64)
        rows = np.flatnonzero(chosen[self.kind] & (self.ext >= 0))
        found: I64 = rows[self.extensions.channel[self.ext[rows]] == number]
        return found

    @cached_property
    def event_process(self) -> U32:
        """The process of every event."""
        return self.strand_process[self.strand]


_KEYED = frozenset(
    {Kind.SEND, Kind.RECEIVE, Kind.JOIN, Kind.RELEASE, Kind.ACQUIRE, Kind.DEFINE, Kind.USE, Kind.SCOPE_BEGIN}
)


EdgeKindName = Literal["use", "sync", "state"]
_EDGE_KIND_NAMES: dict[int, EdgeKindName] = {EdgeKind.USE: "use", EdgeKind.SYNC: "sync", EdgeKind.STATE: "state"}


def edge_kind_name(kind: int) -> EdgeKindName:
    return _EDGE_KIND_NAMES[kind]
