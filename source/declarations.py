"""Parse the declarations of a Python file: its functions and classes, and the imported names of decorators and base
classes. The language's index and the traced process share this parser. Invariant: names of functions are those of
Python's compiler, and no code is executed.

Only lines with a relevant keyword are visited, with an explicit stack: an expression of a thousand terms is a tree of
depth one thousand.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.match import plain_qualname

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
UNKNOWN = ""
"""Placeholder for a binding that is not a name: a call's result, a loop variable."""

_TELLING = re.compile(rb"\b(?:def|class|lambda|yield|global|import)\b")
_TELLING_INSIDE = (b"lambda", b"yield")
"""Relevant keywords that can be inside an expression."""
_BUILTINS = frozenset(vars(builtins))


class Function(NamedTuple):
    node: FunctionNode
    qualname: str
    """Qualified name with `<locals>`, as in Python."""
    kind: str
    """One of function, coroutine, generator, async_generator or lambda."""
    in_class: bool
    """True if it is in a class's body."""
    class_name: str
    """The innermost enclosing class, also through functions, named as in patterns; "" for none."""
    decorators: tuple[str, ...]
    """Dotted names as written; "" for any other expression."""
    resolved: tuple[tuple[str, ...], ...]
    """For each decorator, its dotted names according to the file's imports; several if it was bound several times."""
    conditional: bool
    """True if it is defined only under a condition while its module or class is created."""

    @property
    def first_line(self) -> int:
        """Return the first line of the code object: that of the first decorator."""
        return min([self.node.lineno, *(each.lineno for each in _decorators_of(self.node))])


class Base(NamedTuple):
    text: str
    """As written, `Generic[T]` without the brackets; "" for expressions that are not dotted names."""
    names: tuple[str, ...]
    """Its dotted names according to the file's imports. UNKNOWN is included when it may be something else."""


class Class(NamedTuple):
    node: ast.ClassDef
    qualname: str
    """Named as in patterns, without `<locals>`."""
    bases: tuple[Base, ...]
    decorators: tuple[str, ...]
    resolved: tuple[tuple[str, ...], ...]
    conditional: bool


class Names(NamedTuple):
    """The names of a module that other modules can refer to."""

    classes: dict[str, tuple[tuple[Base, ...], ...]]
    """The bases of each class, once for each definition."""
    bound: dict[str, tuple[str, ...]]
    """Names of the module itself, and the dotted names bound to each."""
    stars: tuple[str, ...]
    """Modules whose names are all imported."""
    dynamic: str
    """The source of names that are not listed here (`__getattr__`, `exec`), or ""."""


class Declared(NamedTuple):
    functions: tuple[Function, ...]
    """Functions by line."""
    classes: tuple[Class, ...]
    names: Names


def parse(source: bytes, path: str) -> ast.Module:
    """Parse a source text. Raises what `ast.parse` raises; suppresses warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, path)


def declared(source: bytes, tree: ast.Module, module: str, is_package: bool) -> Declared:
    """Return the declarations of the file of `module`, given the result of `parse`."""
    return _Reader(source, module, is_package).read(tree)


def dotted(node: ast.expr) -> str:
    """Return `a.b` for `a.b`, `a.b(…)` and `a.b[…]`, "" for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call) and not parts:
            node = node.func
        elif isinstance(node, ast.Subscript) and not parts:
            node = node.value
        else:
            return ""


class _Scope:
    """The names of a module, a class body or a function."""

    __slots__ = ("_locals", "bound", "is_class", "node", "outer")

    def __init__(self, outer: _Scope | None = None, node: FunctionNode | None = None, is_class: bool = False) -> None:
        self.outer, self.node, self.is_class = outer, node, is_class
        self.bound: dict[str, list[str]] = {}
        self._locals: frozenset[str] | None = None

    def bind(self, name: str, meaning: str) -> None:
        known = self.bound.setdefault(name, [])
        if meaning not in known:
            known.append(meaning)

    def has(self, name: str) -> bool:
        """Tell whether it is a local name of this function, whose value only its run shows."""
        if self.node is None:
            return False
        if self._locals is None:
            self._locals = _names_bound_in(self.node)
        return name in self._locals


class _Place(NamedTuple):
    """The position of a node in the nesting of functions and classes."""

    scope: _Scope
    globals: set[str]
    """Names that the function declares as global."""
    prefix: str = ""
    """Prefix of names defined here."""
    function: _Found | None = None
    """The innermost function, to which a `yield` belongs."""
    is_class: bool = False
    class_name: str = ""
    conditional: bool = False


class _Found:
    """A function whose body is being visited."""

    __slots__ = ("has_yield", "node", "place", "qualname", "top")

    def __init__(self, node: FunctionNode, qualname: str, place: _Place, top: bool) -> None:
        self.node, self.qualname, self.place, self.top = node, qualname, place, top
        self.has_yield = False


_Children = list[tuple[ast.AST, _Place]]


class _Reader:
    def __init__(self, source: bytes, module: str, is_package: bool) -> None:
        self.module = module
        self.package = module if is_package else module.rpartition(".")[0]
        telling = list(_telling_lines(source))
        self.telling = [*(line for line, _ in telling), sys.maxsize]
        self.telling_inside = [*(line for line, word in telling if word in _TELLING_INSIDE), sys.maxsize]
        self.scope = _Scope()
        self.stars: list[str] = []
        self.functions: list[_Found] = []
        self.classes: list[tuple[ast.ClassDef, str, _Place]] = []
        self.dynamic = "exec" if b"\nexec(" in source or b"\nglobals()" in source else ""

    def read(self, tree: ast.Module) -> Declared:
        stack: list[tuple[ast.AST, _Place]] = [(tree, _Place(self.scope, set()))]
        while stack:
            node, place = stack.pop()
            kind = type(node)
            if kind is ast.Assign or kind is ast.AnnAssign:
                self._assigned(node, place)  # type: ignore[arg-type]  # it is one of the two
            if self._may_tell(node):
                handle = _HANDLERS.get(kind)
                if handle is None:
                    stack += [(child, place) for child in reversed(list(ast.iter_child_nodes(node)))]
                else:
                    stack += reversed(handle(self, node, place))
        if "__getattr__" in self.scope.bound:
            self.dynamic = "__getattr__"
        functions = sorted(map(self._function_found, self.functions), key=lambda each: each.node.lineno)
        classes = [self._class_found(*each) for each in self.classes]
        bases: dict[str, tuple[tuple[Base, ...], ...]] = {}
        for each in classes:
            bases[each.qualname] = (*bases.get(each.qualname, ()), each.bases)
        bound = {name: tuple(meanings) for name, meanings in self.scope.bound.items()}
        names = Names(bases, bound, tuple(self.stars), self.dynamic)
        return Declared(tuple(functions), tuple(classes), names)

    def _may_tell(self, node: ast.AST) -> bool:
        """Tell whether a node contains a relevant line. A node without lines, or with more than it reports, may contain
        any."""
        if isinstance(node, ast.expr):
            return self._tells_inside(node.lineno, node.end_lineno or node.lineno)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):  # decorators are above it
            return self.telling[bisect_left(self.telling, node.lineno)] <= (node.end_lineno or node.lineno)
        return True

    def _tells_inside(self, first: int, last: int) -> bool:
        return self.telling_inside[bisect_left(self.telling_inside, first)] <= last

    # One handler per relevant kind of node: it records declarations and returns the children, each with its position.

    def function(self, node: FunctionNode, place: _Place) -> _Children:
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        top = name in place.globals
        qualname = name if top else place.prefix + name
        found = _Found(node, qualname, place, top)
        self.functions.append(found)
        inner = _Place(_Scope(place.scope, node), set(), qualname + ".<locals>.", found, False, place.class_name)
        if isinstance(node, ast.Lambda):
            return [(node.args, place), (node.body, inner)]
        self._bind(node.name, self._own(qualname), place)
        body: _Children = [(child, inner) for child in node.body]
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        if not self._tells_inside(first, node.body[0].lineno):
            return body
        outside = [node.args, *node.decorator_list, *([node.returns] if node.returns else [])]
        return [*((child, place) for child in outside), *body]

    def class_(self, node: ast.ClassDef, place: _Place) -> _Children:
        qualname = node.name if node.name in place.globals else place.prefix + node.name
        self._bind(node.name, self._own(qualname), place)
        plain = plain_qualname(qualname)
        self.classes.append((node, plain, place))
        scope = _Scope(place.scope, is_class=True)
        inner = _Place(scope, set(), qualname + ".", place.function, True, plain, place.conditional)
        outside = [*node.decorator_list, *node.bases, *node.keywords]
        return [*((child, place) for child in outside), *((child, inner) for child in node.body)]

    def comprehended(
        self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp, place: _Place
    ) -> _Children:
        name = _comprehension(node)
        inner = place._replace(prefix=f"{place.prefix}{name}.", is_class=False, globals=set()) if name else place
        outermost = node.generators[0].iter
        inside = [child for each in node.generators for child in ast.iter_child_nodes(each) if child is not outermost]
        inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.comprehension)]
        return [(outermost, place), *((child, inner) for child in inside)]

    def global_(self, node: ast.Global, place: _Place) -> _Children:
        place.globals.update(node.names)
        return []

    def yielded(self, node: ast.Yield | ast.YieldFrom, place: _Place) -> _Children:
        if place.function is not None:
            place.function.has_yield = True
        return [(child, place) for child in ast.iter_child_nodes(node)]

    def imported(self, node: ast.Import, place: _Place) -> _Children:
        for alias in node.names:
            if alias.asname:
                self._bind(alias.asname, alias.name, place)
            else:
                top = alias.name.partition(".")[0]
                self._bind(top, top, place)
        return []

    def imported_from(self, node: ast.ImportFrom, place: _Place) -> _Children:
        package = self.package.split(".") if self.package else []
        if node.level:
            package = package[: len(package) - node.level + 1]
        source = ".".join([*(package if node.level else []), *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(source)
            else:
                self._bind(alias.asname or alias.name, f"{source}.{alias.name}", place)
        return []

    def conditional(
        self, node: ast.If | ast.For | ast.While | ast.Match | ast.ExceptHandler, place: _Place
    ) -> _Children:
        inner = place if place.function is not None else place._replace(conditional=True)
        return [(child, inner) for child in ast.iter_child_nodes(node)]

    def _assigned(self, node: ast.Assign | ast.AnnAssign, place: _Place) -> None:
        """Record names of modules and classes that are rebound, or aliases of classes."""
        if place.scope.node is not None or node.value is None or isinstance(node.value, ast.Constant):
            return
        value = node.value if isinstance(node.value, ast.Name | ast.Attribute) else None
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                meanings = self._names(dotted(value), place.scope) if value is not None else (UNKNOWN,)
                for meaning in meanings or (UNKNOWN,):
                    place.scope.bind(target.id, meaning)

    # Names.

    def _own(self, qualname: str) -> str:
        return f"{self.module}.{plain_qualname(qualname)}"

    def _bind(self, name: str, meaning: str, place: _Place) -> None:
        (self.scope if name in place.globals else place.scope).bind(name, meaning)

    def _names(self, written: str, scope: _Scope) -> tuple[str, ...]:
        """Return the dotted names of a name at its use; empty for names that only a function's run shows."""
        if not written:
            return ()
        head, dot, rest = written.partition(".")
        here: _Scope | None = scope
        while here is not None:
            if head in here.bound and (here is scope or not here.is_class):
                meanings = here.bound[head]
                break
            if here.has(head):
                return ()
            here = here.outer
        else:
            meanings = [f"builtins.{head}" if head in _BUILTINS and not self.stars else f"{self.module}.{head}"]
        return tuple(f"{meaning}{dot}{rest}" if meaning else UNKNOWN for meaning in meanings)

    def _function_found(self, found: _Found) -> Function:
        node, place = found.node, found.place
        if isinstance(node, ast.AsyncFunctionDef):
            kind = "async_generator" if found.has_yield else "coroutine"
        elif found.has_yield:
            kind = "generator"
        else:
            kind = "lambda" if isinstance(node, ast.Lambda) else "function"
        decorators = _decorators_of(node)
        written = tuple(map(dotted, decorators)) if decorators else ()
        resolved = tuple(self._resolved(name, place.scope) for name in written)
        return Function(
            node, found.qualname, kind, place.is_class and not found.top, place.class_name, written, resolved,
            place.conditional,
        )  # fmt: skip

    def _class_found(self, node: ast.ClassDef, qualname: str, place: _Place) -> Class:
        bases = []
        for base in node.bases:
            text = dotted(base)
            names = self._names(text, place.scope)
            if isinstance(base, ast.Call):  # the called object is not a base, its result is
                names = ("builtins.tuple",) if names == ("collections.namedtuple",) else ()
                text = f"{text}(…)" if text else ""
            bases.append(Base(text, names or (UNKNOWN,)))
        written = tuple(map(dotted, node.decorator_list))
        resolved = tuple(self._resolved(name, place.scope) for name in written)
        return Class(node, qualname, tuple(bases), written, resolved, place.conditional)

    def _resolved(self, written: str, scope: _Scope) -> tuple[str, ...]:
        return tuple(name for name in self._names(written, scope) if name != UNKNOWN)


_HANDLERS: dict[type[ast.AST], Callable[[_Reader, Any, _Place], _Children]] = {
    ast.FunctionDef: _Reader.function,
    ast.AsyncFunctionDef: _Reader.function,
    ast.Lambda: _Reader.function,
    ast.ClassDef: _Reader.class_,
    ast.GeneratorExp: _Reader.comprehended,
    ast.ListComp: _Reader.comprehended,
    ast.SetComp: _Reader.comprehended,
    ast.DictComp: _Reader.comprehended,
    ast.Global: _Reader.global_,
    ast.Yield: _Reader.yielded,
    ast.YieldFrom: _Reader.yielded,
    ast.Import: _Reader.imported,
    ast.ImportFrom: _Reader.imported_from,
    ast.If: _Reader.conditional,
    ast.For: _Reader.conditional,
    ast.While: _Reader.conditional,
    ast.Match: _Reader.conditional,
    ast.ExceptHandler: _Reader.conditional,
}


def _telling_lines(source: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield lines with a relevant keyword, and the keyword."""
    if b"\r" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line, place = 1, 0
    for found in _TELLING.finditer(source):
        line += source.count(b"\n", place, found.start())
        place = found.start()
        yield line, found.group()


def _decorators_of(node: FunctionNode) -> list[ast.expr]:
    return [] if isinstance(node, ast.Lambda) else node.decorator_list


def _names_bound_in(function: FunctionNode) -> frozenset[str]:
    """Return the parameters and the names assigned in its own statements."""
    arguments = function.args
    found = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    found |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
    stack: list[ast.AST] = [] if isinstance(function, ast.Lambda) else list(function.body)
    outside: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside.update(node.names)
        if not isinstance(node, FunctionNode | ast.ClassDef):
            stack += ast.iter_child_nodes(node)
    return frozenset(found - outside)


def _comprehension(node: ast.AST) -> str:
    """Return the name of the function that Python creates for a comprehension; from 3.12 on most are inlined."""
    if isinstance(node, ast.GeneratorExp):
        return "<genexpr>"
    if sys.version_info < (3, 12):
        name = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}[type(node)]
    else:
        name = ""
    return name
