"""The start of a walk from an entity: the last event of its activity.

In a live run the event is searched in a snapshot (`Session.snapshot`). Invariant: it is the event that was shown, or an
equal event of the same two entities, the nearest in time.
"""

from __future__ import annotations

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening
from clew.graph.entities.source import Source, entities_of
from clew.query.api import Run
from clew.records.errors import ClewError
from clew.server.protocol.views.entities import EntityHappening, EntityOrigin, EntityParams
from clew.server.session.session import Session, Task
from clew.server.text import units
from clew.server.views.entities.view import entity, own_of

SAME_NS = 5_000_000
"""Maximum change of an event's time when more is known about the clocks."""


def entity_origin(session: Session, params: EntityParams, task: Task) -> EntityOrigin:
    """Raises `ClewError` for an unknown entity or source."""
    live = session.live_entities(params.run, params.source)
    found = entity(session, params, task)
    if live is None:
        return EntityOrigin(
            found.run, found.event, "" if found.event >= 0 else f"{found.name} has not done anything by then"
        )
    own = own_of(found.happenings, params.entity)
    if own is None:
        return EntityOrigin(found.run, -1, f"{found.name} has not done anything by then")
    which = str(live.folder)
    grown = live.entities.poll()
    number = int(np.searchsorted(_alike(grown.events, own), own.moment - 1))
    for refresh in (False, True):
        run = session.snapshot(which, task, refresh=refresh)
        event, off = _found(run, grown.source, own, number, task)
        if event >= 0 and off < SAME_NS:
            break
    if event >= 0:
        return EntityOrigin(run.info.id, event)
    when = units.offset(own.ns)
    return EntityOrigin(
        found.run, -1, f"the run as read so far does not contain the activity of {found.name} at {when}"
    )


def _found(run: Run, source: Source, own: EntityHappening, number: int, task: Task) -> tuple[int, float]:
    """Return the event with the same number among the equal events, else the nearest one, -1 for none; and the
    difference of its time in ns."""
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
    """Return the indices of equal events of entities with the same names."""
    what = Happening[own.what.upper()]
    names = np.array(events.names, object)
    first = np.flatnonzero(names == own.name)
    alike = (events.kind == what) & np.isin(events.first, first)
    if own.other >= 0:
        alike &= np.isin(events.other, np.flatnonzero(names == own.otherName))
    return np.flatnonzero(alike)
