"""The source around the locations in a report's answers: each line once, as far as it fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.reports.book import Book, places
from clew.server.session.session import Session, Task

MOST_PLACES = 2000
CONTEXT = 12
"""Lines around a location; the panel requests the same number."""


def sources(session: Session, run: str, book: Book, walks: object, task: Task) -> list[dict[str, Any]]:
    lines_by_path: dict[str, set[int]] = {}
    for path, line in list(dict.fromkeys(places([book.answers, walks])))[:MOST_PLACES]:
        lines_by_path.setdefault(path, set()).add(line)
    found: list[dict[str, Any]] = []
    size = 0
    for path, lines in lines_by_path.items():
        for first, last in _windows(lines):
            try:
                place = {"path": path, "line": first, "endLine": last}
                asked = {"location": place, "context": CONTEXT, "run": run}
                answer = handlers.answer(session, "clew/source", asked, task)
            except ClewError:
                continue  # it no longer exists, or must not be shown
            size += sum(map(len, answer["lines"]))
            if size > book.room:
                return found
            found.append(answer)
    return found


def _windows(lines: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of ranges, joining lines whose surroundings touch."""
    ordered = sorted(lines)
    first = last = ordered[0]
    for line in ordered[1:]:
        if line - last > 2 * CONTEXT:
            yield first, last
            first = line
        last = line
    yield first, last
