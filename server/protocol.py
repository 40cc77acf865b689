"""The panel's requests and answers as typed data; `clew.server.typescript` writes the TypeScript twin from this file.

Field names go over the wire as they stand, in camel case, so that both sides read the same words. Times are nanoseconds
as JSON numbers (exact below 2**53, which a run's relative times stay under). Events are row numbers of the run's graph.
A field with a default may be left out of a request; an answer has every field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PROTOCOL_VERSION = 1


@dataclass(frozen=True)
class Location:
    """A place in source. `line` counts from 1, as people and tracebacks do; the language server converts."""

    path: str
    """Absolute, in the file system of the server."""
    line: int
    endLine: int = 0


@dataclass(frozen=True)
class RunRef:
    id: str
    name: str
    started: float
    """Wall-clock milliseconds since 1970."""
    finished: bool
    exitCode: int | None = None
    command: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunsParams:
    pass


@dataclass(frozen=True)
class RunsResult:
    workspace: str
    runs: list[RunRef]
    selected: str = ""


@dataclass(frozen=True)
class SelectRunParams:
    run: str


@dataclass(frozen=True)
class MissingEvents:
    """A stretch of a thread or task of which events are missing, so that nothing is known of it: it is not idle."""

    process: str
    strand: str
    fromNs: float
    """Since the run's start, as `toNs`."""
    toNs: float
    lost: int | None
    """How many events, or calls of `function`; null when that is not known."""
    function: str
    """`module:qualname`, when only its calls are missing; "" when all that the strand did is."""
    why: str
    text: str
    """All of it as a sentence."""


@dataclass(frozen=True)
class MachineRef:
    """A machine of the run, and what its clock was corrected by."""

    name: str
    clock: str
    """All of it in words."""
    offsetNs: float
    rate: float
    """What was added to each nanosecond besides."""
    belowNs: float | None
    """How far below the true offset can be; null when no message bounds it."""
    aboveNs: float | None
    messages: int
    """How many the correction was found from."""


@dataclass(frozen=True)
class ProcessRef:
    name: str
    machine: str
    """"" when the run has only one."""


@dataclass(frozen=True)
class Target:
    """Where a slice starts: exactly one of the four is given, else the last error of a test that failed, or the newest error
    line."""

    event: int | None = None
    text: str | None = None
    """Part of a log message."""
    location: Location | None = None
    """A line of source (the last call of its function) or of a log file (the event that wrote it)."""
    function: str | None = None
    """`module:qualname`, all its calls."""


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


@dataclass(frozen=True)
class DiffParams:
    before: str
    """A run's id, name or folder."""
    after: str
    level: str = "function"
    maxRows: int = 200


@dataclass(frozen=True)
class DiffRow:
    label: str
    status: Literal["both", "before", "after"]
    callsBefore: int
    callsAfter: int
    selfBeforeNs: float
    selfAfterNs: float
    deltaNs: float
    """Change of the total self time; the rows are ranked by the part of it that is beyond the scatter of the calls."""
    perCallBeforeNs: float
    """Of the calls that were timed, as `perCallAfterNs`."""
    perCallAfterNs: float
    location: Location | None = None
    countedBefore: int = 0
    """The part of `callsBefore` that was only counted, not timed."""
    countedAfter: int = 0


@dataclass(frozen=True)
class DiffNode:
    id: str
    label: str
    status: Literal["both", "before", "after"]
    deltaNs: float
    callsBefore: int
    callsAfter: int
    location: Location | None = None


@dataclass(frozen=True)
class DiffEdge:
    source: str
    target: str
    status: Literal["both", "before", "after"]
    countBefore: int
    countAfter: int


@dataclass(frozen=True)
class DiffResult:
    before: RunRef
    after: RunRef
    level: str
    levels: list[str]
    sentence: str
    """The finding in plain words: which function, by how much, per call and in all."""
    rows: list[DiffRow]
    nodes: list[DiffNode]
    edges: list[DiffEdge]
    totalBeforeNs: float
    totalAfterNs: float
    hiddenRows: int
    message: str = ""
    order: str = ""
    """What the rows are ordered by, in words."""
    counted: str = ""
    """Which calls were only counted, so that their times are missing; "" for none."""


@dataclass(frozen=True)
class LocateParams:
    """Which of a slice's functions is the cursor in?"""

    location: Location
    run: str = ""


@dataclass(frozen=True)
class LocateResult:
    function: str
    """`module:qualname`, empty when the line belongs to no recorded function."""
    location: Location | None = None


@dataclass(frozen=True)
class SourceParams:
    """Lines around a place, for the browser, which has no editor beside it. Only files that the run recorded, and source
    and log files of the workspace, are shown."""

    location: Location
    context: int = 12
    run: str = ""


@dataclass(frozen=True)
class SourceResult:
    path: str
    firstLine: int
    lines: list[str]
    message: str = ""


@dataclass(frozen=True)
class ErrorResult:
    """What stands instead of a result when a request cannot be answered: a sentence for the user, never a traceback."""

    message: str


@dataclass(frozen=True)
class ClientOptions:
    """The language client's `initializationOptions`."""

    panel: bool = False
    """The client carries out the commands `COMMANDS` itself (it has the panel). Otherwise the server offers them
    through workspace/executeCommand and answers with a message. A client that registers them must say so, or they
    clash."""
    workspace: str = ""
    """The folder that holds `.clew`; else the first workspace folder, or the one found from there."""


@dataclass(frozen=True)
class OpenMessage:
    """To the panel: show this view."""

    type: Literal["open"]
    view: Literal["slice", "diff", "path"]
    params: SliceParams | DiffParams | CriticalPathParams


@dataclass(frozen=True)
class CursorMessage:
    """To the panel: the editor's cursor moved."""

    type: Literal["cursor"]
    location: Location


@dataclass(frozen=True)
class RunsChangedMessage:
    """To the panel: a run began, went on, ended or was removed, or another one was selected."""

    type: Literal["runsChanged"]


@dataclass(frozen=True)
class RevealMessage:
    """From the panel: show this place in the editor."""

    type: Literal["reveal"]
    location: Location


@dataclass(frozen=True)
class ReadyMessage:
    """From the panel: it listens now."""

    type: Literal["ready"]


HostMessage = OpenMessage | CursorMessage | RunsChangedMessage
PanelMessage = RevealMessage | ReadyMessage


METHODS: dict[str, tuple[type, type]] = {
    "clew/runs": (RunsParams, RunsResult),
    "clew/selectRun": (SelectRunParams, RunsResult),
    "clew/slice": (SliceParams, SliceResult),
    "clew/criticalPath": (CriticalPathParams, CriticalPathResult),
    "clew/diff": (DiffParams, DiffResult),
    "clew/locate": (LocateParams, LocateResult),
    "clew/source": (SourceParams, SourceResult),
}
"""Every request of the panel: over the language server as a custom request, over HTTP as POST /rpc with
{"method", "params"}."""

RUNS_CHANGED = "clew/runsChanged"
"""The server's only notification of its own, without data."""

COMMANDS = ("clew.openSlice", "clew.why", "clew.selectRun")
"""Commands that code lenses and hovers name. Arguments: openSlice and why take one `SliceParams`; selectRun takes one
`SelectRunParams`, or nothing and then asks."""
