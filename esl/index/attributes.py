"""Find the attributes of a class's objects in its source: assigned attributes, fields, slots and properties, also those
of base classes.

Invariant: only the class's own lines of a file are parsed, and nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.esl.index.declarations import ClassInfo, mangled, type_text
from clew.esl.index.index import SourceIndex
from clew.source.declarations import dotted, parse

ClassName = tuple[str, str]
"""Module and qualified name, as in patterns."""
_MOST_BASES = 50
_TYPE = re.compile(r"(?:(?:typing\.)?Optional\[)?['\"]?(?P<name>[^\W\d][\w.]*)['\"]?\]?(?:\s*\|\s*None)?")


class Attribute(NamedTuple):
    name: str
    type: str = ""
    """Annotation of the attribute, or of the parameter that it is assigned from."""
    is_property: bool = False
    """True if code computes the attribute."""
    owner: str = ""
    """Label of the base class that declares it; "" for the class itself."""


def attributes_of(index: SourceIndex, name: ClassName) -> dict[str, Attribute]:
    """Return the attributes by name, those of the class itself first; empty if its source is not in the workspace."""
    found: dict[str, Attribute] = {}
    left, seen = [name], {name}
    while left and len(seen) < _MOST_BASES:
        module, qualname = left.pop(0)
        for attribute in _own(index, module, qualname):
            if attribute.name not in found:
                owner = "" if (module, qualname) == name else f"{module}:{qualname}"
                found[attribute.name] = attribute._replace(owner=owner)
        parents = [each for each in index.ancestry.parents(module, qualname) if each not in seen]
        left += parents
        seen.update(parents)
    return found


def class_of_type(index: SourceIndex, text: str, module: str) -> ClassName | None:
    """Return the class that an annotation in a module names, such as `Message` or `wire.Message | None`; None for
    anything else."""
    match = _TYPE.fullmatch(text)
    return index.ancestry.class_named(match["name"], module) if match else None


def _own(index: SourceIndex, module: str, qualname: str) -> tuple[Attribute, ...]:
    file = index.file_of(module)
    if file is None:
        return ()
    info = next((each for each in index.classes(file) if each.qualname == qualname), None)
    if info is None:
        return ()
    return index.answer(
        ("attributes", file.path, qualname), lambda: _read(index.source(file), info), (file.path,), shape=False
    )


def class_node(source: bytes, info: ClassInfo) -> ast.ClassDef | None:
    """Parse only the lines of a class in a source text; return None if these are not valid Python."""
    lines = source.splitlines(keepends=True)[info.line - 1 : info.end_line]
    lead = b"if 1:\n" if lines and lines[0][:1].isspace() else b""
    try:
        tree = parse(lead + b"".join(lines), info.file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return next((each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)), None)


def _read(source: bytes, info: ClassInfo) -> tuple[Attribute, ...]:
    node = class_node(source, info)
    found: dict[str, Attribute] = {}
    for attribute in _declared(node) if node is not None else ():
        known = found.get(attribute.name)
        if known is None or (attribute.type and not known.type):
            found[attribute.name] = attribute
    return tuple(each for each in found.values() if not (each.name.startswith("__") and each.name.endswith("__")))


def _declared(node: ast.ClassDef) -> Iterator[Attribute]:
    stack: list[ast.stmt] = list(reversed(node.body))
    while stack:
        statement = stack.pop()
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _of_method(statement, node.name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield Attribute(mangled(name, node.name), type_text(statement.annotation))
            case ast.Assign():
                for target in statement.targets:
                    yield from _assigned(target, statement.value, node.name)
            case ast.If() | ast.Try() | ast.With():
                stack += [
                    each for each in reversed(list(ast.iter_child_nodes(statement))) if isinstance(each, ast.stmt)
                ]


def _assigned(target: ast.expr, value: ast.expr, owner: str) -> Iterator[Attribute]:
    """Yield attributes assigned in the class body."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(part, value, owner)
    elif isinstance(target, ast.Name) and target.id == "__slots__":
        names = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [value])
        for each in names:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield Attribute(mangled(each.value, owner))
    elif isinstance(target, ast.Name):
        yield Attribute(mangled(target.id, owner))


def _of_method(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> Iterator[Attribute]:
    decorators = [dotted(each).rpartition(".")[2] for each in node.decorator_list]
    if "property" in decorators or "cached_property" in decorators:
        yield Attribute(mangled(node.name, owner), type_text(node.returns), is_property=True)
    parameters = [*node.args.posonlyargs, *node.args.args]
    if "staticmethod" in decorators or not parameters:
        return
    this = parameters[0].arg
    types = {each.arg: type_text(each.annotation) for each in (*parameters, *node.args.kwonlyargs)}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign | ast.AnnAssign):
            annotation_text = type_text(each.annotation) if isinstance(each, ast.AnnAssign) else ""
            value = types.get(each.value.id, "") if isinstance(each.value, ast.Name) else ""
            for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
                if isinstance(target, ast.Attribute) and _is_name(target.value, this):
                    yield Attribute(mangled(target.attr, owner), annotation_text or value)
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and _is_name(each.value, this):
            yield Attribute(mangled(each.attr, owner))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
