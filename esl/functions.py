"""The functions of one Python file, read from its syntax tree. Invariant: names are those that Python's compiler gives."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.records.match import plain_qualname

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    module: str
    qualname: str
    """With `<locals>`, as Python has it; `name` is what patterns match."""
    file: str
    line: int
    """Of `def`; lines count from 1."""
    first_line: int
    """Of the first decorator, which is where Python says that the function begins."""
    end_line: int
    kind: str
    """function, coroutine, generator, async_generator or lambda."""
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    """The parameters' annotations as `ast.unparse` writes them, "" for none."""
    decorators: tuple[str, ...]
    in_class: bool

    @property
    def name(self) -> str:
        return plain_qualname(self.qualname)

    @property
    def label(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def this(self) -> str:
        """The parameter that `this` means, "" when the function is no method."""
        return self.parameters[0] if self.in_class and self.parameters and "staticmethod" not in self.decorators else ""

    @property
    def is_property(self) -> bool:
        return any(name.rpartition(".")[2] in ("property", "cached_property") for name in self.decorators)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file of a module holds."""

    functions: tuple[FunctionInfo, ...] = ()
    """By line."""
    channels: frozenset[str] = frozenset()
    """Channels that it names itself, by `clew.send("jobs", …)` or `clew.use("jobs", …)`."""
    note: str = ""
    """A sentence, when the file cannot be read as Python by this interpreter."""


def read_functions(path: str, module: str) -> Contents:
    """Never raises."""
    try:
        source = Path(path).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, path)
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    except (SyntaxError, ValueError) as error:
        reason = f"is not Python that {sys.version_info[0]}.{sys.version_info[1]} reads ({error})"
    except (RecursionError, MemoryError):
        reason = "nests too deeply to be read"
    else:
        channels = frozenset(_channels(tree)) if b"clew" in source else frozenset()
        return Contents(tuple(_functions(source, tree, path, module)), channels)
    return Contents(note=f"{path}: {reason}; its functions are not known")


@dataclass
class _Place:
    """Where in the nesting of functions and classes a node stands."""

    prefix: str = ""
    """What names defined here begin with."""
    function: _Function | None = None
    """The innermost function, to which a `yield` belongs."""
    is_class: bool = False
    owner: str = ""
    """The innermost class around, whose name Python puts into names that begin with two underscores."""
    globals: set[str] = field(default_factory=set)


@dataclass
class _Function:
    node: FunctionNode
    qualname: str
    in_class: bool
    owner: str
    has_yield: bool = False


_TELLING = re.compile(rb"\b(?:def|lambda|yield|global)\b")


def _functions(source: bytes, tree: ast.Module, path: str, module: str) -> list[FunctionInfo]:
    """The functions of a file by line. Descends only to lines with a word that can matter, with a stack of its own: an
    expression of a thousand terms is a tree a thousand deep."""
    telling = [number for number, line in enumerate(source.splitlines(), 1) if _TELLING.search(line)]
    telling.append(sys.maxsize)
    found: list[_Function] = []
    stack: list[tuple[ast.AST, _Place]] = [(tree, _Place())]
    while stack:
        node, place = stack.pop()
        if _may_tell(node, telling):
            handle = _HANDLERS.get(type(node))
            if handle is None:
                stack += [(child, place) for child in reversed(list(ast.iter_child_nodes(node)))]
            else:
                stack += reversed(handle(node, place, found))
    return sorted((_describe(function, path, module) for function in found), key=lambda each: each.line)


def _may_tell(node: ast.AST, telling: list[int]) -> bool:
    """Is there a telling line among those of a node? One that has no lines, or more than it says, may have any."""
    if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, ast.ClassDef):  # whose decorators stand above it
        return telling[bisect_left(telling, node.lineno)] <= (node.end_lineno or node.lineno)
    return True


# What each kind of node that matters does: it notes what it is, and gives its children, each with the place it is in.

_Children = list[tuple[ast.AST, _Place]]


def _function(node: FunctionNode, place: _Place, found: list[_Function]) -> _Children:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    outermost = name in place.globals
    qualname = name if outermost else place.prefix + name
    function = _Function(node, qualname, place.is_class and not outermost, place.owner)
    found.append(function)
    inner = _Place(qualname + ".<locals>.", function, owner=place.owner)
    if isinstance(node, ast.Lambda):
        return [(node.args, place), (node.body, inner)]
    outside = [node.args, *node.decorator_list, *([node.returns] if node.returns else [])]
    return [*((child, place) for child in outside), *((child, inner) for child in node.body)]


def _class(node: ast.ClassDef, place: _Place, found: list[_Function]) -> _Children:
    qualname = node.name if node.name in place.globals else place.prefix + node.name
    inner = _Place(qualname + ".", place.function, is_class=True, owner=node.name)
    outside = [*node.decorator_list, *node.bases, *node.keywords]
    return [*((child, place) for child in outside), *((child, inner) for child in node.body)]


def _comprehended(
    node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp, place: _Place, found: list[_Function]
) -> _Children:
    name = _comprehension(node)
    inner = _Place(f"{place.prefix}{name}.", place.function, owner=place.owner) if name else place
    outermost = node.generators[0].iter
    inside = [child for each in node.generators for child in ast.iter_child_nodes(each) if child is not outermost]
    inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.comprehension)]
    return [(outermost, place), *((child, inner) for child in inside)]


def _global(node: ast.Global, place: _Place, found: list[_Function]) -> _Children:
    place.globals.update(node.names)
    return []


def _yield(node: ast.Yield | ast.YieldFrom, place: _Place, found: list[_Function]) -> _Children:
    if place.function is not None:
        place.function.has_yield = True
    return [(child, place) for child in ast.iter_child_nodes(node)]


_HANDLERS: dict[type[ast.AST], Callable[[Any, _Place, list[_Function]], _Children]] = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Lambda: _function,
    ast.ClassDef: _class,
    ast.GeneratorExp: _comprehended,
    ast.ListComp: _comprehended,
    ast.SetComp: _comprehended,
    ast.DictComp: _comprehended,
    ast.Global: _global,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}


def _comprehension(node: ast.AST) -> str:
    """The name of the function that Python makes of a comprehension; from 3.12 on most are part of their function."""
    if isinstance(node, ast.GeneratorExp):
        return "<genexpr>"
    if sys.version_info >= (3, 12):
        return ""
    return {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}[type(node)]


def _describe(function: _Function, path: str, module: str) -> FunctionInfo:
    node = function.node
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    if isinstance(node, ast.AsyncFunctionDef):
        kind = "async_generator" if function.has_yield else "coroutine"
    elif function.has_yield:
        kind = "generator"
    else:
        kind = "lambda" if isinstance(node, ast.Lambda) else "function"
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return FunctionInfo(
        module=module,
        qualname=function.qualname,
        file=path,
        line=node.lineno,
        first_line=min([node.lineno, *(each.lineno for each in decorators)]),
        end_line=node.end_lineno or node.lineno,
        kind=kind,
        parameters=tuple(_mangled(each.arg, function.owner) for each in parameters),
        types=tuple(_type(each.annotation) for each in parameters),
        decorators=tuple(_dotted(each) for each in decorators),
        in_class=function.in_class,
    )


def _mangled(name: str, owner: str) -> str:
    """The parameter's name in compiled code, which is what a spec must use."""
    owner = owner.lstrip("_")
    return f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name


def _type(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Name):
        return annotation.id  # the common case; unparsing costs a hundred times as much
    return ast.unparse(annotation) if annotation is not None else ""


def _dotted(node: ast.expr) -> str:
    """`a.b` of a decorator `@a.b` or `@a.b(…)`, "" of anything else."""
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _channels(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and _dotted(node.func).rpartition(".")[2] in ("send", "use")
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.args[0].value
