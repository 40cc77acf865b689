"""The entities of a run: the state at a moment, the events between two moments, and the details of one entity.

A moment is the number of entity events so far: 0 is the beginning, and a step adds or subtracts one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class EntitiesParams:
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    """"spec": entities of a spec's `entity` rules; "strands": machines, processes, threads and tasks; "": those of the
    spec, if there are any."""
    moment: int = -1
    """The moment; -1 to use `ns`."""
    ns: float = -1.0
    """The time since the run's start; -1 for the end."""
    fullest: bool = False
    """Return the moment with the most entities instead, because none may exist at the end."""
    beforeEnd: bool = False
    """Return the moment before the final deletions instead; `message` states its time."""
    inside: int = -1
    """Only entities within this one; -1 for all."""
    most: int = 300


@dataclass(frozen=True)
class EntityName:
    entity: int
    name: str
    kind: str


@dataclass(frozen=True)
class EntityBox:
    entity: int
    """The number of the entity, which is the same at all moments and in all answers of a run and source."""
    name: str
    kind: str
    """The class, or machine, process, thread or task; "" if unknown."""
    container: int
    """The container, or -1."""
    presence: Literal["there", "unplaced", "gone"]
    """unplaced: it communicates or holds an entity, but its own place was not recorded; gone: deleted, but it still
    holds an entity."""
    insideItself: bool
    """It was moved into an entity within itself, and is shown outside."""
    holds: int
    """Number of entities in it, at any depth."""
    hidden: int
    """Number of its direct children without a node."""
    sent: int
    """The number of sent messages so far; `received` is that of received ones."""
    received: int


@dataclass(frozen=True)
class EntitiesResult:
    run: RunRef
    source: Literal["spec", "strands"]
    moment: int
    moments: int
    """The last moment."""
    ns: float
    """Time of the last event so far, since the run's start."""
    fromNs: float
    toNs: float
    entities: int
    """Number of entities at the moment, in `inside` or in total."""
    boxes: list[EntityBox]
    """The nodes in the order of their first appearance, each with its containers up to `inside`."""
    hidden: int
    """Number of outermost entities without a node; those that hold least are omitted first."""
    around: list[EntityName]
    """`inside` and its containers, the outermost first; empty for all."""
    activity: list[int]
    """Number of events in each of equal parts of the time from `fromNs` to `toNs`."""
    failed: int
    """Events that could not be recorded completely."""
    message: str = ""
    """A sentence if there is nothing to show, with a remedy, or about the shown moment."""


@dataclass(frozen=True)
class EntityEventsParams:
    fromMoment: int
    toMoment: int = -1
    """The target moment; before `fromMoment` to go back. -1: use `toNs`."""
    toNs: float = -1.0
    """The time since the run's start; -1 for the end."""
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    inside: int = -1
    most: int = 300
    """Maximum number of nodes, as in `EntitiesParams`."""
    mostLines: int = 1000


@dataclass(frozen=True)
class EntityLine:
    """All communications from one node to another, including those of entities within them that are not shown."""

    source: int
    target: int
    count: int
    channel: str
    """The channel of the last one."""
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
    """Nodes that are new at `toMoment`, or differ from `fromMoment`."""
    removed: list[int]
    """Entities that no longer have a node."""
    lines: list[EntityLine]
    """Lines of the events between the two moments, in either order, with the nodes of `toMoment`."""
    hiddenLines: int
    """Number of omitted lines, those with the fewest communications."""
    finished: bool
    """The run is over. While it was live its moments and entities may have had other numbers."""
    unseen: int
    """Communications without a line: within one node, or with an entity without a node."""


@dataclass(frozen=True)
class EntityParams:
    entity: int
    run: str = ""
    source: Literal["", "spec", "strands"] = ""
    moment: int = -1
    """The moment; -1 for the end."""
    most: int = 20


@dataclass(frozen=True)
class EntityHappening:
    moment: int
    """The moment right after the event."""
    ns: float
    what: Literal["position", "deletion", "communication"]
    entity: int
    """The entity that moves, is deleted, or sends."""
    other: int
    """The container, or the receiver; -1 for none."""
    otherName: str
    name: str
    channel: str
    event: int
    location: Location | None = None


@dataclass(frozen=True)
class EntityResult:
    run: str
    box: EntityBox | None
    """The node; null if the entity does not exist at the moment."""
    name: str
    kind: str
    path: list[str]
    """Names of its containers, the outermost first."""
    happenings: list[EntityHappening] = field(default_factory=list)
    """The last events, the newest first; a container's events include entities that enter it."""
    event: int = -1
    """The start of a walk: its last own event, else its last event; -1 for none, and for a live run, for which
    `clew/entityOrigin` returns it."""
    location: Location | None = None
    """The location of that event."""


@dataclass(frozen=True)
class EntityOrigin:
    """The start of a walk for `EntityParams`, also in a live run."""

    run: str
    """The run to walk in; for a live run a snapshot, in which events keep their numbers."""
    event: int
    """The event; -1 for none, then `message` states the reason."""
    message: str = ""


METHODS = {
    "clew/entities": Method(EntitiesParams, EntitiesResult, "views.entities.view:entities_view"),
    "clew/entityEvents": Method(EntityEventsParams, EntityEventsResult, "views.entities.view:entity_events"),
    "clew/entity": Method(EntityParams, EntityResult, "views.entities.view:entity"),
    "clew/entityOrigin": Method(EntityParams, EntityOrigin, "views.entities.origin:entity_origin"),
}
