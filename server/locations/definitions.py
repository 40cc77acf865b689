"""Finds the current locations of a file's functions by qualified name, so that data of an older recording finds its
function.

Invariant: the file is never imported; a text that does not parse gives None and no error.
"""

from __future__ import annotations

import ast
import functools
import warnings
from typing import NamedTuple

from clew.records.plan.match import plain_qualname


class Definition(NamedTuple):
    qualname: str
    """The qualified name without `<locals>` parts, as in patterns."""
    first_line: int
    """The line of its first decorator, from 1; a code object has this line."""
    line: int
    """The line of its `def`."""
    end_line: int


Outline = dict[str, list[Definition]]


@functools.lru_cache(maxsize=64)
def outline(text: str) -> Outline | None:
    """Return all functions and lambdas of a Python text; None if it does not parse, for example during an edit."""
    try:
        with warnings.catch_warnings():
            # Warnings about escapes in the user's strings do not concern clew.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: Outline = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                    _add(found, Definition(inner[:-1], first, child.lineno, child.end_lineno or child.lineno))
            elif isinstance(child, ast.Lambda):
                inner = f"{prefix}<lambda>."
                _add(found, Definition(inner[:-1], child.lineno, child.lineno, child.end_lineno or child.lineno))
            pending.append((child, inner))
    return found


def current(found: Outline | None, qualname: str, recorded_line: int) -> Definition | None:
    """Return the definition of a recorded function in the present text. If several have its name (a property's getter
    and setter, for example), return the one nearest to the recorded line."""
    candidates = (found or {}).get(plain_qualname(qualname), [])
    return min(candidates, key=lambda definition: abs(definition.first_line - recorded_line), default=None)


def around(found: Outline | None, line: int) -> list[Definition]:
    """Return the functions around a line, the innermost first."""
    there = [
        definition
        for definitions in (found or {}).values()
        for definition in definitions
        if definition.first_line <= line <= definition.end_line
    ]
    return sorted(there, key=lambda definition: (-definition.first_line, definition.end_line))


def _add(found: Outline, definition: Definition) -> None:
    found.setdefault(definition.qualname, []).append(definition)
