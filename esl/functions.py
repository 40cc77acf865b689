"""The functions and classes of one Python file, as the index keeps them. What a file declares is `clew.records.declared`, the
same reading as in the traced process.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.records.declared import Class, Function, FunctionNode, Names, declared, dotted, parse
from clew.records.match import plain_qualname


class FunctionInfo(NamedTuple):
    module: str
    file: str
    qualname: str
    """With `<locals>`, as Python has it; `name` is what patterns match."""
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
    """As they are written, without arguments."""
    in_class: bool
    decorator_names: tuple[tuple[str, ...], ...] = ()
    """For each decorator the dotted names that it has by the file's imports."""
    class_name: str = ""
    """The innermost class around it, named as in patterns; "" for none."""
    doubt: str = ""
    """Why only the program's run tells whether this is what its name means, "" when the source does."""

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


class ClassInfo(NamedTuple):
    module: str
    file: str
    qualname: str
    """As patterns have it, without `<locals>`."""
    line: int
    end_line: int
    bases: tuple[str, ...]
    """As they are written, without brackets; "" for what is no name."""
    decorators: tuple[str, ...]
    generated: tuple[str, ...] = ()
    """Methods that `dataclass` makes, which have no source: nothing records them."""

    @property
    def label(self) -> str:
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file of a module holds. Its functions and classes share the names of module and file."""

    functions: tuple[FunctionInfo, ...] = ()
    """By line."""
    classes: tuple[ClassInfo, ...] = ()
    names: Names = field(default_factory=lambda: Names({}, {}, (), ""))
    channels: frozenset[str] = frozenset()
    """Channels that it names itself, by `clew.send("jobs", …)` or `clew.use("jobs", …)`."""
    note: str = ""
    """A sentence, when the file cannot be read as Python by this interpreter."""


def read_contents(source: bytes, path: str, module: str) -> Contents:
    """Never raises."""
    try:
        tree = parse(source, path)
    except (SyntaxError, ValueError) as error:
        reason = f"is not Python that {sys.version_info[0]}.{sys.version_info[1]} reads ({error})"
    except (RecursionError, MemoryError):
        reason = "nests too deeply to be read"
    else:
        found = declared(source, tree, module, path.endswith("__init__.py"))
        channels = frozenset(_channels(tree)) if b"clew" in source else frozenset()
        last = {function.qualname: function.node.lineno for function in found.functions}
        functions = tuple(_function(function, path, module, last[function.qualname]) for function in found.functions)
        return Contents(functions, tuple(_class(each, path, module) for each in found.classes), found.names, channels)
    return unread(path, reason)


def unread(path: str, reason: str) -> Contents:
    return Contents(note=f"{path}: {reason}; its functions are not known")


def _function(function: Function, path: str, module: str, last: int) -> FunctionInfo:
    """`last` is where its name is defined for the last time."""
    node = function.node
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    owner = function.class_name.rpartition(".")[2]
    return FunctionInfo(
        module=module,
        qualname=function.qualname,
        file=path,
        line=node.lineno,
        first_line=function.first_line,
        end_line=node.end_lineno or node.lineno,
        kind=function.kind,
        parameters=tuple(mangled(each.arg, owner) for each in parameters),
        types=tuple(type_text(each.annotation) for each in parameters),
        decorators=function.decorators,
        in_class=function.in_class,
        decorator_names=function.resolved,
        class_name=function.class_name,
        doubt=_doubt(function, last),
    )


def mangled(name: str, owner: str) -> str:
    """A parameter's or attribute's name in compiled code, which is what a spec must use."""
    owner = owner.lstrip("_")
    return f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name


def type_text(annotation: ast.expr | None) -> str:
    """As `ast.unparse` writes it, which costs a hundred times as much; "" for None."""
    match annotation:
        case None:
            return ""
        case ast.Name():
            return annotation.id
        case ast.Attribute(value=ast.Name() | ast.Attribute()):
            return f"{type_text(annotation.value)}.{annotation.attr}"
        case ast.Constant(value=None):
            return "None"
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Tuple(elts=[_, _, *_] as inside)):
            if not any(isinstance(each, ast.Starred | ast.Slice) for each in inside):
                return f"{type_text(annotation.value)}[{', '.join(map(type_text, inside))}]"
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Name() | ast.Attribute() | ast.Subscript()):
            return f"{type_text(annotation.value)}[{type_text(annotation.slice)}]"
        case ast.BinOp(op=ast.BitOr(), right=ast.Name() | ast.Attribute() | ast.Subscript() | ast.Constant(value=None)):
            if isinstance(annotation.left, ast.Name | ast.Attribute | ast.Subscript) or (
                isinstance(annotation.left, ast.BinOp) and isinstance(annotation.left.op, ast.BitOr)
            ):
                return f"{type_text(annotation.left)} | {type_text(annotation.right)}"
    return ast.unparse(annotation)


# What only the program's run tells.

_ACCESSORS = ("setter", "getter", "deleter")
_KEEPING = re.compile(
    r"(?:builtins\.(?:property|staticmethod|classmethod)"
    r"|functools\.(?:wraps|lru_cache|cache|cached_property|singledispatch|singledispatchmethod|partialmethod|total_ordering)"
    r"|contextlib\.\w+|abc\.\w+|types\.(?:coroutine|DynamicClassAttribute)|enum\.\w+|atexit\.register"
    r"|typing\.\w+|typing_extensions\.\w+|warnings\.deprecated|unittest\.(?:mock\.)?\w+(?:\.\w+)?"
    r"|pytest\.\w+(?:\.\w+)*|click\.\w+|clew\.\w+)\Z"
)
"""Decorators that call what they decorate, or leave it where it is."""


def _doubt(function: Function, last: int) -> str:
    if isinstance(function.node, ast.Lambda):
        return ""
    for written, names in zip(function.decorators, function.resolved, strict=True):
        if names and any(name.endswith(".overload") for name in names):
            return "it is an overload's declaration, which nothing calls"
        is_accessor = written.rpartition(".")[2] in _ACCESSORS
        if not is_accessor and not (names and all(map(_KEEPING.match, names))):
            return f"`@{written or '…'}` may put something else in its place"
    if function.node.lineno < last and "property" not in _kinds(function):
        return f"line {last} defines it again"
    return "it is defined only under a condition" if function.conditional else ""


def _kinds(function: Function) -> Iterator[str]:
    """`property` for a getter and whatever belongs to one."""
    for written in function.decorators:
        last = written.rpartition(".")[2]
        yield "property" if last in (*_ACCESSORS, "cached_property") else last


# Classes.

_DATACLASS = "dataclasses.dataclass"
_OPTIONAL = {"order": ("__lt__", "__le__", "__gt__", "__ge__"), "frozen": ("__setattr__", "__delattr__")}
_USUAL = {"init": ("__init__",), "repr": ("__repr__",), "eq": ("__eq__",)}


def _class(each: Class, path: str, module: str) -> ClassInfo:
    node = each.node
    bases = tuple(base.text for base in each.bases)
    generated = tuple(_generated(each))
    return ClassInfo(
        module, path, each.qualname, node.lineno, node.end_lineno or node.lineno, bases, each.decorators, generated
    )


def _generated(each: Class) -> Iterator[str]:
    """The methods that `dataclass` makes: those that are asked for and not written."""
    for decorator, names in zip(each.node.decorator_list, each.resolved, strict=True):
        if _DATACLASS not in names:
            continue
        asked: dict[str, Any] = {}
        if isinstance(decorator, ast.Call):
            asked = {
                word.arg: word.value.value
                for word in decorator.keywords
                if word.arg is not None and isinstance(word.value, ast.Constant)
            }
        written = {child.name for child in each.node.body if isinstance(child, FunctionNode) and hasattr(child, "name")}
        if asked.get("eq", True) and asked.get("frozen", False) and "__hash__" not in written:
            yield "__hash__"
        for usual, group in ((True, _USUAL), (False, _OPTIONAL)):
            for word, methods in group.items():
                if asked.get(word, usual):
                    yield from (method for method in methods if method not in written)


def _channels(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and dotted(node.func).rpartition(".")[2] in ("send", "use")
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.args[0].value
