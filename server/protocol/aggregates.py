"""Where a run's events, calls and times are: boxes from machines down to functions, which are opened one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef, Target


@dataclass(frozen=True)
class AggregateParams:
    run: str = ""
    target: Target = field(default_factory=Target)
    """With one, only what led to it; else the whole run."""
    level: str = ""
    """Of the boxes before any is opened, one of the answer's `nesting`; "": processes, or machines where there are several."""
    strands: Literal["thread", "task"] = "thread"
    """What processes consist of."""
    opened: list[list[str]] = field(default_factory=list)
    """Paths of the boxes that give way to those in them."""
    measure: Literal["self", "total", "waiting", "calls", "errors"] = "self"
    """What boxes are weighed by: the lighter ones are left out first, and `heat` tells of it."""
    maxBoxes: int = 60


@dataclass(frozen=True)
class AggregateBox:
    path: list[str]
    """Labels from the machine down; what it is known by."""
    label: str
    level: str
    events: int
    calls: int
    selfNs: float
    totalNs: float
    """Of its calls, without those that were made from within."""
    waitingNs: float
    """The part of `totalNs` that was waited for."""
    errors: int
    """Calls that ended by an exception."""
    heat: float
    """Its part, 0 to 1, of what the heaviest box that is not opened has of the measure."""
    inside: int
    """How many boxes are in it; 0 for a function, which cannot be opened."""
    firstEvent: int
    location: Location | None = None
    """Of a function."""


@dataclass(frozen=True)
class AggregateContainer:
    """A box that is opened."""

    box: AggregateBox
    hiddenBoxes: int
    """How many of those in it were left out."""


@dataclass(frozen=True)
class AggregateEdge:
    source: int
    """Place in `boxes`, as `target`."""
    target: int
    kind: Literal["call", "use", "sync", "state"]
    channel: str
    count: int
    delayNs: float
    """Mean time from one end to the other; 0 for calls."""


@dataclass(frozen=True)
class AggregateResult:
    run: RunRef
    title: str
    nesting: list[str]
    """From the outermost to the innermost."""
    level: str
    boxes: list[AggregateBox]
    """In the order of their first events."""
    containers: list[AggregateContainer]
    """Outer ones first."""
    edges: list[AggregateEdge]
    hiddenBoxes: int
    """In all."""
    countedCalls: int
    """That were only counted, and are in no box."""
    message: str = ""
