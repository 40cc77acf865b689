"""Find the code that may catch a cancellation at a line: handlers, context managers, and a `finally` that returns.

Only the source is read. A name other than `CancelledError` and `BaseException` counts as another exception, and a context
manager that is not known may catch anything.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

_NAMED = frozenset({"CancelledError", "get_cancelled_exc_class", "Cancelled"})
_BROAD = "BaseException"
_HARMLESS = frozenset({"timeout", "timeout_at", "open", "Lock", "Semaphore", "Condition", "closing", "aclosing"})
"""Context managers that let cancellations by others through, or are meant to."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVING = (ast.Return, ast.Break, ast.Continue)
_Block = ast.Try | ast.TryStar | ast.With | ast.AsyncWith


@dataclass(frozen=True)
class Handler:
    """Code that catches a cancellation and need not raise it again."""

    line: int
    text: str
    """The code in short: `except BaseException`, `suppress(CancelledError)`, `return in finally`."""
    named: bool
    """Whether it names cancellations, so that its author thought of them, or may do so."""
    in_loop: bool = False
    """Whether the block that it guards may run again in the same call."""


@lru_cache(maxsize=4096)
def handlers_at(file: str, line: int, then: int = 0) -> tuple[Handler, ...] | None:
    """Return what may catch a cancellation that is raised at a line of a function, innermost first; None without source.

    `then` is a line where the same call of the function went on, 0 if the call was left: a block that contains both lines
    and is in no loop was not left, so that its handlers did not run.
    """
    function = _function_at(file, line)
    if function is None:
        return None
    statements = [
        (statement, loops)
        for statement, loops in _around(function, line)
        if loops or not then or not _contains(statement.body, then)
    ]
    found = ((_handler_of(statement), loops) for statement, loops in reversed(statements))
    return tuple(replace(handler, in_loop=loops) for handler, loops in found if handler is not None)


@lru_cache(maxsize=4096)
def lines_of_calls(file: str, definition: int, callee: str) -> tuple[int, ...]:
    """Return the lines of a function, defined at line `definition`, that call another function by its name."""
    function = _function_at(file, definition)
    calls = (node for node in ast.walk(function or ast.Module([], [])) if isinstance(node, ast.Call))
    return tuple(sorted({call.lineno for call in calls if _last_name(call.func) == callee}))


@lru_cache(maxsize=256)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _function_at(file: str, line: int) -> ast.AST | None:
    """Return the innermost function around a line."""
    tree = _tree(file)
    inside = (
        node
        for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0)
    )
    return max(inside, key=lambda node: node.lineno, default=None)


def _around(node: ast.AST, line: int, in_loop: bool = False) -> Iterator[tuple[_Block, bool]]:
    """Yield the `try` and `with` statements below a node whose block contains a line, outermost first, and whether each
    is in a loop."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(child, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)) and _contains(child.body, line):
            yield child, in_loop
        yield from _around(child, line, in_loop or isinstance(child, (ast.For, ast.AsyncFor, ast.While)))


def _contains(block: list[ast.stmt], line: int) -> bool:
    return any(statement.lineno <= line <= (statement.end_lineno or 0) for statement in block)


def _handler_of(statement: _Block) -> Handler | None:
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        managers = (_manager(item.context_expr, statement.lineno) for item in statement.items)
        return next((manager for manager in managers if manager), None)
    for last in statement.finalbody:
        if isinstance(last, ast.Return):
            return Handler(last.lineno, "return in finally", named=False)
    for handler in statement.handlers:
        names = [_BROAD] if handler.type is None else _names(handler.type)
        if _catches(names):
            text = "except" if handler.type is None else f"except {', '.join(names)}"
            named = not _NAMED.isdisjoint(names)
            return None if _always_raises(handler.body) else Handler(handler.lineno, text, named)
    return None


def _manager(expression: ast.expr, line: int) -> Handler | None:
    name = _last_name(expression)
    if name in _HARMLESS:
        return None
    if name == "suppress" and isinstance(expression, ast.Call):
        names = [name for argument in expression.args for name in _names(argument)]
        text = f"suppress({', '.join(names)})"
        return Handler(line, text, not _NAMED.isdisjoint(names)) if _catches(names) else None
    # A task group raises the errors of its tasks instead of a cancellation, up to Python 3.12.
    return Handler(line, f"with {name}", named=name != "TaskGroup")


def _catches(names: list[str]) -> bool:
    return _BROAD in names or not _NAMED.isdisjoint(names)


def _names(expression: ast.expr) -> list[str]:
    """Return the exceptions that an expression names, without their modules."""
    elements = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    return [_last_name(element) for element in elements]


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        return _last_name(expression.func)
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _always_raises(body: list[ast.stmt]) -> bool:
    """Return whether a block ends with `raise` on each way through it."""
    if any(isinstance(node, _LEAVING) for statement in body for node in ast.walk(statement)):
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_raises(last.body) and _always_raises(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _always_raises(last.body)
    if isinstance(last, ast.Try) and last.finalbody and not last.handlers:
        return _always_raises(last.body) or _always_raises(last.finalbody)
    return isinstance(last, ast.Raise)
