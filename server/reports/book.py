"""A report under construction: its answers, their size, and the omissions.

Invariant: the answers never exceed the report's size limit, and every listed question that does not fit is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

METHODS = {
    "slice": "clew/slice",
    "path": "clew/criticalPath",
    "walk": "clew/walk",
    "patterns": "clew/patterns",
    "compare": "clew/compare",
    "diff": "clew/diff",
    "suspects": "clew/localize",
    "aggregate": "clew/aggregate",
    "timeline": "clew/timeline",
    "entities": "clew/entities",
    "wizard": "clew/wizard",
}
"""The first request of each view."""


@dataclass(frozen=True)
class Question:
    """A request of the panel, with its title for the table of contents."""

    section: str
    title: str
    view: str
    params: dict[str, Any]
    listed: bool = True
    """Whether the table of contents lists it. Other questions are reached through the panel."""
    closer: str = ""
    """The request for details, for a view that needs a second request."""

    @property
    def method(self) -> str:
        return self.closer or METHODS[self.view]


@dataclass
class Book:
    limit: int
    """Approximate maximum size in bytes."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def room(self) -> int:
        return self.limit - self.size

    def has(self, question: Question) -> bool:
        return any(one["method"] == question.method and one["params"] == question.params for one in self.answers)

    def add(self, question: Question, result: dict[str, Any]) -> bool:
        """Add an answer if it fits; return whether it does."""
        bytes_ = size_of(result)
        if bytes_ > self.room:
            if question.listed:
                self.leave_out(question, f"{bytes_ / 1e6:.1f} MB over the size limit (--limit)")
            return False
        self.size += bytes_
        self.answers.append(
            {
                "view": question.view,
                "method": question.method,
                "params": question.params,
                "result": result,
            }
        )
        if question.listed:
            self.list_(question, result.get("message", ""))
        return True

    def list_(self, question: Question, message: str = "") -> None:
        """Add a question to the table of contents."""
        self.entries.append(
            {
                "section": question.section,
                "title": question.title,
                "view": question.view,
                "question": question.params,
                "message": message,
            }
        )

    def leave_out(self, question: Question, why: object) -> None:
        self.left_out.append(f"{question.title}: {why}")


def size_of(value: object) -> int:
    """Return the approximate size in bytes within the page."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def places(value: object) -> Iterator[tuple[str, int]]:
    """Yield all source locations (path and line) in an answer."""
    if isinstance(value, dict):
        path, line = value.get("path"), value.get("line")
        if isinstance(path, str) and isinstance(line, int) and line > 0:
            yield path, line
        yield from _of_all(value.values())
    elif isinstance(value, list):
        yield from _of_all(value)


def _of_all(values: Iterable[object]) -> Iterator[tuple[str, int]]:
    for one in values:
        yield from places(one)
