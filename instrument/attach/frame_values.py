"""Find the objects that a line of a running frame names, such as the lock of `with self.lock:`, and the locks it is inside.

Invariant: no code of the program runs. A name is looked up in the frame, an attribute in `__dict__` or a slot, an item in
a builtin dict, list or tuple; all else has no value.
"""

from __future__ import annotations

import ast
import opcode
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

NOTHING = object()
"""The value of an expression that cannot be evaluated without running code of the program."""
_KEYS = (str, int, bytes)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_With = ast.With | ast.AsyncWith
_ENTERS = frozenset(opcode.opmap[name] for name in ("BEFORE_WITH", "BEFORE_ASYNC_WITH") if name in opcode.opmap)
_class_dict = type.__dict__["__dict__"].__get__
_class_mro = type.__dict__["__mro__"].__get__


def position(frame: FrameType) -> tuple[int, int, int, int]:
    """Return line, column, last line and end column of the expression that a frame runs; -1 for an unknown column."""
    for number, found in enumerate(frame.f_code.co_positions()):
        if number == max(frame.f_lasti, 0) // 2:
            line, last, column, end = found
            if line is not None and last is not None:
                return line, -1 if column is None else column, last, -1 if end is None else end
            break
    return frame.f_lineno or frame.f_code.co_firstlineno, -1, -1, -1


def running_expression(frame: FrameType) -> ast.expr | None:
    """Return the expression that a frame runs, or the item of a `with` statement that it enters.

    None when its source is not there or has changed.
    """
    function, wanted = _source_of(frame.f_code), position(frame)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, _With) and _span(node) == wanted:
            entering = _entering(frame)
            return node.items[entering].context_expr if 0 <= entering < len(node.items) else None
        if isinstance(node, ast.expr) and _span(node) == wanted:
            return node
    return None


def _span(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _entering(frame: FrameType) -> int:
    """Return which item of its `with` statement a frame enters now, -1 if it enters none.

    An `async with` waits some instructions after the one that enters it, all at the place of the statement.
    """
    code, at, here = frame.f_code.co_code, max(frame.f_lasti, 0) // 2, position(frame)
    places = [(place[0], place[2], place[1], place[3]) for place in frame.f_code.co_positions()]
    enters = [number for number in range(at + 1) if code[2 * number] in _ENTERS and places[number] == here]
    if not enters or any(place[0] is not None and place != here for place in places[enters[-1] : at]):
        return -1
    return len(enters) - 1


def entered(frame: FrameType) -> Iterator[ast.expr]:
    """Yield the expressions that a frame has entered by `with`, or releases in a `finally` that it has yet to reach."""
    function, line = _source_of(frame.f_code), frame.f_lineno or 0
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, _With):
            inside = _inside(node.body, line)
            many = len(node.items) if inside else _entering(frame) if _span(node) == position(frame) else 0
            for item in node.items[: max(many, 0)]:
                yield item.context_expr
        elif isinstance(node, ast.Try) and _inside([*node.body, *node.handlers, *node.orelse], line):
            for statement in node.finalbody:
                value = statement.value if isinstance(statement, ast.Expr) else None
                if (
                    isinstance(value, ast.Call)
                    and isinstance(value.func, ast.Attribute)
                    and value.func.attr == "release"
                ):
                    yield value.func.value


def _inside(body: list[Any], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= body[-1].end_lineno


def awaited_name(frame: FrameType) -> str:
    """Return the source of the object that a frame waits for: `self.jobs` for `await self.jobs.get()`; "" if unclear."""
    node = running_expression(frame)
    while isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else None
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""


@lru_cache(maxsize=256)
def _source_of(code: CodeType) -> ast.AST | None:
    """Return the function of a code object in its source file, None when it is not there."""
    tree = _module_of(code.co_filename)
    if tree is None or code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, _Function) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


@lru_cache(maxsize=64)
def _module_of(file: str) -> ast.Module | None:
    try:
        with open(file, "rb") as stream:
            return ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def forget_sources() -> None:
    """Release the parsed sources."""
    _source_of.cache_clear()
    _module_of.cache_clear()


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """Return the value of an expression in a frame now, or `NOTHING`."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
    elif isinstance(node, ast.Attribute):
        owner = value_of(node.value, frame)
        return NOTHING if owner is NOTHING else attribute(owner, node.attr)
    elif isinstance(node, ast.Subscript):
        owner, key = value_of(node.value, frame), _key_of(node.slice, frame)
        if type(key) in _KEYS:
            try:
                if type(owner) is dict or (type(owner) in (list, tuple) and type(key) is int):
                    return owner[key]
            except LookupError:
                return NOTHING
    return NOTHING


def _key_of(node: ast.expr, frame: FrameType) -> Any:
    return node.value if isinstance(node, ast.Constant) else value_of(node, frame)


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute from `__dict__` or a slot, or `NOTHING`."""
    if type(owner) is ModuleType:
        return owner.__dict__.get(name, NOTHING)
    of_class: Any = NOTHING
    own: Any = {}
    for base in _class_mro(type(owner)):
        names = _class_dict(base)
        if of_class is NOTHING and name in names:
            of_class = names[name]
        if not own and type(names.get("__dict__")) is GetSetDescriptorType:
            own = names["__dict__"].__get__(owner)
    if type(of_class) is MemberDescriptorType:
        try:
            return of_class.__get__(owner)
        except AttributeError:
            return NOTHING
    if type(own) is dict and name in own:
        return own[name]
    if of_class is NOTHING or any("__get__" in _class_dict(base) for base in _class_mro(type(of_class))):
        return NOTHING
    return of_class
