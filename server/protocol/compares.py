"""Runs by the flows of their requests: which categories got slower or are new, why, and two flows as one graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class CompareThresholds:
    """When a difference counts; `CompareResult.explanation` says it in words."""

    alpha: float = 0.05
    """The share of what is named that may be there by chance."""
    slower: float = 0.02
    """Slower by at least this share of what it took."""
    samples: float = 4.0
    """Times are compared where n·m / (n + m) of the samples on both sides is at least this."""
    more: int = 5
    """New or more frequent by at least so many requests,"""
    share: float = 0.02
    """and by this share of the requests of its name."""
    precursor: float = 0.5
    """What it may come from has lost at least this share of that."""


@dataclass(frozen=True)
class CompareParams:
    before: list[str]
    """Runs by id, name or folder; `RUN@EVENT` is one request of a run, by the number of its REQUEST event;
    `RUN@slowest`, `RUN@fastest` and `RUN@typical` (the median) say it by how long it took."""
    after: list[str]
    request: str = ""
    """Only requests of this name."""
    level: str = "function"
    """function, class, module, component, task, thread, process, machine, or the spec's."""
    coalesce: bool = False
    """Count equal calls in a row as one."""
    category: str = ""
    """Whose flows the graph shows, by `CompareRow.category`; "" for the first row's."""
    precursor: str = ""
    """Beside which flow, by `CompareRow.category`; "" for the likeliest precursor, or itself."""
    maxRows: int = 200
    maxNodes: int = 300
    thresholds: CompareThresholds = field(default_factory=CompareThresholds)


@dataclass(frozen=True)
class CompareCall:
    """A call that made a category slower. Times are means per request, without those of calls below."""

    label: str
    caller: str
    """"" at the root."""
    channel: str
    """What led to it: queue, http, task, …; "" for a plain call."""
    ownBeforeNs: float
    """Work, delay on the way to it, and waiting for nothing that is in the flow."""
    ownAfterNs: float
    edgeBeforeNs: float
    """What its caller sees: delay and all of the call."""
    edgeAfterNs: float
    p: float
    """Of the own times, corrected for the calls of the flow."""
    sentence: str
    location: Location | None = None


@dataclass(frozen=True)
class ComparePrecursor:
    """A flow that there is less of than before, and that a new one may come from."""

    category: str
    flow: str
    likeness: float
    """1 for the same string, 0 where nothing is shared."""
    countBefore: int
    countAfter: int
    meanBeforeNs: float
    sentence: str


@dataclass(frozen=True)
class CompareDifference:
    """What tells requests that changed from those that did not: where they ran, values, logs."""

    kind: Literal["instance", "parameter", "log", "failure"]
    subject: str
    """The call or the message."""
    share: float
    """Of the requests that changed, how many it holds for,"""
    otherShare: float
    """and of the others."""
    p: float
    """Corrected for all that was looked at."""
    sentence: str


@dataclass(frozen=True)
class CompareRow:
    """A category that changed in one way, or did not. One that changed in both ways is there twice."""

    category: str
    """Stable from run to run."""
    name: str
    """Of its requests."""
    kind: Literal["response-time", "structural", ""]
    """"" for one that did not change."""
    flow: str
    """Its calls as CALLER>CALLED, depth-first; cut where it is long."""
    countBefore: int
    countAfter: int
    expected: float
    """Requests there would be after, had it kept its share of its name's."""
    medianBeforeNs: float | None
    medianAfterNs: float | None
    meanBeforeNs: float | None
    meanAfterNs: float | None
    shiftNs: float | None
    """Median of all differences between a request after and one before,"""
    lowNs: float | None
    """and the bounds it lies in, at 95 %."""
    highNs: float | None
    effect: float | None
    """Cliff's delta, -1 to 1."""
    p: float | None
    """Corrected for the categories tested; null where it was not tested."""
    costNs: float
    """What the change costs all its requests after; rows are in this order, unchanged ones last."""
    sentence: str
    calls: list[CompareCall] = field(default_factory=list)
    """Those that got slower, what costs most first."""
    hiddenCalls: int = 0
    precursors: list[ComparePrecursor] = field(default_factory=list)
    """The likeliest first."""
    hiddenPrecursors: int = 0
    differences: list[CompareDifference] = field(default_factory=list)
    hiddenDifferences: int = 0


@dataclass(frozen=True)
class CompareNode:
    """A call of either flow, or of both. Times are means per request; null on a side that does not have it."""

    id: str
    label: str
    """What fits a line;"""
    name: str
    """all of it."""
    status: Literal["both", "before", "after"]
    channel: str
    """What led to it, "" for a plain call."""
    parent: str
    """The node above it, after where there is an after; "" at a root."""
    depth: int
    beginBeforeNs: float | None
    """Since the request's begin."""
    beginAfterNs: float | None
    totalBeforeNs: float | None
    totalAfterNs: float | None
    ownBeforeNs: float | None
    ownAfterNs: float | None
    growthNs: float
    """Of its own time."""
    p: float | None
    """How likely its own time is no longer after; whether that is enough, the panel's user says."""
    location: Location | None = None


@dataclass(frozen=True)
class CompareEdge:
    """Who led to whom. Times are what the caller sees: delay and all of the call."""

    source: str
    target: str
    status: Literal["both", "before", "after"]
    channel: str
    beforeNs: float | None
    afterNs: float | None
    p: float | None


@dataclass(frozen=True)
class CompareGraph:
    """Two flows, or one on both sides, as one graph. Nodes are in the order of both, callers first."""

    category: str
    other: str
    """The category before."""
    title: str
    sentence: str
    countBefore: int
    countAfter: int
    responseBeforeNs: float
    """Mean."""
    responseAfterNs: float
    nodes: list[CompareNode]
    edges: list[CompareEdge]
    hiddenNodes: int


@dataclass(frozen=True)
class CompareResult:
    before: list[RunRef]
    after: list[RunRef]
    level: str
    levels: list[str]
    names: list[str]
    """Of requests, for `request`."""
    sentence: str
    """What changed most, in plain words."""
    explanation: str
    """When a difference counts, in plain words."""
    thresholds: CompareThresholds
    requestsBefore: int
    requestsAfter: int
    categories: int
    tested: int
    """Categories with enough samples for their times to be compared."""
    rows: list[CompareRow]
    hiddenRows: int
    graph: CompareGraph | None
    """Null where there is nothing to show."""
    message: str = ""
    """A sentence when there is nothing to compare, with what to do."""
    hiddenNames: int = 0
    """Of rarer requests, which can be asked for all the same."""
