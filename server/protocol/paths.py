"""The critical path: which waits and which work the time from start to end consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.shared import Location, MachineRef, MissingEvents, ProcessRef, RunRef, Target


@dataclass(frozen=True)
class CriticalPathParams:
    target: Target
    run: str = ""
    level: str = "function"
    """As in a slice, without "event"."""
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
    """How much sooner the whole would end if the segment's own work took 10 % less."""
    machine: str = ""
    """"" when the run has only one, or for a joint segment of several."""
    clock: str = ""
    """What its clock and that of the segment before were put together by, "" on one machine."""
    uncertain: bool = False
    """Can the clocks be off by more than the time it took to come from the segment before?"""
    gaps: list[int] = field(default_factory=list)
    """Places in the answer's `gaps` of those inside it: its time was not idle, nor known to be its own work."""
    waitFor: str = ""
    """What its wait was for, in a word: "lock", "queue", "network", …; "" where it did not wait, or for a joint segment."""
    waitWhy: str = ""
    """Who ended the wait, in words."""
    event: int | None = None
    """Its first event; null for a joint segment."""


@dataclass(frozen=True)
class PathSlack:
    """How much longer the work of a label could take before the path's end comes later."""

    label: str
    workNs: float
    """All that it worked until the end, on the path and beside it."""
    slackNs: float | None
    """By how much any one stretch of that could be longer: 0 for what is on the path; null when nothing waited for it."""
    location: Location | None = None


@dataclass(frozen=True)
class PathBranch:
    """What the path waited for as well, which was done sooner."""

    label: str
    endNs: float
    joinedNs: float
    """When the path went on."""
    slackNs: float
    event: int


@dataclass(frozen=True)
class CriticalPathResult:
    run: RunRef
    title: str
    level: str
    levels: list[str]
    segments: list[PathSegment]
    """In the order of time. Where there are too many, neighbours that are short become one segment without a node."""
    hiddenSegments: int
    """How many segments such joint ones stand for."""
    totalNs: float
    message: str = ""
    gaps: list[MissingEvents] = field(default_factory=list)
    """What is missing, while the path lasts, of the threads and tasks that it goes through; in the order of time."""
    hiddenGaps: int = 0
    """Shorter ones that were left out."""
    processes: list[ProcessRef] = field(default_factory=list)
    machines: list[MachineRef] = field(default_factory=list)
    """Empty when there is only one."""
    beside: list[PathSlack] = field(default_factory=list)
    """Labels that worked meanwhile, those of the path included; the least slack first."""
    hiddenBeside: int = 0
    branches: list[PathBranch] = field(default_factory=list)
    """Those that nearly are on the path first."""
    hiddenBranches: int = 0
    endEvent: int = -1
    """The path's last event."""


@dataclass(frozen=True)
class WhatIfParams:
    target: Target
    label: str
    """Whose work is faster, of the path's level."""
    percent: float
    """How much, at most 100; slower below 0."""
    run: str = ""
    level: str = "function"


@dataclass(frozen=True)
class WhatIfResult:
    label: str
    percent: float
    totalNs: float
    """Of the path as it was recorded."""
    afterNs: float
    savedNs: float
    workNs: float
    """The label's work up to the path's end."""
