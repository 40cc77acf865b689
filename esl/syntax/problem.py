"""Describe problems of a spec with place and remedy, find similar names, and render problems for a terminal."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.esl.syntax.span import Span
from clew.records.errors import ClewError

Severity = Literal["error", "warning"]


class SpecError(ClewError):
    """A spec with errors was used; the text lists them."""


@dataclass(frozen=True, slots=True)
class EslProblem:
    """A problem. `message` is a sentence with the remedy. `fix`, if any, is the text to replace `span`; with `remove`,
    `span` should be deleted."""

    severity: Severity
    message: str
    span: Span
    fix: str = ""
    remove: bool = False
    elsewhere: str = ""
    """The package without source here, if that is the only problem."""

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
    """Return the known name most similar to `word`, or ""."""
    return _nearest(word, tuple(dict.fromkeys(known)), cutoff)


@functools.lru_cache(maxsize=4096)
def _nearest(word: str, names: tuple[str, ...], cutoff: float) -> str:
    """Return the most similar name. Cached because an editor requests all problems of a spec at every keystroke."""
    found = difflib.get_close_matches(word, likely(word, names, cutoff), n=1, cutoff=cutoff)
    # Transposed letters change the similarity of short words strongly.
    return found[0] if found else next((name for name in names if sorted(name) == sorted(word)), "")


def likely(word: str, names: Iterable[str], cutoff: float) -> Iterator[str]:
    """Yield the names that share enough letters with the word, which is ten times faster to compute than similarity."""
    letters, length = frozenset(word), len(word)
    for name in names:
        needed = cutoff * (length + len(name)) / 2
        if needed <= min(length, len(name)) and needed <= length - len(letters.difference(name)):
            yield name


def did_you_mean(word: str, known: Iterable[str]) -> tuple[str, str]:
    """Return a clause that ends a message, and the name it proposes; both "" when no name is similar."""
    name = nearest(word, known)
    return (f"; did you mean `{name}`?", name) if name else ("", "")


def listing(names: Sequence[str], last: str = "or", limit: int = 12) -> str:
    """Format names as `a`, `b` or `c`; names beyond `limit` are counted."""
    quoted = [f"`{name}`" for name in names[:limit]]
    if len(names) > limit:
        return ", ".join(quoted) + f" and {len(names) - limit} more"
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" {last} " + quoted[-1] if quoted else ""


def has_errors(problems: Iterable[EslProblem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def in_order(problems: Iterable[EslProblem]) -> tuple[EslProblem, ...]:
    """Return the problems by place, errors before warnings, without duplicates."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.span.start, p.severity, p.span.end, p.message)))


def render(problem: EslProblem, path: str, text: str) -> str:
    """Render `file:line:column: error: message`, the source line, and a caret under the span."""
    span = problem.span
    lines = _lines_of(text)
    head = f"{path}:{span.line}:{span.column}: {problem.severity}: {problem.message}"
    line = lines[span.line - 1].rstrip("\r") if span.line <= len(lines) else ""
    if not line.strip():
        return head
    # Keep tabs and wide characters, so that the caret stays aligned.
    lead = "".join(c if c == "\t" else " " for c in line[: span.column - 1])
    stop = span.end_column if span.end_line == span.line else len(line) + 1
    marks = "^" + "~" * max(0, min(stop, len(line) + 1) - span.column - 1)
    return f"{head}\n    {line}\n    {lead}{marks}"


@functools.lru_cache(maxsize=2)
def _lines_of(text: str) -> list[str]:
    """Split a text into lines. Cached because there can be as many problems as lines."""
    return text.split("\n")


def render_all(problems: Iterable[EslProblem], path: str, text: str) -> str:
    return "\n".join(render(problem, path, text) for problem in problems)
