"""The distribution of a run's events, calls and times: nodes from machines down to functions, expanded one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef, Target


@dataclass(frozen=True)
class AggregateParams:
    run: str = ""
    target: Target = field(default_factory=Target)
    """The event whose causes are aggregated; by default the whole run is."""
    level: str = ""
    """The level of the nodes before any is expanded, one of the answer's `nesting`; "": processes, or machines if there
    are several."""
    strands: Literal["thread", "task"] = "thread"
    """The parts of processes."""
    opened: list[list[str]] = field(default_factory=list)
    """Paths of the nodes that are replaced by their children."""
    measure: Literal["self", "total", "waiting", "calls", "errors"] = "self"
    """The measure of the nodes' weight: the lighter ones are omitted first, and `heat` is computed from it."""
    maxBoxes: int = 60


@dataclass(frozen=True)
class AggregateBox:
    path: list[str]
    """Labels from the machine down; the node's identity."""
    label: str
    level: str
    events: int
    calls: int
    selfNs: float
    totalNs: float
    """Total time of its calls, without those that were made from within."""
    waitingNs: float
    """The waiting time within `totalNs`."""
    errors: int
    """Calls that ended by an exception."""
    heat: float
    """The measure relative to that of the heaviest node that is not expanded, 0 to 1."""
    inside: int
    """The number of its children; 0 for a function, which cannot be expanded."""
    firstEvent: int
    location: Location | None = None
    """The location of a function."""


@dataclass(frozen=True)
class AggregateContainer:
    """A node that is expanded."""

    box: AggregateBox
    hiddenBoxes: int
    """Number of omitted children."""


@dataclass(frozen=True)
class AggregateEdge:
    source: int
    """The index into `boxes`, like `target`."""
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
    """The levels of nodes, from the outermost to the innermost."""
    level: str
    boxes: list[AggregateBox]
    """The visible nodes in the order of their first events."""
    containers: list[AggregateContainer]
    """The expanded nodes, outer ones first."""
    edges: list[AggregateEdge]
    hiddenBoxes: int
    """Total number of omitted nodes."""
    countedCalls: int
    """Calls that were only counted, and are in no node."""
    message: str = ""


METHODS = {
    "clew/aggregate": Method(AggregateParams, AggregateResult, "views.aggregate:aggregate_view"),
}
