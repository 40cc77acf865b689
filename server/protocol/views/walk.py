"""Walking the graph: an event, its neighbours, and the meaning of the last step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, MissingEvents, RunRef, Target


@dataclass(frozen=True)
class WalkParams:
    """The start and the direction of a step. The client stores the walk with the visited events."""

    target: Target
    run: str = ""
    step: Literal["here", "cause", "effect", "previous", "next", "out", "in"] = "here"
    choice: int = 0
    """The index into `WalkWay.ends` of the event to go to."""
    pick: Literal["", "last", "first", "slowest", "failed"] = ""
    """Which call of the function to start at; `failed` is the last one that raised. Without it, the start of the
    target's view."""


@dataclass(frozen=True)
class WalkEnd:
    """An event that one step leads to."""

    event: int
    title: str
    edge: str
    """use, sync, state; call or scope for outer and inner events; next for the order in a thread or task."""
    channel: str
    sentence: str
    """The meaning of the step to it."""
    kind: str
    """The kind, as in `GraphNode`."""
    process: str
    strand: str
    timeNs: float
    """The time since the run's start."""
    onChain: bool = False
    """Whether it is on the chain of why."""
    location: Location | None = None


@dataclass(frozen=True)
class WalkWay:
    """The events in one direction."""

    step: Literal["cause", "effect", "previous", "next", "out", "in"]
    count: int
    """Number of all events; `ends` are the nearest of them."""
    ends: list[WalkEnd]
    """The default end of a step first."""
    stop: str
    """The reason why the direction is empty, "" if it is not."""


@dataclass(frozen=True)
class WalkFact:
    name: str
    value: str


@dataclass(frozen=True)
class WalkCard:
    """All data of one event."""

    event: int
    title: str
    kind: str
    """The kind, as in `GraphNode`."""
    timeNs: float
    """The time since the run's start."""
    durationNs: float | None
    """Duration of the call that it begins or ends; null for other events and a call without an end."""
    process: str
    strand: str
    function: str
    """`module:qualname` of the function around it, "" for none."""
    text: str
    """A log's message, a value, or why events are missing."""
    facts: list[WalkFact]
    """Values and payloads that were recorded with it, and further facts, for a table."""
    location: Location | None = None
    machine: str = ""
    """The machine; "" if the run has only one."""


@dataclass(frozen=True)
class WalkResult:
    run: RunRef
    card: WalkCard | None
    """The current event; null without a start, then `message` states the reason."""
    ways: list[WalkWay]
    """All six directions."""
    step: str
    """The requested step."""
    moved: bool
    """Whether the step was made. Otherwise the card is the walk's current event, and `sentence` states the reason."""
    sentence: str
    """The meaning of the step; "" for the start of a walk."""
    ends: list[WalkEnd] = field(default_factory=list)
    """The nearest events in this direction; `choice` is the index of the selected one."""
    choice: int = 0
    clock: str = ""
    """The clock correction between both ends of the step, "" on one machine."""
    uncertain: bool = False
    """Whether the clock error can exceed the time between both ends."""
    gaps: list[MissingEvents] = field(default_factory=list)
    """Events that are missing between the two ends."""
    message: str = ""
    """A sentence if there is nothing to show, or about the selection of one among several."""


METHODS = {
    "clew/walk": Method(WalkParams, WalkResult, "views.walk:walk_view"),
}
