"""The entities of a run: which there are at a moment, what happened between two, and what is known of one.

A moment is how many of their events have happened: 0 is the beginning, and to step is to ask for one more or less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class EntitiesParams:
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    """What a spec's `entity` rules told, or machines, processes, threads and tasks; "": of the first, where there are any."""
    moment: int = -1
    """-1: what `ns` says."""
    ns: float = -1.0
    """Since the run's start; -1 for the end."""
    fullest: bool = False
    """Instead, when most entities are there: at the end all may be gone."""
    beforeEnd: bool = False
    """Instead, right before those went with whom the run ended; `message` says when that is."""
    inside: int = -1
    """Only what is in this entity; -1 for all."""
    most: int = 300


@dataclass(frozen=True)
class EntityName:
    entity: int
    name: str
    kind: str


@dataclass(frozen=True)
class EntityBox:
    entity: int
    """Its number: the same at all moments, and in all answers of a run and source."""
    name: str
    kind: str
    """Its class, or machine, process, thread or task; "" when nothing tells."""
    container: int
    """-1 outside of any."""
    presence: Literal["there", "unplaced", "gone"]
    """unplaced: it talks or holds something, but nobody said where it is; gone: deleted, but something is still in it."""
    insideItself: bool
    """It was moved into something that is in it, and stands outside."""
    holds: int
    """How many are in it, at any depth."""
    hidden: int
    """How many right in it are not among the boxes."""
    sent: int
    """Communications so far."""
    received: int


@dataclass(frozen=True)
class EntitiesResult:
    run: RunRef
    source: Literal["spec", "strands"]
    moment: int
    moments: int
    """The last moment."""
    ns: float
    """Of the last event by then, since the run's start."""
    fromNs: float
    toNs: float
    entities: int
    """How many there are at the moment, of `inside` or all."""
    boxes: list[EntityBox]
    """In the order in which they came up; with each its containers, up to `inside`."""
    hidden: int
    """How many outermost ones are not among them; those that hold least are left out first."""
    around: list[EntityName]
    """`inside` and its containers, the outermost first; empty for all."""
    activity: list[int]
    """How many events happened in each of as many equal parts of the time from `fromNs` to `toNs`."""
    failed: int
    """Events that could not be recorded whole."""
    message: str = ""
    """A sentence when there is nothing to show, with what to do, or about the moment that is shown."""


@dataclass(frozen=True)
class EntityEventsParams:
    fromMoment: int
    toMoment: int = -1
    """Where to go; before `fromMoment` to go back. -1: where `toNs` says."""
    toNs: float = -1.0
    """Since the run's start; -1 for the end."""
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    inside: int = -1
    most: int = 300
    """Of boxes, as in `EntitiesParams`."""
    mostLines: int = 1000


@dataclass(frozen=True)
class EntityLine:
    """All communications from one to another, or between what is in them and not shown."""

    source: int
    target: int
    count: int
    channel: str
    """Of the last one."""
    ns: float
    event: int


@dataclass(frozen=True)
class EntityEventsResult:
    run: str
    fromMoment: int
    toMoment: int
    fromNs: float
    toNs: float
    changed: list[EntityBox]
    """Boxes that are new at `toMoment`, or another than at `fromMoment`."""
    removed: list[int]
    """Entities that have a box no more."""
    lines: list[EntityLine]
    """Of the events between the two moments, whichever is first, with the boxes of `toMoment`."""
    hiddenLines: int
    """So many more, with the fewest communications."""
    finished: bool
    """The run is over. While it went on its moments and entities may have had other numbers."""
    unseen: int
    """Communications of no line: within one box, or with an entity that is in none."""


@dataclass(frozen=True)
class EntityParams:
    entity: int
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    moment: int = -1
    """-1 for the end."""
    most: int = 20


@dataclass(frozen=True)
class EntityHappening:
    moment: int
    """Right after it."""
    ns: float
    what: Literal["position", "deletion", "communication"]
    entity: int
    """Who moves, is deleted, or sends."""
    other: int
    """The container, or who receives; -1 for none."""
    otherName: str
    name: str
    channel: str
    event: int
    location: Location | None = None


@dataclass(frozen=True)
class EntityResult:
    run: str
    box: EntityBox | None
    """Null where it is not at the moment."""
    name: str
    kind: str
    path: list[str]
    """Names of its containers, the outermost first."""
    happenings: list[EntityHappening] = field(default_factory=list)
    """The last ones, the newest first; a container's also when something comes into it."""
    event: int = -1
    """Where a walk begins: the last one in which it did something itself, else the last at all; -1 for none, and for a run that
    goes on, of which `clew/entityOrigin` tells."""
    location: Location | None = None
    """Of that."""


@dataclass(frozen=True)
class EntityOrigin:
    """Where a walk begins, also in a run that goes on: of `EntityParams`."""

    run: str
    """To be walked in: of a run that goes on what was recorded by now, in which events keep their numbers."""
    event: int
    """-1: there is none; then `message` says why."""
    message: str = ""
