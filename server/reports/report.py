"""A report: the answers to a selected set of the panel's requests, with the source around the locations that they name.

Invariant: an answer in the report equals the answer that the panel would get; answers that do not fit are listed by
title.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.reports.book import METHODS, Book
from clew.server.reports.entities import add_entities
from clew.server.reports.guide import add_guide
from clew.server.reports.questions import questions
from clew.server.reports.sources import sources
from clew.server.reports.timeline import add_timeline
from clew.server.reports.walk import add_walks
from clew.server.session.session import Session, Task

VIEWS = tuple(METHODS)
OF_TWO = ("diff",)


class ReportError(ClewError):
    """The report cannot be made."""


@dataclass
class Report:
    run: dict[str, Any]
    created: float
    """Milliseconds since 1970."""
    runs: dict[str, Any]
    """The result of `clew/runs`, with the runs of the report."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    walk: dict[str, Any] | None = None
    """Data for the steps of walks."""
    timeline: dict[str, Any] | None = None
    """Data for tiles, arrows and calls."""
    entities: dict[str, Any] | None = None
    """Data for moments, steps and entities."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    limit: int = 0

    def data(self) -> dict[str, Any]:
        """Return the data in the form that the page reads."""
        return {
            "run": self.run,
            "created": self.created,
            "runs": self.runs,
            "entries": self.entries,
            "answers": self.answers,
            "walk": self.walk,
            "timeline": self.timeline,
            "entities": self.entities,
            "sources": self.sources,
            "leftOut": self.left_out,
            "limit": self.limit,
        }


def make_report(
    session: Session,
    run: str,
    against: str = "",
    only: Sequence[str] = (),
    *,
    limit: int = 20_000_000,
) -> Report:
    """Make the report of a run, compared with `against` if it is given. `only` selects some of `VIEWS`. `limit` is the
    approximate size in bytes. Raises `ReportError`, and the errors of reading the runs."""
    task = Task()
    views = only or VIEWS
    main = session.open(run, task)
    before = session.open(against, task) if against else None
    if before is not None and before.folder == main.folder:
        raise ReportError(f"cannot compare {main.folder.name} with itself; name another run with --against")
    if before is None and only and all(view in OF_TWO for view in only):
        raise ReportError(f"{' and '.join(only)} compare two runs; name the other one with --against")
    ids = [main.folder.name, *([before.folder.name] if before else [])]
    known = handlers.answer(session, "clew/runs", {}, task)
    listed = [one for one in known["runs"] if one["id"] in ids]
    book = Book(limit)
    for question in questions(session, ids[0], ids[1] if before else "", views, task):
        if book.has(question):
            continue
        try:
            result = handlers.answer(session, question.method, question.params, task)
        except ClewError as error:
            book.leave_out(question, error)
            continue
        book.add(question, result)
    if "wizard" in views:
        add_guide(session, book, ids, task)
    walks = add_walks(session, book, ids[0], task)
    timeline = add_timeline(session, book, ids[0], task) if "timeline" in views else None
    entities = add_entities(session, book, ids[0], task) if "entities" in views else None
    if not book.answers:
        why = "; ".join(book.left_out) or "it has neither errors nor requests"
        raise ReportError(f"nothing to report for {ids[0]}: {why}")
    return Report(
        run=next(one for one in listed if one["id"] == ids[0]),
        created=time.time() * 1000,
        runs={**known, "runs": listed, "selected": ids[0], "baseline": ids[1] if before else "", "baselineName": ""},
        entries=book.entries,
        answers=book.answers,
        walk=walks,
        timeline=timeline,
        entities=entities,
        sources=sources(session, ids[0], book, walks, task),
        left_out=book.left_out,
        limit=limit,
    )
