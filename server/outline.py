"""Where the functions of a file stand now, by qualified name, so that figures from an older recording find their place.

Invariant: never imports the file, and gives None instead of an error for a text that does not parse.
"""

from __future__ import annotations

import ast
import functools
import warnings
from typing import NamedTuple

from clew.records.match import plain_qualname


class Definition(NamedTuple):
    qualname: str
    """Without `<locals>` parts, as in patterns."""
    first_line: int
    """From 1; of its first decorator, which is the line that a code object has."""
    line: int
    """Of its `def`."""
    end_line: int


Outline = dict[str, list[Definition]]


@functools.lru_cache(maxsize=64)
def outline(text: str) -> Outline | None:
    """All functions and lambdas of a Python text. None when it does not parse, as in the middle of an edit."""
    try:
        with warnings.catch_warnings():
            # An invalid escape in the user's string is between them and Python.
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
    """The definition of a recorded function in the present text: of several with its name (a property's getter and
    setter, say) the one nearest to where it was."""
    candidates = (found or {}).get(plain_qualname(qualname), [])
    return min(candidates, key=lambda definition: abs(definition.first_line - recorded_line), default=None)


def around(found: Outline | None, line: int) -> list[Definition]:
    """The functions around a line, the innermost first."""
    there = [
        definition
        for definitions in (found or {}).values()
        for definition in definitions
        if definition.first_line <= line <= definition.end_line
    ]
    return sorted(there, key=lambda definition: (-definition.first_line, definition.end_line))


def _add(found: Outline, definition: Definition) -> None:
    found.setdefault(definition.qualname, []).append(definition)
