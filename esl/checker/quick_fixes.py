"""Build the quick fix of a problem: one replacement in the text, with a title."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.esl.syntax.problem import EslProblem

SHOWN = 40
"""Maximum characters of a text quoted in a title."""
_HEAD = re.compile(r"\b(?:include|scope)\s+\Z")


@dataclass(frozen=True)
class Fix:
    """Replaces `[start:end]` of the spec's text by `text`."""

    title: str
    start: int
    end: int
    text: str


def fix_of(problem: EslProblem, text: str) -> Fix | None:
    span = problem.span
    if problem.remove:
        return Fix(f"Remove `{_shown(text[span.start : span.end])}`", *_without(text, span.start, span.end), "")
    if not problem.fix:
        return None
    if span.start == span.end:
        return Fix(f"Insert `{_shown(problem.fix.strip())}`", span.start, span.end, problem.fix)
    return Fix(f"Change to `{_shown(problem.fix)}`", span.start, span.end, problem.fix)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


def _without(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a removal: a comma in a list, the `;` of a statement and its otherwise empty lines, else the blanks before
    the part."""
    after = _past_blanks(text, end)
    if text[after : after + 1] == ",":
        return start, _past_blanks(text, after + 1)
    before = len(text[:start].rstrip())
    if text[before - 1 : before] == ",":
        return before - 1, end
    if alone := _HEAD.search(text, 0, start):
        # Remove the whole statement with its only part.
        start = alone.start()
        end = text.find(";", end)
        end = len(text) if end < 0 else end + 1
    elif text[after : after + 1] == ";":
        end = after + 1
    before = len(text[:start].rstrip(" \t"))
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    if (before == 0 or text[before - 1] == "\n") and not text[end:line_end].strip():
        return before, line_end
    return before, end


def _past_blanks(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place
