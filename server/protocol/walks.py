"""Walking the graph: an event, what lies around it, and what the step that led there meant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, MissingEvents, RunRef, Target


@dataclass(frozen=True)
class WalkParams:
    """From where, and which way. The walk itself, with what was visited, is kept by whoever walks."""

    target: Target
    run: str = ""
    step: Literal["here", "cause", "effect", "previous", "next", "out", "in"] = "here"
    choice: int = 0
    """Of several events that lie this way: which, by its place in `WalkWay.ends`."""
    pick: Literal["", "last", "first", "slowest", "failed"] = ""
    """Where the walk begins of a function's calls, `failed` at the last one that an exception ended; without one, where the
    target's view would begin."""


@dataclass(frozen=True)
class WalkEnd:
    """An event that one step leads to."""

    event: int
    title: str
    edge: str
    """use, sync, state; call or scope for what is around or inside; next for the order in a thread or task."""
    channel: str
    sentence: str
    """What the step to it means."""
    kind: str
    """As of `GraphNode`."""
    process: str
    strand: str
    timeNs: float
    """Since the run's start."""
    onChain: bool = False
    """Is it what the chain of why names?"""
    location: Location | None = None


@dataclass(frozen=True)
class WalkWay:
    """What lies in one direction."""

    step: Literal["cause", "effect", "previous", "next", "out", "in"]
    count: int
    """Of all, of which `ends` are the nearest."""
    ends: list[WalkEnd]
    """The one that a step takes first."""
    stop: str
    """Why there is none, "" where there is one."""


@dataclass(frozen=True)
class WalkFact:
    name: str
    value: str


@dataclass(frozen=True)
class WalkCard:
    """All that is known of one event."""

    event: int
    title: str
    kind: str
    """As of `GraphNode`."""
    timeNs: float
    """Since the run's start."""
    durationNs: float | None
    """Of the call that it begins or ends; null for other events and a call without an end."""
    process: str
    strand: str
    function: str
    """`module:qualname` of the function around it, "" for none."""
    text: str
    """A log's message, a value, why events are missing."""
    facts: list[WalkFact]
    """Values and payloads that were recorded with it, and what else there is to say, for a table."""
    location: Location | None = None
    machine: str = ""
    """"" when the run has only one."""


@dataclass(frozen=True)
class WalkResult:
    run: RunRef
    card: WalkCard | None
    """Null when there is nothing to walk from, of which `message` tells."""
    ways: list[WalkWay]
    """All six directions."""
    step: str
    """The step that was asked for."""
    moved: bool
    """Was it made? Otherwise the card is the one where the walk stands, and `sentence` says why it stopped."""
    sentence: str
    """What the step meant; "" for the beginning of a walk."""
    ends: list[WalkEnd] = field(default_factory=list)
    """What lay this way, the nearest; `choice` is the place of the one that was taken."""
    choice: int = 0
    clock: str = ""
    """What the clocks of both ends of the step were put together by, "" on one machine."""
    uncertain: bool = False
    """Can the clocks be off by more than the time between both?"""
    gaps: list[MissingEvents] = field(default_factory=list)
    """What is missing on the way."""
    message: str = ""
    """A sentence when there is nothing to show, or about what was chosen of several."""
