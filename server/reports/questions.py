"""The questions that a report answers about its runs, the most informative first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from clew.server import handlers
from clew.server.reports.book import Question
from clew.server.session.session import Session, Task
from clew.server.text import units

ERRORS = 5
REQUESTS = 8
CATEGORIES = 12
PATTERNS = 8
"""Maximum number of patterns with details."""
BOXES = 12
"""Nodes of the aggregate view that are expanded, one at a time."""
FASTER = (20.0, 40.0, 60.0, 80.0, 100.0)
"""What-if percentages for the labels with the most work on a path."""
LABELS = 3


def questions(session: Session, run: str, before: str, views: Collection[str], task: Task) -> Iterator[Question]:
    if not {"slice", "path", "walk"}.isdisjoint(views):
        for number, (event, text) in enumerate(_errors(session, run, task)):
            asked = {"target": {"event": event}, "run": run}
            if "slice" in views:
                yield Question("Errors", text, "slice", asked)
            if "slice" in views or "path" in views:  # a slice also shows its path
                yield Question("Errors", text, "path", asked, listed="slice" not in views)
                yield from _what_ifs(session, "Errors", text, asked, task)
            if "walk" in views:
                yield Question("Errors", text, "walk", asked, listed={"slice", "path"}.isdisjoint(views))
            if number == 0:
                # The panel's default request when no parameters are given.
                for view in ("slice", "path", "walk"):
                    if view in views or (view == "path" and "slice" in views):
                        yield Question("Errors", text, view, {"target": {}, "run": run}, listed=False)
    if "path" in views:
        for event, text in _slowest(session, run, task):
            asked = {"target": {"event": event}, "run": run}
            yield Question("The slowest request of each name", text, "path", asked)
            yield from _what_ifs(session, "The slowest request of each name", text, asked, task)
            yield Question("The slowest request of each name", text, "slice", asked, listed=False)
    if "patterns" in views:
        asked = {"run": run}
        yield Question("Patterns", "Repeated calls of threads and tasks", "patterns", asked)
        for row in handlers.answer(session, "clew/patterns", asked, task)["patterns"][:PATTERNS]:
            for closer in ("clew/patternTimes", "clew/patternDiagram"):
                one = {**asked, "pattern": row["id"]}
                yield Question("Patterns", row["title"], "patterns", one, listed=False, closer=closer)
    if "aggregate" in views:
        yield from _aggregate(session, run, task)
    if before:
        yield from _comparison(session, run, before, views, task)
        return
    if "compare" in views:
        for name in _names(session, run, task):
            asked = {"before": [f"{run}@typical"], "after": [f"{run}@slowest"], "request": name}
            yield Question("The slowest and a typical request", name, "compare", asked)
    if "suspects" in views:
        asked = {"suspect": [run], "reference": []}
        yield Question("Suspects", "Requests that are unusual within the run", "suspects", asked)


def _what_ifs(session: Session, section: str, title: str, asked: dict[str, Any], task: Task) -> Iterator[Question]:
    """Yield what-if questions for the labels that the panel offers first."""
    path = handlers.answer(session, "clew/criticalPath", asked, task)
    work: dict[str, float] = {}
    known = {one["label"] for one in path["beside"]}
    for segment in path["segments"]:
        if segment["label"] in known:
            work[segment["label"]] = work.get(segment["label"], 0.0) + segment["selfNs"]
    for label in sorted(work, key=lambda label: -work[label])[:LABELS]:
        for percent in FASTER:
            one = {**asked, "label": label, "percent": percent}
            yield Question(section, f"{title}, {label}", "path", one, listed=False, closer="clew/whatIf")


def _aggregate(session: Session, run: str, task: Task) -> Iterator[Question]:
    section = "Time"
    yield Question(section, "From machines down to functions", "aggregate", {"run": run})
    for measure in ("total", "waiting", "calls", "errors"):
        yield Question(section, f"by {measure}", "aggregate", {"run": run, "measure": measure}, listed=False)
    for box in handlers.answer(session, "clew/aggregate", {"run": run}, task)["boxes"][:BOXES]:
        one = {"run": run, "opened": [box["path"]]}
        yield Question(section, box["label"], "aggregate", one, listed=False)


def _comparison(session: Session, run: str, before: str, views: Collection[str], task: Task) -> Iterator[Question]:
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
    """Return event and message of the newest error of each place that logs errors, the newest first."""
    found = session.open(run, task).sql(
        "select max_by(event, ts), max_by(text, ts) from logs where level in ('ERROR', 'CRITICAL') "
        "group by location order by max(ts) desc limit ?",
        [ERRORS],
    )
    return [(int(event), str(text)) for event, text in found]


def _names(session: Session, run: str, task: Task) -> list[str]:
    """Return the names with several requests, the most frequent first."""
    flows = session.open(run, task).requests.flows()
    counts = Counter(flows.names[code] for code in flows.name.tolist())
    return [name for name, count in counts.most_common(REQUESTS) if count > 1]


def _slowest(session: Session, run: str, task: Task) -> list[tuple[int, str]]:
    """Return the last event and a description of the slowest request of each name, the slowest name first."""
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
            found.append((int(ends[0][0]), f"{name}: {units.duration(float(flows.response_ns[at]))}"))
    return found
