"""What an editor can do at once about a problem: one replacement in the text, and the words to offer it with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.esl.problem import EslProblem

SHOWN = 40
"""Characters of a text that a title names."""
_HEAD = re.compile(r"\b(?:include|scope)\s+\Z")


@dataclass(frozen=True)
class Fix:
    """`text` in place of `[start:end]` of the spec's text."""

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
    """What goes with a part that is removed: of a list the comma beside it, of a statement its `;` and, where it stands alone
    on its lines, those; else the blanks before it."""
    after = _past_blanks(text, end)
    if text[after : after + 1] == ",":
        return start, _past_blanks(text, after + 1)
    before = len(text[:start].rstrip())
    if text[before - 1 : before] == ",":
        return before - 1, end
    if alone := _HEAD.search(text, 0, start):
        # The only one of its statement, which goes with it.
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
