"""The causes or effects of an event: a graph and the chain of why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, MachineRef, MissingEvents, ProcessRef, RunRef, Target
from clew.server.protocol.views.answer import Verdict


@dataclass(frozen=True)
class SliceParams:
    target: Target
    run: str = ""
    direction: Literal["backward", "forward"] = "backward"
    level: str = "function"
    """An aggregation level: event, function, class, module, component, task, thread, process, machine, or one of the
    spec's."""
    maxNodes: int = 300


@dataclass(frozen=True)
class GraphNode:
    id: str
    label: str
    detail: str
    lane: str
    """Process and strand, for grouping."""
    process: str
    kind: str
    """call, log, state, send, receive, request, …"""
    events: int
    calls: int
    selfNs: float
    totalNs: float
    firstNs: float
    """The time since the run's start."""
    lastNs: float
    location: Location | None = None
    root: bool = False
    onCriticalPath: bool = False
    onChain: bool = False
    firstEvent: int = 0
    machine: str = ""
    """The machine; "" if the run has only one."""
    gaps: list[int] = field(default_factory=list)
    """Indices into the answer's `gaps`, for the gaps next to its events."""


@dataclass(frozen=True)
class GraphEdge:
    source: str
    target: str
    kind: Literal["call", "use", "sync", "state", "next"]
    channel: str
    count: int
    latencyNs: float
    onCriticalPath: bool = False
    onChain: bool = False
    clock: str = ""
    """The clock correction between its two ends, "" on one machine."""
    uncertain: bool = False
    """Whether the clock error can exceed the time between the ends."""
    gaps: list[int] = field(default_factory=list)
    """Indices into the answer's `gaps`, for the gaps that a "next" edge passes."""


@dataclass(frozen=True)
class ChainStep:
    """One line of "why": an event, and the edge to it from its cause (the next step)."""

    event: int
    title: str
    detail: str
    process: str
    strand: str
    timeNs: float
    """The time since the run's start."""
    edge: str
    """How the previous (later) step depends on this one: "", "use", "sync", "state", "scope"."""
    channel: str
    key: str
    otherCauses: int
    nodeId: str
    location: Location | None = None
    machine: str = ""
    """The machine; "" if the run has only one."""
    clock: str = ""
    """The clock correction between its machine and that of the step before, "" on one machine."""
    uncertain: bool = False
    """Whether the clock error can exceed the time between this step and the dependent one."""
    gaps: list[MissingEvents] = field(default_factory=list)
    """Missing events between this step and the next one, which is earlier."""
    hiddenGaps: int = 0
    """Number of omitted gaps."""


@dataclass(frozen=True)
class Numbers:
    events: int
    eventsInRun: int
    edges: int
    processes: int
    strands: int
    elapsedMs: float


@dataclass(frozen=True)
class SliceResult:
    run: RunRef
    title: str
    direction: str
    level: str
    levels: list[str]
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    chain: list[ChainStep]
    numbers: Numbers
    hiddenNodes: int
    """Nodes that were omitted because of `maxNodes`; the panel shows the number and can request more."""
    message: str = ""
    """A sentence if there is nothing to show, with a remedy."""
    gaps: list[MissingEvents] = field(default_factory=list)
    """Missing events next to the slice's events, which may make the slice too small; in the order of time."""
    hiddenGaps: int = 0
    """Number of omitted shorter gaps."""
    processes: list[ProcessRef] = field(default_factory=list)
    """The processes of the nodes and the chain."""
    machines: list[MachineRef] = field(default_factory=list)
    """The machines; empty if there is only one."""
    verdict: Verdict | None = None
    """The answer to *why* for the newest event of the target; None for effects, or if there is nothing to show."""


METHODS = {
    "clew/slice": Method(SliceParams, SliceResult, "views.slice.view:slice_view"),
}
