"""The critical path: the waits and the work that make up the time from start to end."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, MachineRef, MissingEvents, ProcessRef, RunRef, Target


@dataclass(frozen=True)
class CriticalPathParams:
    target: Target
    run: str = ""
    level: str = "function"
    """The level of the segments, as in a slice, without "event"."""
    maxSegments: int = 400


@dataclass(frozen=True)
class PathSegment:
    label: str
    process: str
    strand: str
    selfNs: float
    waitNs: float
    slackNs: float
    startNs: float
    endNs: float
    nodeId: str
    location: Location | None = None
    savingNs: float = 0.0
    """The time by which the path would end sooner if the segment's own work took 10 % less."""
    machine: str = ""
    """The machine; "" if the run has only one, or for a joint segment of several machines."""
    clock: str = ""
    """The clock correction between its machine and that of the segment before, "" on one machine."""
    uncertain: bool = False
    """Whether the clock error can exceed the time since the segment before."""
    gaps: list[int] = field(default_factory=list)
    """Indices into the answer's `gaps`, for the gaps inside it: its time was not idle, and not certainly its own work."""
    waitFor: str = ""
    """The reason of its wait in a word: "lock", "queue", "network", …; "" without a wait, or for a joint segment."""
    waitWhy: str = ""
    """The end of the wait in words."""
    event: int | None = None
    """The first event; null for a joint segment."""


@dataclass(frozen=True)
class PathSlack:
    """Slack: how much longer the work of a label could take without delaying the path's end."""

    label: str
    workNs: float
    """All work of the label until the end, on the path and in parallel."""
    slackNs: float | None
    """How much longer any one segment of that could take: 0 on the path; null if no event waited for it."""
    location: Location | None = None


@dataclass(frozen=True)
class PathBranch:
    """A branch that the path waited for as well, which was done sooner."""

    label: str
    endNs: float
    joinedNs: float
    """The time when the path continued."""
    slackNs: float
    event: int


@dataclass(frozen=True)
class CriticalPathResult:
    run: RunRef
    title: str
    level: str
    levels: list[str]
    segments: list[PathSegment]
    """The segments in time order. If there are too many, short neighbours become one segment without a node."""
    hiddenSegments: int
    """The number of segments in joint ones."""
    totalNs: float
    message: str = ""
    gaps: list[MissingEvents] = field(default_factory=list)
    """Missing events of the path's threads and tasks, during the path; in the order of time."""
    hiddenGaps: int = 0
    """Number of omitted shorter gaps."""
    processes: list[ProcessRef] = field(default_factory=list)
    machines: list[MachineRef] = field(default_factory=list)
    """The machines; empty if there is only one."""
    beside: list[PathSlack] = field(default_factory=list)
    """The labels that worked during the path, including those of the path; the least slack first."""
    hiddenBeside: int = 0
    branches: list[PathBranch] = field(default_factory=list)
    """The branches nearest to the path first."""
    hiddenBranches: int = 0
    endEvent: int = -1
    """The path's last event."""


@dataclass(frozen=True)
class WhatIfParams:
    target: Target
    label: str
    """The label whose work is faster, of the path's level."""
    percent: float
    """The speed-up, at most 100; negative for slower."""
    run: str = ""
    level: str = "function"


@dataclass(frozen=True)
class WhatIfResult:
    label: str
    percent: float
    totalNs: float
    """Duration of the recorded path."""
    afterNs: float
    savedNs: float
    workNs: float
    """The label's work up to the path's end."""


METHODS = {
    "clew/criticalPath": Method(CriticalPathParams, CriticalPathResult, "views.critical_path:critical_path_view"),
    "clew/whatIf": Method(WhatIfParams, WhatIfResult, "views.critical_path:what_if_view"),
}
