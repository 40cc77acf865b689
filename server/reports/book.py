"""A report while it is made: the answers that it has, their size, and what was left out.

Invariant: the answers take no more bytes than the report may have, and what is listed and does not fit is named.
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
"""Of views what each asks first."""


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

    @property
    def method(self) -> str:
        return self.closer or METHODS[self.view]


@dataclass
class Book:
    limit: int
    """About how many bytes it may have."""
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
        """Does it fit?"""
        bytes_ = size_of(result)
        if bytes_ > self.room:
            if question.listed:
                self.leave_out(question, f"{bytes_ / 1e6:.1f} MB more than the file may have (--limit)")
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
        """Puts it into the list of contents."""
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
    """Bytes, about, as the page has it."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def places(value: object) -> Iterator[tuple[str, int]]:
    """All places of source, path and line, that an answer names."""
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
