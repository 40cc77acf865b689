"""Finds the lines of a Python text in which a function calls another or may wait, as far as the text alone determines
them.

A recording contains the functions that a function called, but not the lines of the calls. Invariant: a line is returned
only if the file allows no other line and no other meaning of the names; an ambiguous call has no line.
"""

from __future__ import annotations

import ast
import builtins
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.server.locations.definitions import Definition, outline

_BUILTIN_METHODS = frozenset(
    name
    for kind in (str, bytes, bytearray, int, float, list, tuple, dict, set, frozenset, object)
    for name in dir(kind)
    if not name.startswith("__")
) | {"read", "write", "close", "flush", "readline", "seek", "send", "throw", "append"}
"""Methods of many built-in types; the target of such a call is unknown."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Callee(NamedTuple):
    module: str
    qualname: str


@dataclass(frozen=True)
class _Call:
    line: int
    name: str
    receiver: str
    """"self" or another plain name; "" without a receiver; "?" for anything else."""
    arguments: int
    """The number of positional arguments."""
    node: int
    """Distinguishes calls of one line."""


@dataclass
class _Lines:
    """The calls of one function, without those of nested functions."""

    calls: list[_Call] = field(default_factory=list)
    awaits: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of a line and the awaited call; -1 if no call is awaited."""
    locks: list[int] = field(default_factory=list)
    """Lines of `with` statements on a named object."""


@dataclass(frozen=True)
class CallLines:
    """The calls of one text, which is a module."""

    functions: dict[Definition, _Lines]
    imported: dict[str, tuple[str, str]]
    """Maps a name in the file to its module and the name there; "" for the module itself."""
    defined: frozenset[str]
    """Names that are defined at the top level of the file."""

    def of_callee(self, function: Definition, module: str, callee: Callee) -> int | None:
        """Return the one line in which a function of `module` calls another."""
        lines = self.functions.get(function)
        found = {call.line for call in lines.calls if self._means(call, module, callee)} if lines else set()
        return found.pop() if len(found) == 1 else None

    def calls(self, function: Definition, module: str, callee: Callee, name: str, line: int) -> bool:
        """Return whether a function of `module` calls another by this name in this line, perhaps among other calls."""
        lines = self.functions.get(function)
        calls = lines.calls if lines else []
        return any(call.name == name and call.line == line and self._means(call, module, callee) for call in calls)

    def of_wait(self, function: Definition, module: str, through: str, callees: list[Callee]) -> int | None:
        """Return the one line in which a function of `module` waits through a function of the standard library.
        Recorded `callees` that are awaited wait themselves."""
        lines = self.functions.get(function)
        if lines is None:
            return None
        name = through.rpartition(":")[2].rpartition(".")[2]
        if through.startswith("asyncio."):
            own = {call.node for call in lines.calls if any(self._means(call, module, callee) for callee in callees)}
            found = {line for line, node in lines.awaits if node not in own}
        else:
            found = {call.line for call in lines.calls if call.name == name and _may_wait(call)}
            if name in ("acquire", "__enter__"):
                found |= set(lines.locks)
        return found.pop() if len(found) == 1 else None

    def _means(self, call: _Call, module: str, callee: Callee) -> bool:
        path = callee.qualname.replace(".<locals>", "").removesuffix(".__init__").split(".")
        if not call.receiver:
            if call.name in self.imported:
                return _is_from(self.imported[call.name], callee.module, path)
            local = callee.module == module and call.name in (self.defined if len(path) == 1 else ())
            nested = callee.module == module and ".<locals>." in callee.qualname and call.name not in self.defined
            return path[-1] == call.name and (local or nested) and not hasattr(builtins, call.name)
        if path[-1] != call.name:
            return False
        if call.receiver in self.imported:
            return _is_from(self.imported[call.receiver], callee.module, path[:-1])
        is_method = len(path) > 1 or callee.qualname.endswith(".__init__")
        return is_method and (call.receiver in ("self", "cls") or call.name not in _BUILTIN_METHODS)


def _is_from(imported: tuple[str, str], module: str, path: list[str]) -> bool:
    """Return whether an import refers to the object at `path` in a module; packages re-export the names of their
    modules."""
    source, name = imported
    full = f"{source}.{name}" if name and not path else source
    package = full.lstrip(".").split(".")[0]
    inside = full.startswith(".") or module.partition(".")[0] == package
    near = inside or module == full or module.startswith(f"{full}.")
    return near and (not path or not name or path[-1] == name)


def _may_wait(call: _Call) -> bool:
    """Exclude methods of other types with the same name: a queue's `get` takes no key, and a thread's `join` takes no
    list."""
    return call.name not in ("get", "join") or call.arguments == 0


@functools.lru_cache(maxsize=64)
def call_lines(text: str) -> CallLines | None:
    """Return the calls of a text; None if it does not parse."""
    found = outline(text)
    if found is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    at: dict[int, list[Definition]] = {}
    for named in found.values():
        for one in named:
            at.setdefault(one.line, []).append(one)
    functions = {}
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            # With several in one line (lambdas, for example) the match is ambiguous.
            here = at.get(node.lineno, [])
            if len(here) == 1:
                functions[here[0]] = _lines_of(node)
    return CallLines(functions, dict(_imports(tree)), frozenset(_defined(tree)))


def _lines_of(function: _Function) -> _Lines:
    lines = _Lines()
    pending: list[ast.AST] = [*function.body] if isinstance(function.body, list) else [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, _Function | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            _add_call(lines, node)
        elif isinstance(node, ast.Await):
            lines.awaits.append((node.lineno, id(node.value) if isinstance(node.value, ast.Call) else -1))
        elif isinstance(node, ast.AsyncFor | ast.AsyncWith):
            lines.awaits.append((node.lineno, -1))
        elif isinstance(node, ast.With):
            lines.locks += [
                item.context_expr.lineno
                for item in node.items
                if isinstance(item.context_expr, ast.Name | ast.Attribute)
            ]
        pending += ast.iter_child_nodes(node)
    return lines


def _add_call(lines: _Lines, node: ast.Call) -> None:
    called = node.func
    if isinstance(called, ast.Name):
        receiver, name = "", called.id
    elif isinstance(called, ast.Attribute):
        receiver = called.value.id if isinstance(called.value, ast.Name) else "?"
        name = called.attr
    else:
        return
    lines.calls.append(_Call(called.end_lineno or node.lineno, name, receiver, len(node.args), id(node)))


def _imports(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds the name a.
                yield (
                    alias.asname or alias.name.split(".")[0],
                    (alias.name if alias.asname else alias.name.split(".")[0], ""),
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, ("." * node.level + (node.module or ""), alias.name)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
