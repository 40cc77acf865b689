"""A report: the answers to a chosen set of the panel's questions, with the source around the places that they name.

Invariant: an answer in it is the very one that the panel would get; what did not fit is listed by its title.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.session import Session, Task

VIEWS = ("slice", "path", "patterns", "compare", "diff", "suspects")
METHODS = {
    "slice": "clew/slice",
    "path": "clew/criticalPath",
    "patterns": "clew/patterns",
    "compare": "clew/compare",
    "diff": "clew/diff",
    "suspects": "clew/localize",
}
ERRORS = 5
REQUESTS = 8
CATEGORIES = 4
PATTERNS = 8
"""So many can be looked at closer."""
MOST_PLACES = 2000
CONTEXT = 12
"""Lines around a place, as many as the panel asks for."""


class ReportError(ClewError):
    """There can be no such report."""


@dataclass(frozen=True)
class Question:
    """What the panel would ask, under a title for the list of contents."""

    section: str
    title: str
    view: str
    params: dict[str, Any]
    listed: bool = True
    """Does it stand in the list, or is it only there where the panel leads to it?"""
    closer: str = ""
    """The request of a closer look, where the view asks for more than its own."""


@dataclass
class Report:
    run: dict[str, Any]
    created: float
    """Milliseconds since 1970."""
    runs: dict[str, Any]
    """As `clew/runs` answers, with the runs that the report is of."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "run": self.run,
            "created": self.created,
            "runs": self.runs,
            "entries": self.entries,
            "answers": self.answers,
            "sources": self.sources,
            "leftOut": self.left_out,
        }


def make_report(
    session: Session,
    run: str,
    against: str = "",
    only: Sequence[str] = (),
    *,
    limit: int = 20_000_000,
) -> Report:
    """The report of a run, compared with `against` where that is given. `only`: some of `VIEWS`. `limit`: about how many bytes
    it may have. Raises `ReportError`, or what the runs raise."""
    task = Task()
    views = only or VIEWS
    main = session.open(run, task)
    before = session.open(against, task) if against else None
    if before is not None and before.folder == main.folder:
        raise ReportError(f"{main.folder.name} would be compared with itself; name another run with --against")
    if before is None and only and all(view in ("compare", "diff") for view in only):
        raise ReportError(f"{' and '.join(only)} compare two runs; name the other one with --against")
    ids = [main.folder.name, *([before.folder.name] if before else [])]
    known = handlers.answer(session, "clew/runs", {}, task)
    listed = [one for one in known["runs"] if one["id"] in ids]
    made = Report(
        run=next(one for one in listed if one["id"] == ids[0]),
        created=time.time() * 1000,
        runs={**known, "runs": listed, "selected": ids[0], "baseline": ids[1] if before else "", "baselineName": ""},
    )
    size = 0
    for question in _questions(session, ids[0], ids[1] if before else "", views, task):
        method = question.closer or METHODS[question.view]
        try:
            result = handlers.answer(session, method, question.params, task)
        except ClewError as error:
            made.left_out.append(f"{question.title}: {error}")
            continue
        bytes_ = len(json.dumps(result, ensure_ascii=False, separators=(",", ":")))
        if size + bytes_ > limit:
            if question.listed:
                made.left_out.append(f"{question.title}: {bytes_ / 1e6:.1f} MB more than the file may have (--limit)")
            continue
        size += bytes_
        made.answers.append({"view": question.view, "method": method, "params": question.params, "result": result})
        if question.listed:
            made.entries.append(
                {
                    "section": question.section,
                    "title": question.title,
                    "view": question.view,
                    "question": question.params,
                    "message": result.get("message", ""),
                }
            )
    if not made.answers:
        why = "; ".join(made.left_out) or "it has neither errors nor requests"
        raise ReportError(f"there is nothing to report of {ids[0]}: {why}")
    made.sources = _sources(session, ids[0], made.answers, limit - size, task)
    return made


def _questions(session: Session, run: str, before: str, views: Sequence[str], task: Task) -> Iterator[Question]:
    if "slice" in views or "path" in views:
        for number, (event, text) in enumerate(_errors(session, run, task)):
            asked = {"target": {"event": event}, "run": run}
            if "slice" in views:
                yield Question("Errors", text, "slice", asked)
            yield Question("Errors", text, "path", asked, listed="slice" not in views)
            if number == 0:
                # What the panel asks by itself where nothing is asked.
                yield Question("Errors", text, "slice", {"target": {}, "run": run}, listed=False)
                yield Question("Errors", text, "path", {"target": {}, "run": run}, listed=False)
    if "path" in views:
        for event, text in _slowest(session, run, task):
            asked = {"target": {"event": event}, "run": run}
            yield Question("The slowest request of each name", text, "path", asked)
            yield Question("The slowest request of each name", text, "slice", asked, listed=False)
    if "patterns" in views:
        asked = {"run": run}
        yield Question("What repeats", "Patterns of threads and tasks", "patterns", asked)
        for row in handlers.answer(session, "clew/patterns", asked, task)["patterns"][:PATTERNS]:
            for closer in ("clew/patternTimes", "clew/patternDiagram"):
                one = {**asked, "pattern": row["id"]}
                yield Question("What repeats", row["title"], "patterns", one, listed=False, closer=closer)
    if before:
        yield from _comparison(session, run, before, views, task)
    elif "suspects" in views:
        asked = {"suspect": [run], "reference": []}
        yield Question("Where to look", "Requests that are unusual in the run itself", "suspects", asked)


def _comparison(session: Session, run: str, before: str, views: Sequence[str], task: Task) -> Iterator[Question]:
    section = f"Compared with {before}"
    if "compare" in views:
        asked: dict[str, Any] = {"before": [before], "after": [run]}
        yield Question(section, "Requests that changed", "compare", asked)
        for row in handlers.answer(session, "clew/compare", asked, task)["rows"][:CATEGORIES]:
            one = {**asked, "category": row["category"]}
            yield Question(section, row["name"], "compare", one, listed=False)
    if "diff" in views:
        yield Question(section, "Functions that changed", "diff", {"before": before, "after": run})
    if "suspects" in views:
        asked = {"suspect": [run], "reference": [before]}
        yield Question(section, "Suspects, ranked", "suspects", asked)


def _errors(session: Session, run: str, task: Task) -> list[tuple[int, str]]:
    """The newest error of each place that logs some, the newest first: event and message."""
    found = session.open(run, task).sql(
        "select max_by(event, ts), max_by(text, ts) from logs where level in ('ERROR', 'CRITICAL') "
        "group by location order by max(ts) desc limit ?",
        [ERRORS],
    )
    return [(int(event), str(text)) for event, text in found]


def _slowest(session: Session, run: str, task: Task) -> list[tuple[int, str]]:
    """Of the requests of each name the one that took longest, the slowest name first: its last event, and it in words."""
    from clew.server import wording

    opened = session.open(run, task)
    flows = opened.requests.flows()
    worst: dict[int, int] = {}
    for at, name in enumerate(flows.name.tolist()):
        if name not in worst or flows.response_ns[at] > flows.response_ns[worst[name]]:
            worst[name] = at
    slowest = sorted(worst.values(), key=lambda at: -int(flows.response_ns[at]))[:REQUESTS]
    found = []
    for at in slowest:
        ends = list(opened.sql("select last from regions where opener = ?", [int(flows.request[at])]))
        if ends and ends[0][0] >= 0:
            name = flows.names[int(flows.name[at])]
            found.append((int(ends[0][0]), f"{name}: {wording.duration(float(flows.response_ns[at]))}"))
    return found


def _sources(session: Session, run: str, answers: list[dict[str, Any]], limit: int, task: Task) -> list[dict[str, Any]]:
    """The lines around all places that the answers name, once each, as far as they fit."""
    wanted: dict[str, set[int]] = {}
    for path, line in list(dict.fromkeys(_places(answers)))[:MOST_PLACES]:
        wanted.setdefault(path, set()).add(line)
    found: list[dict[str, Any]] = []
    size = 0
    for path, lines in wanted.items():
        for first, last in _windows(lines):
            try:
                place = {"path": path, "line": first, "endLine": last}
                asked = {"location": place, "context": CONTEXT, "run": run}
                answer = handlers.answer(session, "clew/source", asked, task)
            except ClewError:
                continue  # it is not there any more, or nobody's to show
            size += sum(map(len, answer["lines"]))
            if size > limit:
                return found
            found.append(answer)
    return found


def _windows(lines: set[int]) -> Iterator[tuple[int, int]]:
    """First and last of the lines whose surroundings touch."""
    ordered = sorted(lines)
    first = last = ordered[0]
    for line in ordered[1:]:
        if line - last > 2 * CONTEXT:
            yield first, last
            first = line
        last = line
    yield first, last


def _places(value: object) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        path, line = value.get("path"), value.get("line")
        if isinstance(path, str) and isinstance(line, int) and line > 0:
            yield path, line
        for one in value.values():
            yield from _places(one)
    elif isinstance(value, list):
        for one in value:
            yield from _places(one)
