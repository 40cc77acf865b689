"""Where a walk begins that somebody wants from an entity: at the last thing that it did.

Of a run that goes on the event is looked for in what was recorded by now, as `Session.hold` keeps it. Invariant: it is the
event that was shown, or one of the same two entities that says the same and is nearest to it in time.
"""

from __future__ import annotations

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening
from clew.graph.entities.find import Source, entities_of
from clew.graph.query import Run
from clew.records.errors import ClewError
from clew.server import wording
from clew.server.panel.entities import entity, own_of
from clew.server.protocol import EntityHappening, EntityOrigin, EntityParams
from clew.server.session import Session, Task

SAME_NS = 5_000_000
"""So much the time of an event may differ once more is known of the clocks."""


def entity_origin(session: Session, params: EntityParams, task: Task) -> EntityOrigin:
    """Raises `ClewError` for an entity or a source that is not there."""
    growing = session.growing(params.run, params.source)
    told = entity(session, params, task)
    if growing is None:
        return EntityOrigin(told.run, told.event, "" if told.event >= 0 else f"{told.name} has done nothing by then")
    own = own_of(told.happenings, params.entity)
    if own is None:
        return EntityOrigin(told.run, -1, f"{told.name} has done nothing by then")
    which = str(growing.folder)
    grown = growing.entities.look()
    number = int(np.searchsorted(_alike(grown.events, own), own.moment - 1))
    for anew in (False, True):
        run = session.hold(which, task, anew=anew)
        event, off = _found(run, grown.source, own, number, task)
        if event >= 0 and off < SAME_NS:
            break
    if event >= 0:
        return EntityOrigin(run.info.id, event)
    when = wording.offset(own.ns)
    return EntityOrigin(told.run, -1, f"what {told.name} did at {when} is not in what could be read of the run by now")


def _found(run: Run, source: Source, own: EntityHappening, number: int, task: Task) -> tuple[int, float]:
    """The event that was told as the given one of those that say the same, else the nearest; -1 for none. And by how many ns it
    is off."""
    task.phase("looking for the event")
    with task.interruptible():
        try:
            events, _ = entities_of(run.graph, source)
        except ClewError:
            return -1, np.inf  # its first event came later
        places = _alike(events, own)
        if not len(places):
            return -1, np.inf
        off = np.abs(events.ns[places] - own.ns)
        best = number if number < len(places) and off[number] < SAME_NS else int(np.argmin(off))
    return int(events.row[places[best]]), float(off[best])


def _alike(events: EntityEvents, own: EntityHappening) -> I64:
    """Places of the events that say the same of entities that are called the same."""
    what = Happening[own.what.upper()]
    names = np.array(events.names, object)
    first = np.flatnonzero(names == own.name)
    alike = (events.kind == what) & np.isin(events.first, first)
    if own.other >= 0:
        alike &= np.isin(events.other, np.flatnonzero(names == own.otherName))
    return np.flatnonzero(alike)
