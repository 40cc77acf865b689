"""What led to something, or came of it: a graph and the chain of why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, MachineRef, MissingEvents, ProcessRef, RunRef, Target


@dataclass(frozen=True)
class SliceParams:
    target: Target
    run: str = ""
    direction: Literal["backward", "forward"] = "backward"
    level: str = "function"
    """An aggregation level: event, function, class, module, component, task, thread, process, machine, or the spec's."""
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
    """Since the run's start."""
    lastNs: float
    location: Location | None = None
    root: bool = False
    onCriticalPath: bool = False
    onChain: bool = False
    firstEvent: int = 0
    machine: str = ""
    """"" when the run has only one."""
    gaps: list[int] = field(default_factory=list)
    """Places in the answer's `gaps` of those that its events lie beside."""


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
    """What the clocks of its two ends were put together by, "" on one machine."""
    uncertain: bool = False
    """Can the clocks be off by more than the time between the ends?"""
    gaps: list[int] = field(default_factory=list)
    """Places in the answer's `gaps` of those that a "next" edge passes."""


@dataclass(frozen=True)
class ChainStep:
    """One line of "why": an event, and the edge that leads from its cause (the next step) to it."""

    event: int
    title: str
    detail: str
    process: str
    strand: str
    timeNs: float
    """Since the run's start."""
    edge: str
    """How the previous (later) step depends on this one: "", "use", "sync", "state", "scope"."""
    channel: str
    key: str
    otherCauses: int
    nodeId: str
    location: Location | None = None
    machine: str = ""
    """"" when the run has only one."""
    clock: str = ""
    """What its clock and that of the step before were put together by, "" on one machine."""
    uncertain: bool = False
    """Can the clocks be off by more than the time between this step and what depends on it?"""
    gaps: list[MissingEvents] = field(default_factory=list)
    """What is missing on the way from here back to the next step."""
    hiddenGaps: int = 0
    """How many more there are."""


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
    """Nodes that were left out because of `maxNodes`; the panel says so and can ask for more."""
    message: str = ""
    """A sentence when there is nothing to show, with what to do."""
    gaps: list[MissingEvents] = field(default_factory=list)
    """What is missing beside the slice's events, so that it may be larger; in the order of time."""
    hiddenGaps: int = 0
    """Shorter ones that were left out."""
    processes: list[ProcessRef] = field(default_factory=list)
    """Those of the nodes and the chain."""
    machines: list[MachineRef] = field(default_factory=list)
    """Empty when there is only one."""
