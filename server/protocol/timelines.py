"""A run over time: threads and tasks with their calls as bars, tile by tile, and causes between them as arrows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, MissingEvents, RunRef


@dataclass(frozen=True)
class TimelineParams:
    run: str = ""
    strand: str = ""
    """Only threads and tasks whose name, `process / strand`, has this in it; "" for all."""
    fromNs: float = 0.0
    """What is to be shown first, since the run's start,"""
    toNs: float = 0.0
    """up to here; 0 for the end. The panel's own: an answer is of the whole run."""
    maxStrands: int = 200


@dataclass(frozen=True)
class TimelineProcess:
    process: int
    """What strands and lanes name it by."""
    name: str
    machine: str
    """"" when the run has only one."""
    strands: int
    """How many it has, also of those that are left out."""


@dataclass(frozen=True)
class TimelineStrand:
    strand: int
    """What tiles name it by."""
    process: int
    name: str
    kind: str
    """thread or task."""
    depth: int
    """How deep its calls nest; 0 when none was recorded."""
    events: int
    busy: float
    """The share of its time in which it was in a recorded call that was not suspended."""
    fromNs: float
    toNs: float


@dataclass(frozen=True)
class TimelineFunction:
    site: int
    """What tiles name it by."""
    label: str
    location: Location | None = None


@dataclass(frozen=True)
class TimelineGap:
    """Where events of a strand are missing."""

    strand: int
    """As `TimelineStrand.strand`; -1 for one that is not shown."""
    missing: MissingEvents


@dataclass(frozen=True)
class TimelineResult:
    run: RunRef
    processes: list[TimelineProcess]
    strands: list[TimelineStrand]
    """Process by process, threads before tasks, each kind in the order in which they began."""
    hiddenStrands: int
    """Those with the fewest events were left out."""
    events: int
    fromNs: float
    toNs: float
    scale: int
    """Each value of `activity` is of 2^scale ns, from `fromNs` on."""
    activity: list[float]
    """How many threads and tasks were in a recorded call, on average."""
    gaps: list[TimelineGap]
    hiddenGaps: int
    functions: list[TimelineFunction]
    """Those that have the most time first."""
    hiddenFunctions: int
    message: str = ""
    """A sentence when there is nothing to show, with what to do."""
    scales: list[int] = field(default_factory=list)
    """Those that there are tiles of; empty: of every one. A report has a few."""


@dataclass(frozen=True)
class TimelineLane:
    """Some rows of a strand: depths from `depth` on. Without a strand, all of a process as one row."""

    strand: int = -1
    depth: int = 0
    depths: int = 1
    process: int = -1


@dataclass(frozen=True)
class TimelineTileParams:
    run: str
    lanes: list[TimelineLane]
    scale: int
    """A bucket is 2^scale ns; a tile is 512 of them."""
    first: int
    """Tiles are counted from the run's start: this one begins at 512 · 2^scale · first ns."""
    tiles: int = 1
    """So many side by side."""


@dataclass(frozen=True)
class TimelineTileResult:
    run: str
    scale: int
    first: int
    tiles: int
    lanes: int
    """How many of those that were asked for are in the answer: no more than fit into it."""
    cells: str
    """Base64: per row and bucket 16 bits, little-endian. 0 is nothing, else 1 + a place in `functions`, and 2^15 where the call
    is suspended. After all of them a byte each: how much of the bucket is filled, of 255."""
    named: str
    """Base64: bars of at least 16 buckets, 24 bytes each: begin and end (ns, 64 bits), row and cell (32 bits), as above."""
    functions: list[int]
    """Their sites."""
    unknown: list[TimelineFunction]
    """Those of them that are not among the functions of `TimelineResult`."""


@dataclass(frozen=True)
class TimelineArrowsParams:
    run: str
    strands: list[int]
    """Only between these."""
    fromNs: float
    toNs: float
    most: int = 200


@dataclass(frozen=True)
class TimelineArrow:
    """A cause in one strand, its effect in another."""

    source: int
    """Event."""
    target: int
    sourceStrand: int
    targetStrand: int
    sourceDepth: int
    targetDepth: int
    sourceNs: float
    targetNs: float
    channel: str


@dataclass(frozen=True)
class TimelineArrowsResult:
    arrows: list[TimelineArrow]
    """The longest first."""
    hidden: int
    """How many more there are, about."""


@dataclass(frozen=True)
class TimelineCallParams:
    run: str
    strand: int
    depth: int
    ns: float
    slackNs: float = 0.0
    """Of the calls so near, the one that takes longest; 0: the one that runs then."""
    move: Literal["at", "next", "previous", "into", "out"] = "at"
    """From the call there to another: beside it, the first that it makes, the one that made it."""


@dataclass(frozen=True)
class TimelineCall:
    strand: int
    depth: int
    event: int
    """The call's beginning, or where it went on after it was suspended."""
    resumed: bool
    label: str
    fromNs: float
    toNs: float
    selfNs: float
    """Without the calls that it makes."""
    process: str
    strandName: str
    location: Location | None = None


@dataclass(frozen=True)
class TimelineCallResult:
    call: TimelineCall | None = None
    """Null where no call is."""


@dataclass(frozen=True)
class TimelineSearchParams:
    text: str
    """In names of functions and in log lines, of whatever case."""
    run: str = ""
    by: Literal[0, 1, -1] = 0
    """1: the next one, -1: the previous one, 0: only how much there is."""
    ns: float = -1.0
    """Where one is: a time,"""
    event: int = -1
    """and the event then; the next one is after both."""


@dataclass(frozen=True)
class TimelineMatch:
    place: int
    """From 1, among all calls and log lines that were found, by time."""
    ns: float
    event: int
    strand: int
    call: TimelineCall | None = None
    """What begins there, or what wrote the line; null where that was not recorded."""
    text: str = ""
    """The log line; "" for a call."""


@dataclass(frozen=True)
class TimelineSearchResult:
    run: str
    functions: int
    calls: int
    logs: int
    match: TimelineMatch | None = None
    """Behind the last one comes the first."""
    message: str = ""
    """What was not looked through, as in a report."""
