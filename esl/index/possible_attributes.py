"""Find an upper bound of the attributes of a class's objects in the workspace's source: any other name is a mistake.

Invariant: a name is missing only if every possible source of it is known. The class, its bases and its subclasses here
are read, none of them creates names at run time, and no line of the workspace stores an attribute of that name.
"""

from __future__ import annotations

import ast
import re
from abc import ABC
from collections.abc import Iterator
from typing import Generic, Protocol, cast

from clew.esl.index.attributes import ClassName, class_node
from clew.esl.index.deadline import Deadline
from clew.esl.index.declarations import ClassInfo, mangled
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex
from clew.source.declarations import FunctionNode, dotted

Names = frozenset[str]
Line = tuple[ClassName | type, ...]
"""A class and all its bases, in any order."""
_MOST = 200
"""Maximum number of classes read; a base with more subclasses is not judged."""
_KEEPING = frozenset(("dataclass", "total_ordering", "final", "runtime_checkable"))
"""Class decorators that add only visible attributes to objects."""
_BARE = (ABC, Generic, Protocol)
"""Standard library classes whose objects have only the attributes of their classes, like builtin ones."""
_MAKING = frozenset(("exec", "locals"))
_READING = frozenset(("items", "keys", "values", "get", "copy"))
"""Methods of an object's dict that add no attribute."""
_TUPLE = frozenset(("_asdict", "_replace", "_make", "_fields", "_field_defaults"))
_SETTING = re.compile(rb"\bsetattr\(\s*[\w.\[\]]+\s*,\s*(?![\"'\s])")
"""`setattr` of a name that is known only at run time."""
_STORED = re.compile(
    rb"\.([^\W\d]\w*)[ \t]*(?:(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)|[:,][^=\n]*=(?!=)|\)[ \t]*=(?!=)| in\b|:$)"
    rb"|(?:setattr|__setattr__)\([^,\n]*,\s*[\"']([^\W\d]\w*)[\"']|\bas[ \t]+[\w.]*\.([^\W\d]\w*)",
    re.MULTILINE,
)
"""An attribute that a line stores, or may store; false positives are acceptable."""


def lacks(index: SourceIndex, name: ClassName, attribute: str, deadline: Deadline) -> bool:
    """Tell whether objects of a class certainly lack an attribute. Raises `NotNow` between files if the answer needs
    the whole workspace; files read so far stay cached."""
    if _may_have(index, name, attribute):
        return False
    return not any(_may_have(index, each, attribute) for each in _descendants(index, name, deadline)) and (
        attribute not in _stored(index, deadline)
    )


def names_of(index: SourceIndex, name: ClassName) -> list[str]:
    """Return the attributes of a class's objects, without those of `object`, sorted."""
    found: set[str] = set()
    for each in _line(index, name) or ():
        found.update(_written(index, *each) or () if isinstance(each, tuple) else dir(each))
    return sorted(each for each in found if not (each.startswith("__") and each.endswith("__")))


def _may_have(index: SourceIndex, name: ClassName, attribute: str) -> bool:
    line = _line(index, name)
    if line is None or (attribute.startswith("__") and attribute.endswith("__")):
        return True
    for each in line:
        given = _written(index, *each) if isinstance(each, tuple) else dir(each)
        if given is None or attribute in given:
            return True
    return False


def _line(index: SourceIndex, name: ClassName) -> Line | None:
    """Return the class and its bases, or None if one of them is unknown."""
    return index.answer(("line of", name), lambda: _lined_up(index, name), shape=False, classes=True)


def _lined_up(index: SourceIndex, name: ClassName) -> Line | None:
    found: dict[ClassName | type, None] = {name: None}
    left: list[ClassName] = [name]
    while left:
        bases = index.ancestry.bases(*left.pop())
        if bases is None or len(found) > _MOST:
            return None
        for each in bases:
            if isinstance(each, type):
                if each.__module__ != "builtins" and each not in _BARE:
                    return None
            elif each not in found:
                left.append(each)
            found[each] = None
    return tuple(found)


def _descendants(index: SourceIndex, name: ClassName, deadline: Deadline) -> tuple[ClassName, ...]:
    asked: list[SourceFile] = []

    def below(file: SourceFile) -> tuple[ClassName, ...]:
        asked.append(file)
        return tuple((each.module, each.qualname) for each in index.classes(file) if _is_below(index, each, name))

    def find() -> tuple[ClassName, ...]:
        found: list[ClassName] = []
        deadline.read(index, index.files)
        for file in index.files:
            for some in index.answer_by_file(("below", name), (file,), below, classes=True):
                found += some
            if asked and asked[-1] is file:
                deadline.check()
        return tuple(found)

    return index.answer(("descendants", name), find, shape=False, classes=True)


def _is_below(index: SourceIndex, each: ClassInfo, name: ClassName) -> bool:
    return bool(each.bases) and index.ancestry.descends(each.module, each.qualname, (":".join(name),)).holds


class _Stored:
    """Attributes stored anywhere in the workspace. Only changed files are read again."""

    def __init__(self) -> None:
        self.by_path: dict[str, tuple[SourceFile, Names]] = {}
        self.files: tuple[SourceFile, ...] = ()

    def __contains__(self, name: str) -> bool:
        return any(name in names for _, names in self.by_path.values())


def _stored(index: SourceIndex, deadline: Deadline) -> _Stored:
    known: _Stored = index.answer("stored attributes", _Stored, shape=False, lasting=True)
    if known.files is index.files:
        return known
    for file in index.files:
        before = known.by_path.get(file.path)
        if before is None or before[0] != file:
            found = _STORED.findall(index.source(file))
            # A class's private names are stored under mangled names, which only the class's own source shows.
            stored = (name for each in found for name in each if name and not name.startswith(b"__"))
            names = frozenset(name.decode("utf-8", "replace") for name in stored)
            known.by_path[file.path] = file, names
            deadline.check()
    here = {file.path for file in index.files}
    for path in known.by_path.keys() - here:
        del known.by_path[path]
    known.files = index.files
    return known


# Attributes of the class itself.


def _written(index: SourceIndex, module: str, qualname: str) -> Names | None:
    """Return the attributes that a class itself gives its objects; None if only its run shows them."""
    file = index.file_of(module)
    if file is None:
        return None
    return index.answer(
        ("written", file.path, qualname), lambda: _read(index, file, qualname), (file.path,), shape=False
    )


def _read(index: SourceIndex, file: SourceFile, qualname: str) -> Names | None:
    found = [each for each in index.classes(file) if each.qualname == qualname]
    source = index.source(file)
    node = class_node(source, found[0]) if len(found) == 1 else None
    if node is None or _SETTING.search(source) or _is_made(node):
        return None
    if not all(each.rpartition(".")[2] in _KEEPING for each in found[0].decorators):
        return None
    names = {mangled(name, node.name) for name in _given(node)}
    return frozenset(names | _TUPLE) if "NamedTuple" in map(_last, node.bases) else frozenset(names)


def _last(node: ast.expr) -> str:
    return dotted(node).rpartition(".")[2]


def _is_made(node: ast.ClassDef) -> bool:
    """Tell whether the class creates names at run time."""
    if any(each.arg is None or (each.arg == "metaclass" and _last(each.value) != "ABCMeta") for each in node.keywords):
        return True
    for each in ast.walk(node):
        if isinstance(each, FunctionNode) and getattr(each, "name", "") in ("__getattr__", "__getattribute__"):
            return True
        if _is_dict_filled(each):
            return True
        if isinstance(each, ast.Name) and each.id in _MAKING:
            return True
        if isinstance(each, ast.ImportFrom) and any(alias.name == "*" for alias in each.names):
            return True
    return False


def _is_dict_filled(node: ast.AST) -> bool:
    """Tell whether this may add an entry to an object's dict. A function that receives the whole dict as an argument is
    assumed to read it."""
    match node:
        case ast.Attribute(value=inside, attr=attr):
            return _is_dict(inside) and attr not in _READING
        case ast.Subscript(value=inside, ctx=ast.Store()):
            return _is_dict(inside)
        case ast.Assign(value=inside) | ast.AnnAssign(value=inside) | ast.NamedExpr(value=inside):
            return _is_dict(inside)
    return False


def _is_dict(node: ast.expr | None) -> bool:
    match node:
        case ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")):
            return True
    return False


def _given(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr
        elif isinstance(each, ast.Call) and _last(each.func) in ("setattr", "__setattr__"):
            yield from filter(None, map(_text_of, each.args))
    left: list[ast.AST] = list(node.body)
    while left:
        each = left.pop()
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield each.name
            continue
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in each.names)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.MatchAs | ast.MatchStar) and each.name:
            yield each.name
        elif text := _text_of(each):
            yield text  # for example of `__slots__`
        left += ast.iter_child_nodes(each)


def _text_of(node: ast.AST) -> str:
    """Return a string that may be a name."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
    return cast(str, cast(ast.Constant, node).value) if is_text else ""
