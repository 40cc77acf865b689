"""The entities view: the state at a moment, the changes between two moments, and one entity.

Invariant: an answer has no more nodes, lines and happenings than a screen shows, and states the omissions. The changes
between two moments, applied to the nodes of the first, give the nodes of the second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from clew.graph.entities.events import EntityEvents, Happening
from clew.graph.entities.fold import Fold, State
from clew.graph.entities.nesting import Nesting, Presence, nesting
from clew.graph.entities.playback import lines
from clew.graph.entities.source import entities_of
from clew.query.api import Run
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location, RunRef
from clew.server.protocol.views.entities import (
    EntitiesParams,
    EntitiesResult,
    EntityBox,
    EntityEventsParams,
    EntityEventsResult,
    EntityHappening,
    EntityLine,
    EntityName,
    EntityParams,
    EntityResult,
)
from clew.server.session.session import LiveEntities, Session, Task
from clew.server.text import units
from clew.server.views.target import nothing_recorded

MAX_BOXES = 1000
MAX_LINES = 2000
MAX_HAPPENINGS = 200
PARTS = 240
"""Number of time ranges in which the run's events are counted."""
_PRESENCE: dict[int, Literal["there", "unplaced", "gone"]] = {
    Presence.THERE: "there",
    Presence.UNPLACED: "unplaced",
    Presence.GONE: "gone",
}
Source = Literal["", "spec", "strands"]
_WHAT: dict[int, Literal["position", "deletion", "communication"]] = {
    Happening.POSITION: "position",
    Happening.DELETION: "deletion",
    Happening.COMMUNICATION: "communication",
}


class _Found(NamedTuple):
    """The entities of a finished run, or of a live run up to now."""

    run: RunRef
    source: Literal["spec", "strands"]
    fold: Fold
    channels: Sequence[str] | Mapping[int, str]
    place: Callable[[int], Location | None]
    """Returns the source location of an event."""
    message: str
    """The message if nothing was recorded."""

    @property
    def events(self) -> EntityEvents:
        return self.fold.events

    def ns(self, moment: int) -> float:
        return float(self.events.ns[moment - 1]) if moment else self.first_ns

    @property
    def first_ns(self) -> float:
        return float(self.events.ns[0]) if len(self.events) else 0.0

    def moment(self, moment: int) -> int:
        return len(self.events) if moment < 0 else min(moment, len(self.events))

    def reached(self, moment: int, ns: float) -> int:
        """Return the moment of either parameter: -1 means not given, and if neither is, the end."""
        return self.events.moment_at(int(ns)) if moment < 0 <= ns else self.moment(moment)

    def known(self, entity: int) -> int:
        if not 0 <= entity < self.events.entities:
            raise ClewError(f"there is no entity number {entity}; the run has {self.events.entities:,}")
        return entity


class _Shown(NamedTuple):
    """The part of a state that is shown."""

    state: State
    nesting: Nesting
    entities: list[int]


_MADE: WeakKeyDictionary[Run, dict[str, tuple[Literal["spec", "strands"], Fold]]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def entities_view(session: Session, params: EntitiesParams, task: Task) -> EntitiesResult:
    """Raises `ClewError` for an unknown entity or source."""
    found = _found(session, params.run, params.source, task)
    moment = _asked(found, params)
    shown = _shown(found, moment, params.inside, params.most)
    boxes = _boxes(found.events, shown)
    among, outermost = _counts(shown.nesting, params.inside)
    return EntitiesResult(
        run=found.run,
        source=found.source,
        moment=moment,
        moments=len(found.events),
        ns=found.ns(moment),
        fromNs=found.first_ns,
        toNs=found.ns(len(found.events)),
        entities=among,
        boxes=boxes,
        hidden=outermost - sum(box.container == params.inside for box in boxes),
        around=[_named(found.events, one) for one in _around(shown.nesting, params.inside)],
        activity=found.events.activity(PARTS).tolist(),
        failed=found.events.failed,
        message=found.message or (_ended(found, moment) if params.beforeEnd else ""),
    )


def _asked(found: _Found, params: EntitiesParams) -> int:
    if params.beforeEnd:
        return found.events.before_end
    return found.events.fullest if params.fullest else found.reached(params.moment, params.ns)


def _ended(found: _Found, moment: int) -> str:
    """Return the sentence about a moment before the end; "" if no entity has gone since."""
    gone = found.events.gone(moment)
    if gone <= 0:
        return ""
    before = units.duration(found.ns(len(found.events)) - found.ns(moment))
    are = "is" if gone == 1 else "are"
    return f"The program has ended. This is {before} before its end; {gone:,} of these {are} gone by the end."


def entity_events(session: Session, params: EntityEventsParams, task: Task) -> EntityEventsResult:
    """Raises `ClewError` for an unknown entity or source."""
    found = _found(session, params.run, params.source, task)
    begin, end = found.moment(params.fromMoment), found.reached(params.toMoment, params.toNs)
    before = {box.entity: box for box in _boxes(found.events, _shown(found, begin, params.inside, params.most))}
    shown = _shown(found, end, params.inside, params.most)
    after = {box.entity: box for box in _boxes(found.events, shown)}
    task.phase("summing up messages")
    entities = np.array(shown.entities, np.int64)
    lifted = shown.nesting.lifted(entities)
    most = max(0, min(params.mostLines, MAX_LINES))
    between = lines(found.events, min(begin, end), max(begin, end), lifted, shown=len(entities), most=most)
    events = found.events
    rows = zip(
        between.source.tolist(), between.target.tolist(), between.count.tolist(), between.last.tolist(), strict=True
    )
    return EntityEventsResult(
        run=found.run.id,
        fromMoment=begin,
        toMoment=end,
        fromNs=found.ns(begin),
        toNs=found.ns(end),
        changed=[box for box in after.values() if before.get(box.entity) != box],
        removed=[entity for entity in before if entity not in after],
        lines=[
            EntityLine(
                source=shown.entities[source],
                target=shown.entities[target],
                count=count,
                channel=found.channels[int(events.channel[last])],
                ns=float(events.ns[last]),
                event=int(events.row[last]),
            )
            for source, target, count, last in rows
        ],
        hiddenLines=between.hidden,
        finished=found.run.finished,
        unseen=between.unseen,
    )


def entity(session: Session, params: EntityParams, task: Task) -> EntityResult:
    """Raises `ClewError` for an unknown entity or source."""
    found = _found(session, params.run, params.source, task)
    one, moment, events = found.known(params.entity), found.moment(params.moment), found.events
    state = found.fold.at(moment)
    nested = nesting(events, state)
    is_there = nested.presence[one] != Presence.UNKNOWN
    places = events.about(one, moment, max(1, min(params.most, MAX_HAPPENINGS)))
    happenings = [_happening(found, place) for place in places]
    own = own_of(happenings, one)
    return EntityResult(
        run=found.run.id,
        box=_boxes(events, _Shown(state, nested, [one]))[0] if is_there else None,
        name=events.names[one],
        kind=events.classes[one],
        path=[events.names[above] for above in nested.path(one)],
        happenings=happenings,
        event=own.event if own else -1,
        location=own.location if own else None,
    )


def own_of(happenings: Sequence[EntityHappening], entity: int) -> EntityHappening | None:
    """Return the newest event of the entity's own activity, else its newest event."""
    return next((one for one in happenings if one.entity == entity), happenings[0] if happenings else None)


def _found(session: Session, which: str, source: Source, task: Task) -> _Found:
    live = session.live_entities(which, source)
    return _of_recorded(session, which, source, task) if live is None else _of_live(live, task)


def _of_recorded(session: Session, which: str, source: str, task: Task) -> _Found:
    run = session.open(which, task)
    with task.hold(_LOCK):
        made = _MADE.setdefault(run, {})
        if source not in made:
            task.phase("finding the run's entities")
            with task.interruptible():
                events, came_from = entities_of(run.graph, source)
                made[source] = made.get(came_from) or (came_from, Fold(events))
            made[came_from] = made[source]
    came_from, fold = made[source]

    def place(event: int) -> Location | None:
        found = run.graph.location(int(fold.events.row[event]))
        return Location(*found) if found else None

    message = "" if len(fold.events) else nothing_recorded(run)
    return _Found(session.ref(run), came_from, fold, run.graph.strings, place, message)


def _of_live(live: LiveEntities, task: Task) -> _Found:
    task.phase("reading the live run")
    grown = live.entities.poll()

    def place(event: int) -> Location | None:
        found = grown.places.get(int(grown.site[event]))
        return Location(found.file, found.line) if found and found.file else None

    message = "" if len(grown.events) else "No entities yet; they appear as soon as the run records some."
    return _Found(live.ref, grown.source, grown.fold, grown.channels, place, message)


def _shown(found: _Found, moment: int, inside: int, most: int) -> _Shown:
    if inside >= 0:
        found.known(inside)
    state = found.fold.at(moment)
    nested = nesting(found.events, state)
    return _Shown(state, nested, nested.chosen(max(1, min(most, MAX_BOXES)), inside).tolist())


def _around(nested: Nesting, inside: int) -> list[int]:
    return [*nested.path(inside), inside] if inside >= 0 else []


def _named(events: EntityEvents, entity: int) -> EntityName:
    return EntityName(entity, events.names[entity], events.classes[entity])


def _counts(nested: Nesting, inside: int) -> tuple[int, int]:
    """Return the number of entities in a container, or of all, and the number directly in it, or outside any container."""
    there = nested.presence != Presence.UNKNOWN
    outermost = int(np.count_nonzero(there & (nested.container == inside)))
    return int(nested.holds[inside]) if inside >= 0 else int(np.count_nonzero(there)), outermost


def _boxes(events: EntityEvents, shown: _Shown) -> list[EntityBox]:
    state, nested = shown.state, shown.nesting
    containers = nested.container[shown.entities]
    right_in = np.bincount(nested.container[nested.container >= 0], minlength=events.entities)
    right_in -= np.bincount(containers[containers >= 0], minlength=events.entities)
    return [
        EntityBox(
            entity=one,
            name=events.names[one],
            kind=events.classes[one],
            container=container,
            presence=_PRESENCE[int(nested.presence[one])],
            insideItself=one in nested.inside_itself,
            holds=int(nested.holds[one]),
            hidden=int(right_in[one]),
            sent=int(state.sent[one]),
            received=int(state.received[one]),
        )
        for one, container in zip(shown.entities, containers.tolist(), strict=True)
    ]


def _happening(found: _Found, place: int) -> EntityHappening:
    events = found.events
    first, other, row = int(events.first[place]), int(events.other[place]), int(events.row[place])
    return EntityHappening(
        moment=place + 1,
        ns=float(events.ns[place]),
        what=_WHAT[int(events.kind[place])],
        entity=first,
        other=other,
        otherName=events.names[other] if other >= 0 else "",
        name=events.names[first],
        channel=found.channels[int(events.channel[place])],
        event=row,
        location=found.place(place),
    )
