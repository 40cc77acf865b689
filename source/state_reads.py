"""Find which states a line of a function depends on: attributes, items and variables, and the calls that return values.

The analysis is of the source alone, inside one function. It follows assignments to local variables before the line, and the
conditions around it. Invariant: the user's code never runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from clew.records.format.states import FUNCTIONS

MOST_NAMES = 60
"""The local variables of one function that are followed."""
_LOCKING = frozenset({"acquire", "release"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
_VIEWS = frozenset({"items", "values", "keys", "copy", "get", "pop", "popleft", "popitem", "setdefault", "peek"})
"""Methods of containers that give their elements."""


@dataclass(frozen=True)
class Step:
    """An attribute, or an item, on the way to a state."""

    form: Literal["attribute", "item"]
    name: str
    """The attribute; the item's key as `repr` writes it, "" if it is not a literal."""


@dataclass(frozen=True)
class Path:
    """A state as the source names it: `cart.items[sku]`."""

    root: str
    """A parameter, a variable of an enclosing function, a global, or "" where it is not known what the object is."""
    steps: tuple[Step, ...]
    line: int

    @property
    def text(self) -> str:
        parts = [f".{step.name}" if step.form == "attribute" else f"[{step.name or '…'}]" for step in self.steps]
        return (self.root or "…") + "".join(parts)


@dataclass(frozen=True)
class Call:
    """A call whose result the line depends on."""

    name: str
    """The function's or method's own name."""
    line: int
    last_line: int


@dataclass(frozen=True)
class Reads:
    """What a line depends on, the nearest first."""

    paths: tuple[Path, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Expression:
    """A name, an attribute, an item or a call in a function."""

    path: Path | None
    """What it names, as it is written; None for a call and for an item of a call's result."""
    is_parameter: bool
    """Whether it is a parameter of the function alone."""
    reads: Reads
    """What its value depends on."""


@dataclass(frozen=True)
class Assigned:
    """What is assigned at a line."""

    parameter: str
    """The parameter whose value is assigned as it is, else ""."""
    parameters: int
    """The number of the function's parameters, without the first one of a method."""


class Source:
    """The functions of one source file. Raises `SyntaxError` and `ValueError` for a text that is not Python."""

    def __init__(self, text: str) -> None:
        self._module = ast.parse(text)
        _mangle(self._module, "")
        self._functions: dict[int, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self._classes: dict[int, str] = {}
        """The names of classes by `id` of their members."""
        for node in ast.walk(self._module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                self._functions[first] = node
            elif isinstance(node, ast.Lambda):
                self._functions.setdefault(node.lineno, node)
            elif isinstance(node, ast.ClassDef):
                self._classes.update((id(member), node.name) for member in node.body)

    def reads_at(self, first_line: int, line: int) -> Reads:
        """Return what a line depends on, in the function that begins at `first_line`; 0 for the module's own code."""
        function = self._functions.get(first_line) if first_line else self._module
        if function is None:
            return Reads((), ())
        return _Reader(function, line).read(_expressions_at(function, line), line)

    def reads_of(self, first_line: int) -> Reads:
        """Return what the result of a function may depend on: everything that it reads, the last line first."""
        function = self._functions.get(first_line)
        if function is None:
            return Reads((), ())
        last = function.end_lineno or function.lineno
        expressions = [node for node in _own_nodes(function) if isinstance(node, ast.expr)]
        expressions.sort(key=lambda node: -node.lineno)
        return _Reader(function, last + 1).read(expressions, last)

    def expression(self, first_line: int, line: int, text: str) -> Expression | None:
        """Return what an expression at a line means in the function that begins at `first_line`; None if it is not one."""
        function = self._functions.get(first_line) if first_line else self._module
        try:
            node = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if function is None:
            return None
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                part.attr = mangled(part.attr, self._classes.get(id(function), "").lstrip("_"))
        path = _path(node, line)
        path = path if path is not None and path.root else None
        is_parameter = path is not None and not path.steps and path.root in _parameters(function)
        return Expression(path, is_parameter, _Reader(function, line, node).read([node], line))

    def calls_of(self, first_line: int, name: str) -> list[int]:
        """Return the lines where a function calls another one, or a method, of a name; `first_line` 0 for the module."""
        function = self._functions.get(first_line) if first_line else self._module
        if function is None:
            return []
        called = (node for node in _own_nodes(function) if isinstance(node, ast.Call))
        names = ((node.lineno, getattr(node.func, "attr", getattr(node.func, "id", ""))) for node in called)
        return sorted({line for line, found in names if found == name})

    def locks_at(self, first_line: int, lines: Iterable[int]) -> list[str]:
        """Return the locks that a function holds at all of some of its lines, such as `self._lock` in `with self._lock:`.

        A name or an attribute in `with` counts as a lock, and a call if its name has `lock` in it. `acquire` holds up to the
        last `release`.
        """
        function, wanted = self._functions.get(first_line), set(lines)
        held: dict[str, set[int]] = {}
        for node in _own_nodes(function) if function is not None else ():
            if isinstance(node, ast.With | ast.AsyncWith):
                span = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                for item in node.items:
                    if _is_lock(item.context_expr):
                        held.setdefault(ast.unparse(item.context_expr), set()).update(wanted.intersection(span))
        for name, (first, last) in self._acquired(function).items() if function is not None else ():
            held.setdefault(name, set()).update(line for line in wanted if first < line <= last)
        return [name for name, covered in held.items() if wanted and covered == wanted]

    @staticmethod
    def _acquired(function: _Function) -> dict[str, tuple[int, int]]:
        """Return the first line of `acquire` and the last one of `release` for each object that has both."""
        calls: dict[str, dict[str, list[int]]] = {}
        for node in _own_nodes(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOCKING:
                calls.setdefault(ast.unparse(node.func.value), {}).setdefault(node.func.attr, []).append(node.lineno)
        return {
            name: (min(one["acquire"]), max(one["release"])) for name, one in calls.items() if len(one) == len(_LOCKING)
        }

    def lines_reading(self, first_line: int, name: str, *, is_attribute: bool) -> list[int]:
        """Return the lines where a function reads an attribute or a variable of a name."""
        function = self._functions.get(first_line)
        found = set[int]()
        for node in _own_nodes(function) if function is not None else ():
            match node:
                case ast.Attribute(attr=read, ctx=ast.Load()) if is_attribute and read == name:
                    found.add(node.lineno)
                case ast.Name(id=read, ctx=ast.Load()) if not is_attribute and read == name:
                    found.add(node.lineno)
        return sorted(found)

    def receiver(self, line: int, name: str) -> Path | None:
        """Return the object whose attribute `name` is assigned, whose items are, or whose method is called, at a line.

        `name` is the channel of a WRITE.
        """
        for node in ast.walk(self._module):
            if getattr(node, "lineno", 0) != line:
                continue
            changed: ast.expr | None = None
            if name == "[]":
                if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                    changed = node.value
            elif name.startswith("."):
                if isinstance(node, ast.Call) and name[1:] in FUNCTIONS:
                    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    changed = node.args[0] if called == name[1:] and node.args else None
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name[1:]:
                    changed = node.func.value
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and node.attr == name:
                changed = node.value
            if changed is not None:
                return _path(changed, line)
        return None

    def assigned(self, first_line: int, line: int) -> Assigned:
        """Return what the function that begins at `first_line` assigns at a line."""
        function = self._functions.get(first_line)
        if function is None:
            return Assigned("", 0)
        names = _parameters(function)
        names = names[1:] if id(function) in self._classes else names
        for node in _own_nodes(function):
            if isinstance(node, ast.Assign) and node.lineno == line and isinstance(node.value, ast.Name):
                return Assigned(node.value.id if node.value.id in names else "", len(names))
        return Assigned("", len(names))


def _mangle(node: ast.AST, class_name: str) -> None:
    """Give private attributes (`self.__count` in a class) the names that they have at run time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and class_name:
            child.attr = mangled(child.attr, class_name)
        _mangle(child, child.name.lstrip("_") if isinstance(child, ast.ClassDef) else class_name)


def mangled(name: str, class_name: str) -> str:
    """Return the name at run time of an attribute that is used in a class."""
    return f"_{class_name}{name}" if class_name and name.startswith("__") and not name.endswith("__") else name


class _Reader:
    def __init__(self, function: _Function, line: int, asked: ast.expr | None = None) -> None:
        self._line = line
        self._sources: dict[str, list[tuple[ast.expr, tuple[Step, ...]]]] = {}
        self._given = set(_parameters(function))
        self._updated: set[int] = set()
        """Targets of augmented assignments, which are read, too."""
        nodes = [*_own_nodes(function), *(ast.walk(asked) if asked is not None else ())]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        self._inner = {
            id(node.value)
            for node in nodes
            if isinstance(node, ast.Attribute | ast.Subscript) and id(node) not in called
        }
        """Beginnings of longer paths: reading `a.b.c` does not read all of `a.b`."""
        for node in _own_nodes(function):
            if isinstance(node, ast.AugAssign):
                self._updated.add(id(node.target))
            if getattr(node, "lineno", 0) <= line:
                for target, value, steps in _bindings(node):
                    self._bind(target, value, steps)
        self._is_module = isinstance(function, ast.Module)

    def _bind(self, target: ast.expr, value: ast.expr, steps: tuple[Step, ...]) -> None:
        if isinstance(target, ast.Name):
            self._sources.setdefault(target.id, []).append((value, steps))
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._bind(element, value, steps)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, steps)

    def read(self, expressions: list[ast.expr], line: int) -> Reads:
        paths: dict[tuple[str, tuple[Step, ...]], Path] = {}
        calls: dict[tuple[str, int], Call] = {}
        names: list[str] = []
        queue = list(expressions)
        while queue:
            for node in _with_parts(queue.pop(0)):
                if isinstance(node, ast.Call):
                    function = node.func
                    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                    if called:
                        calls.setdefault(
                            (called, node.lineno), Call(called, node.lineno, node.end_lineno or node.lineno)
                        )
                is_read = (
                    isinstance(node, ast.Attribute | ast.Subscript | ast.Name)
                    and (isinstance(node.ctx, ast.Load) or id(node) in self._updated)
                    and id(node) not in self._inner
                )
                found = _path(node, node.lineno) if is_read else None
                if found is None:
                    continue
                for path in self._resolved(found):
                    if path.steps or path.root not in self._given:
                        paths.setdefault((path.root, path.steps), path)
                if found.root in self._sources and found.root not in names and len(names) < MOST_NAMES:
                    names.append(found.root)
                    latest = sorted(self._sources[found.root], key=lambda source: -source[0].lineno)
                    queue += [value for value, _ in latest]
        return Reads(tuple(paths.values()), tuple(calls.values()))

    def _resolved(self, path: Path, depth: int = 4) -> Iterator[Path]:
        """Yield a path with a local variable as its root as paths of what was assigned to the variable."""
        sources = self._sources.get(path.root)
        if sources is None or self._is_module or depth == 0:
            yield path
            return
        known = False
        for value, steps in sources:
            origin = _path(_of_container(value), path.line)
            if origin is not None:
                known = True
                more = (Step("item", ""),) if _of_container(value) is not value and not steps else steps
                yield from self._resolved(Path(origin.root, (*origin.steps, *more, *path.steps), path.line), depth - 1)
        if path.root in self._given:
            yield path
        elif not known and path.steps:
            yield Path("", path.steps, path.line)


def _of_container(value: ast.expr) -> ast.expr:
    """Return the container whose element a call gives, such as `d` for `d.get(key)`, else the expression itself."""
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS:
        return value.func.value
    return value


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, tuple[Step, ...]]]:
    """Yield the targets that a statement or a part of an expression binds, with the value and the steps into it."""
    element = (Step("item", ""),)
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield target, value, ()
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            yield target, value, ()
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield target, value, ()
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, _of_container(value), element
        case ast.comprehension(target=target, iter=value):
            yield target, _of_container(value), element
        case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
            yield target, value, ()
        case _:
            return


def _path(node: ast.expr, line: int) -> Path | None:
    """Return the path that an expression names, None if it is not one."""
    steps: list[Step] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=name):
                steps.append(Step("attribute", name))
                node = value
            case ast.Subscript(value=value, slice=key):
                steps.append(Step("item", repr(key.value) if isinstance(key, ast.Constant) else ""))
                node = value
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments) if name in _VIEWS:
                item = repr(arguments[0].value) if arguments and isinstance(arguments[0], ast.Constant) else ""
                steps.append(Step("item", item))
                node = value
            case ast.Name(id=root):
                return Path(root, tuple(reversed(steps)), line)
            case _:
                return Path("", tuple(reversed(steps)), line) if steps else None


def _parameters(function: _Function) -> list[str]:
    if isinstance(function, ast.Module):
        return []
    found = function.args
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs]
    return [each.arg for each in every] + [each.arg for each in (found.vararg, found.kwarg) if each is not None]


def _is_lock(entered: ast.expr) -> bool:
    if isinstance(entered, ast.Call):
        return "lock" in str(getattr(entered.func, "attr", getattr(entered.func, "id", ""))).lower()
    return isinstance(entered, ast.Name | ast.Attribute)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions and classes in it."""
    body = function.body
    queue: list[ast.AST] = [*body] if isinstance(body, list) else [body]
    while queue:
        node = queue.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield node
        queue += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Lambda)]


def _with_parts(expression: ast.expr) -> Iterator[ast.expr]:
    queue: list[ast.AST] = [expression]
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.expr):
            yield node
        queue += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Lambda)]


def _expressions_at(function: _Function, line: int) -> list[ast.expr]:
    """Return the expressions of the innermost statement at a line, then the conditions of the statements around it, and of
    those before it that would have left the function or the loop."""
    around: list[ast.stmt] = []
    exits: list[ast.expr] = []
    body: list[ast.stmt] = function.body if isinstance(function.body, list) else []
    if not body and isinstance(function, ast.Lambda):
        return [function.body]
    while True:
        inside = next((each for each in body if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
        if inside is None or isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            break
        around.append(inside)
        left = [
            each for each in body if each.lineno < inside.lineno and isinstance(each, ast.If) and _leaves(each.body)
        ]
        exits += [each.test for each in reversed(left)]
        body = [child for child in ast.iter_child_nodes(inside) if isinstance(child, ast.stmt)]
        body += [each for handler in getattr(inside, "handlers", []) for each in handler.body]
        body += [each for case in getattr(inside, "cases", []) for each in case.body]
    found: list[ast.expr] = []
    for statement in reversed(around):
        if statement is around[-1] or not isinstance(statement, ast.Try):
            found += [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
            found += [item.context_expr for item in getattr(statement, "items", []) if isinstance(item, ast.withitem)]
    return found + exits


def _leaves(body: list[ast.stmt]) -> bool:
    """Return whether a block ends by leaving the block around it, so that what follows depends on its condition."""
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


@lru_cache(maxsize=64)
def parsed(text: str) -> Source | None:
    """Return the functions of a source text, None if it is not Python that this interpreter parses."""
    try:
        return Source(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
