"""Finds the ranges of a function's calls in a text, by its syntax tree.

Invariant: the file is never imported; a text that does not parse has no calls.
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from clew.server.locations.definitions import Definition
from clew.server.locations.text_diff import lines_of
from clew.server.lsp.positions import utf16_length

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_VERBS = {
    "task": {"create_task", "ensure_future", "gather", "wait_for", "call_soon", "call_later", "call_at", "run"},
    "thread": {"start"},
    "process": {
        "start", "Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell",
    },
    "executor": {"submit", "map", "run_in_executor", "to_thread", "apply", "apply_async", "imap", "starmap"},
    "queue": {"put", "put_nowait"},
    "http": {"get", "post", "put", "delete", "patch", "request", "urlopen", "send"},
    "message": {"send", "send_bytes", "sendall", "write", "writelines", "put"},
}  # fmt: skip
"""The methods that hand work on, by kind of the way."""


class NameRange(NamedTuple):
    """A name in a line: the line from 1, columns from 0 in UTF-16 units, as editors count."""

    line: int
    start: int
    end: int


class _Name(NamedTuple):
    name: str
    range: NameRange
    called: bool


def calls_of(text: str, caller: Definition, callee: str, way: str) -> list[NameRange]:
    """Return the ranges where `caller` calls `callee`, a qualified name. For a `way` other than a plain call, return
    the ranges where it hands on the work: the names of the function, else the calls that hand on."""
    names = _names(text).get((caller.first_line, caller.end_line), [])
    *outer, target = callee.replace(".<locals>", "").split(".")
    if target in ("__init__", "__new__", "__post_init__") and outer:
        target = outer[-1]
    if target == "__call__":
        return []
    if way in ("thread", "process") and target == "run":
        target = "start"  # the function that runs it
    found = [one.range for one in names if one.name == target and (one.called or way != "call")]
    # A property is called by its name alone.
    found = found or [one.range for one in names if one.name == target]
    return found or [one.range for one in names if one.called and one.name in _VERBS.get(way, ())]


def name_at(text: str, line: int, column: int) -> str:
    """Return the name of the function that is called or named at a position (the line from 1, the column from 0 in
    UTF-16 units); "" if there is none."""
    for names in _names(text).values():
        for one in names:
            if one.range.line == line and one.range.start <= column <= one.range.end:
                return one.name
    return ""


@functools.lru_cache(maxsize=16)
def _names(text: str) -> dict[tuple[int, int], list[_Name]]:
    """Return the names in the body of each function without nested functions, in the order of the text, by the
    function's first and last line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in the outline
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines = lines_of(text)
    return {
        _extent(node): sorted(set(_in(node, lines)), key=lambda one: one.range)
        for node in ast.walk(tree)
        if isinstance(node, _Function)
    }


def _extent(node: _Function) -> tuple[int, int]:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno


def _in(function: _Function, lines: list[str]) -> Iterator[_Name]:
    body = function.body if isinstance(function.body, list) else [function.body]
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, _Function):
            continue
        if isinstance(node, ast.Call) and (named := _name(node.func, lines, called=True)) is not None:
            yield named
            # The name itself is recorded here; its object and its arguments are visited.
            pending += [*ast.iter_child_nodes(node.func), *node.args, *node.keywords]
            continue
        if isinstance(node, ast.Name | ast.Attribute) and (named := _name(node, lines, called=False)) is not None:
            yield named
        pending += ast.iter_child_nodes(node)


def _name(node: ast.AST, lines: list[str], *, called: bool) -> _Name | None:
    if isinstance(node, ast.Name):
        name = node.id
    elif isinstance(node, ast.Attribute):
        name = node.attr
    else:
        return None
    if node.end_lineno is None or node.end_col_offset is None or node.end_lineno > len(lines):
        return None
    # Columns of a syntax tree count bytes.
    before = lines[node.end_lineno - 1].encode("utf-8", "surrogatepass")[: node.end_col_offset]
    stop = utf16_length(before.decode("utf-8", "surrogatepass"))
    return _Name(name, NameRange(node.end_lineno, stop - utf16_length(name), stop), called)
