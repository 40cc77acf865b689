"""Runs by the flows of their requests: slower and new categories, the reasons, and two flows as one graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class CompareThresholds:
    """When a difference counts; `CompareResult.explanation` has the text."""

    alpha: float = 0.05
    """The share of reported differences that may be due to chance."""
    slower: float = 0.02
    """The minimum increase of the time, as a share of the earlier time."""
    samples: float = 4.0
    """Times are compared if n·m / (n + m) of the samples on both sides is at least this."""
    more: int = 5
    """The minimum number of requests by which a category must be new or more frequent."""
    share: float = 0.02
    """The minimum of the same increase as a share of the requests with its name."""
    precursor: float = 0.5
    """A precursor must have lost at least this share of the increase."""


@dataclass(frozen=True)
class CompareParams:
    before: list[str]
    """Runs by id, name or folder. `RUN@EVENT` is one request of a run, by the number of its REQUEST event.
    `RUN@slowest`, `RUN@fastest` and `RUN@typical` (the median) select one by its response time."""
    after: list[str]
    request: str = ""
    """Only requests of this name."""
    level: str = "function"
    """function, class, module, component, task, thread, process, machine, or one of the spec's."""
    coalesce: bool = False
    """Count equal calls in a row as one, in any order."""
    category: str = ""
    """The category of the graph, a `CompareRow.category`; "" for the first row's."""
    precursor: str = ""
    """The category to compare it with, a `CompareRow.category`; "" for the likeliest precursor, or itself."""
    anyOrder: bool = False
    """Whether calls in another order, and calls in parallel and one after the other, are the same flow."""
    maxRows: int = 200
    maxNodes: int = 300
    thresholds: CompareThresholds = field(default_factory=CompareThresholds)


@dataclass(frozen=True)
class CompareCall:
    """A call that made a category slower or faster. Times are means per request, without those of calls below."""

    label: str
    caller: str
    """The caller; "" at the root."""
    channel: str
    """The cause of the call: queue, http, task, …; "" for a plain call."""
    ownBeforeNs: float
    """The call's own time: work, the delay before it, and waiting for events outside the flow."""
    ownAfterNs: float
    edgeBeforeNs: float
    """The time from the caller's view: the delay and the whole call."""
    edgeAfterNs: float
    p: float
    """p of the own times, corrected for the calls of the flow."""
    sentence: str
    location: Location | None = None
    isVictim: bool = False
    """Whether it only starts later or earlier, because of work of the same flow."""


@dataclass(frozen=True)
class ComparePrecursor:
    """A flow that is rarer than before, and that a new one may come from."""

    category: str
    flow: str
    likeness: float
    """The likeness, from 0 for flows without common parts to 1 for equal flows."""
    countBefore: int
    countAfter: int
    meanBeforeNs: float
    sentence: str


@dataclass(frozen=True)
class CompareDifference:
    """A difference between changed requests and the others: location, values, logs."""

    kind: Literal["instance", "parameter", "log", "failure"]
    subject: str
    """The call or the message."""
    share: float
    """The share of the changed requests that have the difference."""
    otherShare: float
    """The share of the other requests that have it."""
    p: float
    """p, corrected for all examined differences."""
    sentence: str


@dataclass(frozen=True)
class CompareRow:
    """A category that changed in one way, or did not. One that changed in both ways has two rows."""

    category: str
    """The id of the category, which is the same in every run."""
    name: str
    """The name of its requests."""
    kind: Literal["response-time", "structural", ""]
    """"" for a category without changes."""
    flow: str
    """The calls as CALLER>CALLED, depth-first; long flows are truncated."""
    countBefore: int
    countAfter: int
    expected: float
    """The number of requests after, had the category kept its share of its name's requests."""
    medianBeforeNs: float | None
    medianAfterNs: float | None
    meanBeforeNs: float | None
    meanAfterNs: float | None
    shiftNs: float | None
    """The median of all differences between a request after and one before."""
    lowNs: float | None
    """The lower bound of its 95 % confidence interval; `highNs` is the upper bound."""
    highNs: float | None
    effect: float | None
    """Cliff's delta, from -1 to 1."""
    p: float | None
    """p, corrected for the tested categories; null if the category was not tested."""
    costNs: float
    """The total cost of the change over all requests after; negative for a category that is faster. Rows are in the order
    of their causes, unchanged ones last."""
    sentence: str
    cause: str = ""
    """The cause that the row shares with the row before it, in words; "" for the first row of a cause."""
    calls: list[CompareCall] = field(default_factory=list)
    """The calls that changed in the row's direction, causes before victims, the most expensive first."""
    hiddenCalls: int = 0
    precursors: list[ComparePrecursor] = field(default_factory=list)
    """The precursors, the likeliest first."""
    hiddenPrecursors: int = 0
    differences: list[CompareDifference] = field(default_factory=list)
    hiddenDifferences: int = 0


@dataclass(frozen=True)
class CompareNode:
    """A call of either flow, or of both. Times are means per request; null on a side without it."""

    id: str
    label: str
    """The abbreviated name, which fits a line."""
    name: str
    """The complete name."""
    status: Literal["both", "before", "after"]
    channel: str
    """The cause of the call, "" for a plain call."""
    parent: str
    """The node above it, of the flow after if it has the call; "" at a root."""
    depth: int
    beginBeforeNs: float | None
    """The time since the start of the request."""
    beginAfterNs: float | None
    totalBeforeNs: float | None
    totalAfterNs: float | None
    ownBeforeNs: float | None
    ownAfterNs: float | None
    growthNs: float
    """Growth of its own time."""
    p: float | None
    """The probability that its own time did not grow; the panel's user sets the threshold."""
    location: Location | None = None


@dataclass(frozen=True)
class CompareEdge:
    """A caller and its callee. Times are the caller's view: the delay and the whole call."""

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
    """The mean response time."""
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
    """Names of requests, for `request`."""
    sentence: str
    """The largest change as a sentence."""
    explanation: str
    """When a difference counts, in plain words."""
    thresholds: CompareThresholds
    requestsBefore: int
    requestsAfter: int
    categories: int
    tested: int
    """Categories with enough samples for a comparison of their times."""
    rows: list[CompareRow]
    hiddenRows: int
    graph: CompareGraph | None
    """The graph; null if there is none."""
    message: str = ""
    """A sentence if there is nothing to compare, with a remedy."""
    certainty: str = ""
    """How the scatter between runs is known; "" if several runs per side show it."""
    hiddenNames: int = 0
    """Number of omitted names of rarer requests; they are valid values too."""


METHODS = {
    "clew/compare": Method(CompareParams, CompareResult, "views.compare.view:compare"),
}
