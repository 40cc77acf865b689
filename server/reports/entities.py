"""The entities of a report: the steps between some moments of the run, spread over its time, and details of the busiest
entities.

Invariant: the moments are recorded ones, and the answer's message states how many of all moments the report has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clew.server.protocol.codec import encode
from clew.server.protocol.views.entities import EntitiesParams, EntitiesResult, EntityEventsParams, EntityParams
from clew.server.reports.book import Book, Question, size_of
from clew.server.session.session import Session, Task
from clew.server.views.entities.view import entities_view, entity, entity_events

MOMENTS = (240, 80, 24)
"""Maximum numbers of moments; the first that fits is used."""
ABOUT = 80
HAPPENINGS = 12
SHARE = 0.25
"""Share of the remaining space."""


def add_entities(session: Session, book: Book, run: str, task: Task) -> dict[str, Any] | None:
    """Return the data for moments, steps and entities, or None if the run has no entities or nothing fits."""
    question = Question(
        "Entities and messages", "Entities and their messages over time", "entities", {"run": run, "fullest": True}
    )
    result = entities_view(session, EntitiesParams(run=run, fullest=True), task)
    if not result.moments:
        book.leave_out(question, result.message)
        return None
    room = int(book.room * SHARE)
    about = _about(session, run, result, task)
    for most in MOMENTS:
        moments = _moments(session, run, result, most, task)
        ways = zip([0, *moments], moments, strict=False)
        steps = [
            encode(entity_events(session, EntityEventsParams(run=run, fromMoment=begin, toMoment=end), task))
            for begin, end in ways
        ]
        found = {"steps": steps, "about": about}
        if size_of(found) <= room:
            break
    else:
        book.leave_out(question, "over the size limit (--limit)")
        return None
    omission = ""
    if len(moments) < result.moments:
        counts = f"{len(moments):,} of {result.moments:,} moments"
        omission = f"The report has {counts}; for the rest run clew view {result.run.name}."
    message = " ".join(filter(None, [result.message, omission.replace(",", " ")]))
    if not book.add(question, encode(replace(result, message=message))):
        return None
    book.size += size_of(found)
    return found


def _moments(session: Session, run: str, result: EntitiesResult, most: int, task: Task) -> list[int]:
    """Return all moments, or some at equal distances in time and in events, including the fullest and the last one."""
    if result.moments <= most:
        return list(range(1, result.moments + 1))
    among = np.linspace(0, result.moments, most // 2 + 1)[1:].astype(np.int64).tolist()
    for ns in np.linspace(result.fromNs, result.toNs, most // 2 + 1)[1:-1].tolist():
        among.append(entities_view(session, EntitiesParams(run=run, ns=ns, most=1), task).moment)
    return sorted({*among, result.moment, result.moments} - {0})


def _about(session: Session, run: str, result: EntitiesResult, task: Task) -> list[dict[str, Any]]:
    busiest = sorted(result.boxes, key=lambda box: -(box.sent + box.received))[:ABOUT]
    asked = (EntityParams(box.entity, run=run, moment=result.moment, most=HAPPENINGS) for box in busiest)
    return [{"entity": one.entity, "result": encode(entity(session, one, task))} for one in asked]
