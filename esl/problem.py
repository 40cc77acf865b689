"""What is wrong with a spec, where, and what to do: problems, nearest names, and their text for a terminal."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.esl.span import Span
from clew.records.errors import ClewError

Severity = Literal["error", "warning"]


class SpecError(ClewError):
    """A spec that has errors was to be used; the text lists them."""


@dataclass(frozen=True, slots=True)
class EslProblem:
    """`message` is a sentence that says what to do. `fix`, if there is one, is the text to put in place of `span`; with
    `remove`, `span` is best removed."""

    severity: Severity
    message: str
    span: Span
    fix: str = ""
    remove: bool = False
    elsewhere: str = ""
    """The package of which there is no source here, where that is all that is wrong."""

    def moved(self, lines: int, offset: int) -> EslProblem:
        if not offset:
            return self
        span = self.span.moved(lines, offset)
        return EslProblem(self.severity, self.message, span, self.fix, self.remove, self.elsewhere)


def error(message: str, span: Span, fix: str = "", *, remove: bool = False) -> EslProblem:
    return EslProblem("error", message, span, fix, remove)


def warning(message: str, span: Span, fix: str = "", *, remove: bool = False, elsewhere: str = "") -> EslProblem:
    return EslProblem("warning", message, span, fix, remove, elsewhere)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.7) -> str:
    """The known name that looks most like `word`, or ""."""
    return _nearest(word, tuple(dict.fromkeys(known)), cutoff)


@functools.lru_cache(maxsize=4096)
def _nearest(word: str, names: tuple[str, ...], cutoff: float) -> str:
    """Kept, because an editor asks for all of a spec's problems at every keystroke."""
    found = difflib.get_close_matches(word, likely(word, names, cutoff), n=1, cutoff=cutoff)
    # Letters that changed places make short words look different.
    return found[0] if found else next((name for name in names if sorted(name) == sorted(word)), "")


def likely(word: str, names: Iterable[str], cutoff: float) -> Iterator[str]:
    """Leaves out names that have too few letters of the word to look like it, which is told in a tenth of the time."""
    letters, length = frozenset(word), len(word)
    for name in names:
        needed = cutoff * (length + len(name)) / 2
        if needed <= min(length, len(name)) and needed <= length - len(letters.difference(name)):
            yield name


def did_you_mean(word: str, known: Iterable[str]) -> tuple[str, str]:
    """A clause to end a message with, and the name it proposes; both "" when nothing is near."""
    name = nearest(word, known)
    return (f"; did you mean `{name}`?", name) if name else ("", "")


def listing(names: Sequence[str], last: str = "or", limit: int = 12) -> str:
    """`a`, `b` or `c`; beyond `limit` names the rest is counted."""
    quoted = [f"`{name}`" for name in names[:limit]]
    if len(names) > limit:
        return ", ".join(quoted) + f" and {len(names) - limit} more"
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" {last} " + quoted[-1] if quoted else ""


def has_errors(problems: Iterable[EslProblem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def in_order(problems: Iterable[EslProblem]) -> tuple[EslProblem, ...]:
    """By place, errors before warnings, each once."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.span.start, p.severity, p.span.end, p.message)))


def render(problem: EslProblem, path: str, text: str) -> str:
    """`file:line:column: error: message`, the source line, and a caret under what is meant."""
    span = problem.span
    lines = _lines_of(text)
    head = f"{path}:{span.line}:{span.column}: {problem.severity}: {problem.message}"
    line = lines[span.line - 1].rstrip("\r") if span.line <= len(lines) else ""
    if not line.strip():
        return head
    # Tabs stay tabs and other wide characters stay what they are, so that the caret keeps its place.
    lead = "".join(c if c == "\t" else " " for c in line[: span.column - 1])
    stop = span.end_column if span.end_line == span.line else len(line) + 1
    marks = "^" + "~" * max(0, min(stop, len(line) + 1) - span.column - 1)
    return f"{head}\n    {line}\n    {lead}{marks}"


@functools.lru_cache(maxsize=2)
def _lines_of(text: str) -> list[str]:
    """Kept, because there may be as many problems as lines."""
    return text.split("\n")


def render_all(problems: Iterable[EslProblem], path: str, text: str) -> str:
    return "\n".join(render(problem, path, text) for problem in problems)
