"""A run over time: threads and tasks with their calls as bars, tile by tile, and causes between them as arrows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, MissingEvents, RunRef


@dataclass(frozen=True)
class TimelineParams:
    run: str = ""
    strand: str = ""
    """Only threads and tasks whose name, `process / strand`, contains this; "" for all."""
    fromNs: float = 0.0
    """The first visible time, since the run's start."""
    toNs: float = 0.0
    """The last visible time; 0 for the end. The panel applies both: an answer covers the whole run."""
    maxStrands: int = 200


@dataclass(frozen=True)
class TimelineProcess:
    process: int
    """The number of the process in strands and lanes."""
    name: str
    machine: str
    """The machine; "" if the run has only one."""
    strands: int
    """Number of its strands, omitted ones included."""


@dataclass(frozen=True)
class TimelineStrand:
    strand: int
    """The number of the strand in tiles."""
    process: int
    name: str
    kind: str
    """thread or task."""
    depth: int
    """Maximum nesting of its calls; 0 if none was recorded."""
    events: int
    busy: float
    """The share of its time within a recorded call that was not suspended."""
    fromNs: float
    toNs: float


@dataclass(frozen=True)
class TimelineFunction:
    site: int
    """The number of the function in tiles."""
    label: str
    location: Location | None = None


@dataclass(frozen=True)
class TimelineGap:
    """Missing events of a strand."""

    strand: int
    """Like `TimelineStrand.strand`; -1 for a strand that is not shown."""
    missing: MissingEvents


@dataclass(frozen=True)
class TimelineResult:
    run: RunRef
    processes: list[TimelineProcess]
    strands: list[TimelineStrand]
    """Process by process, threads before tasks, each kind in the order in which they began."""
    hiddenStrands: int
    """Number of omitted strands, those with the fewest events."""
    events: int
    fromNs: float
    toNs: float
    scale: int
    """Each value of `activity` covers 2^scale ns, from `fromNs` on."""
    activity: list[float]
    """Mean number of threads and tasks within a recorded call."""
    gaps: list[TimelineGap]
    hiddenGaps: int
    functions: list[TimelineFunction]
    """The functions with the most time first."""
    hiddenFunctions: int
    message: str = ""
    """A sentence if there is nothing to show, with a remedy."""
    scales: list[int] = field(default_factory=list)
    """The available scales of tiles; empty: every scale. A report has a few."""


@dataclass(frozen=True)
class TimelineLane:
    """Some rows of a strand: depths from `depth` on. Without a strand, the whole process as one row."""

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
    """Number of consecutive tiles."""


@dataclass(frozen=True)
class TimelineTileResult:
    run: str
    scale: int
    first: int
    tiles: int
    lanes: int
    """Number of the requested lanes in the answer: as many as fit into it."""
    cells: str
    """Base64: per row and bucket 16 bits, little-endian. 0 is no call, else 1 + an index into `functions`, and 2^15 if
    the call is suspended. After all of them a byte each: the filled part of the bucket, of 255."""
    named: str
    """Base64: bars of at least 16 buckets, 24 bytes each: begin and end (ns, 64 bits), row and cell (32 bits), as
    above."""
    functions: list[int]
    """The sites of the functions."""
    unknown: list[TimelineFunction]
    """The functions of these that `TimelineResult` does not list."""


@dataclass(frozen=True)
class TimelineArrowsParams:
    run: str
    strands: list[int]
    """Only arrows between these."""
    fromNs: float
    toNs: float
    most: int = 200


@dataclass(frozen=True)
class TimelineArrow:
    """A cause in one strand, its effect in another."""

    source: int
    """The event of the cause."""
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
    """The arrows, the longest first."""
    hidden: int
    """The approximate number of omitted arrows."""


@dataclass(frozen=True)
class TimelineCallParams:
    run: str
    strand: int
    depth: int
    ns: float
    slackNs: float = 0.0
    """Among calls this near, the longest one; 0: the running one."""
    move: Literal["at", "next", "previous", "into", "out"] = "at"
    """The move from this call to another: the next or previous one, the first callee, or the caller."""


@dataclass(frozen=True)
class TimelineCall:
    strand: int
    depth: int
    event: int
    """The beginning of the call, or its continuation after a suspension."""
    resumed: bool
    label: str
    fromNs: float
    toNs: float
    selfNs: float
    """The time without the calls that it makes."""
    process: str
    strandName: str
    location: Location | None = None


@dataclass(frozen=True)
class TimelineCallResult:
    call: TimelineCall | None = None
    """The call; null if there is none."""


@dataclass(frozen=True)
class TimelineSearchParams:
    text: str
    """Searched in names of functions and in log lines, case-insensitively."""
    run: str = ""
    by: Literal[0, 1, -1] = 0
    """1: the next one, -1: the previous one, 0: only the number of matches."""
    ns: float = -1.0
    """The time of the current position."""
    event: int = -1
    """The event at the current position; the next match is after both."""


@dataclass(frozen=True)
class TimelineMatch:
    place: int
    """The rank among all matching calls and log lines by time, from 1."""
    ns: float
    event: int
    strand: int
    call: TimelineCall | None = None
    """The call that begins there, or that wrote the line; null if it was not recorded."""
    text: str = ""
    """The log line; "" for a call."""


@dataclass(frozen=True)
class TimelineSearchResult:
    run: str
    functions: int
    calls: int
    logs: int
    match: TimelineMatch | None = None
    """The match; after the last match, the first one."""
    message: str = ""
    """The parts that were not searched, as in a report."""


METHODS = {
    "clew/timeline": Method(TimelineParams, TimelineResult, "views.timeline.view:timeline_view"),
    "clew/timelineTile": Method(TimelineTileParams, TimelineTileResult, "views.timeline.view:timeline_tile"),
    "clew/timelineArrows": Method(TimelineArrowsParams, TimelineArrowsResult, "views.timeline.view:timeline_arrows"),
    "clew/timelineCall": Method(TimelineCallParams, TimelineCallResult, "views.timeline.view:timeline_call"),
    "clew/timelineSearch": Method(TimelineSearchParams, TimelineSearchResult, "views.timeline.search:timeline_search"),
}
