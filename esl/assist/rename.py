"""Rename an entity, level, channel, request, watched value, label or `$parameter` in all specs. Also rename a parameter
of functions in all rules about them, after it was renamed in the program.

Invariant: the meaning stays unchanged. An implicit name (the function's own) becomes an explicit one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from clew.esl.assist.hover import Meant, patterns_of
from clew.esl.assist.references import Occurrence, parameters_in
from clew.esl.index.declarations import FunctionInfo
from clew.esl.lower.expressions import AT_FINISH, THIS
from clew.esl.syntax.ast import Spec
from clew.esl.syntax.keywords import BUILT_IN_LEVELS
from clew.esl.syntax.span import Span
from clew.records.plan.plan import Rule

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_RESERVED = ("and", "as", "from", "in", "is", "not", "or")
Edit = tuple[int, int, str]


def why_not(name: Occurrence, new: str, all_names: Collection[Occurrence]) -> str:
    """Return a sentence with the reason why a rename is impossible, or ""."""
    if not new.strip() or "\n" in new or '"' in new:
        return f"`{new}` is not a valid name; use letters, digits and `_`"
    quotable = name.kind in ("channel", "request", "label")
    if not quotable and (not _IDENTIFIER.fullmatch(new) or new in _RESERVED):
        return f"`{new}` is not a valid name of {_an(name.kind)}; use letters, digits and `_`, and begin with a letter"
    if name.kind == "level" and new in BUILT_IN_LEVELS:
        return f"`{new}` is a built-in level; choose another name"
    if name.kind == "parameter" and not any(each.given and each.meaning == name.meaning for each in all_names):
        return f"no spec of the workspace declares the parameter `{name.name}`"
    if any(each.kind == name.kind and each.owner == name.owner and each.name == new for each in all_names):
        return f"{_an(name.kind)} named `{new}` already exists; choose another name"
    return ""


def edits_of(name: Occurrence, new: str, text: str, names: Iterable[Occurrence]) -> list[Edit]:
    """Return the edits for a name in one spec, given its names."""
    made: list[Edit] = []
    for each in names:
        if each.meaning == name.meaning:
            start, end = each.span.start, each.span.end
            if not each.written:
                made.append((start, end, f" as {_written(new)}"))
            elif text[start - 1 : start] in ('"', "'") and text[end : end + 1] == text[start - 1 : start]:
                made.append((start - 1, end + 1, _written(new)))
            else:
                made.append((start, end, _written(new) if each.kind in ("channel", "request", "label") else new))
    return made


def parameter_at(spec: Spec, offset: int, root: str = "") -> tuple[Meant, str, Span] | None:
    """Return the rule around an offset and the function parameter named there."""
    for meant in patterns_of(spec, root):
        if meant.node is not None and meant.statement.start <= offset <= meant.statement.end:
            for name, span in parameters_in(meant.node):
                if span.start <= offset <= span.end and name not in (THIS, *AT_FINISH):
                    return meant, name, span
    return None


def parameter_edits(
    spec: Spec, name: str, new: str, functions: Collection[FunctionInfo], mean: Callable[[Rule], Iterable[FunctionInfo]]
) -> list[Edit]:
    """Return the edits for a parameter in one spec, in all rules that match one of the functions."""
    made: set[Edit] = set()
    for meant in patterns_of(spec):
        if meant.node is not None:
            found = [span for each, span in parameters_in(meant.node) if each == name]
            if found and any(function in functions for function in mean(meant.rule)):
                made |= {(span.start, span.end, new) for span in found}
    return sorted(made)


def _written(name: str) -> str:
    return name if _DOTTED.fullmatch(name) and name not in _RESERVED else f'"{name}"'


def _an(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
