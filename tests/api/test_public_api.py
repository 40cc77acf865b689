"""The public names of `clew` and the classes that they lead to, with signatures and first lines: tests/golden/api/public.txt.

`CLEW_UPDATE_GOLDEN=1 pytest tests/api/test_public_api.py` rewrites the file; read the difference before you commit it, and
record a change that breaks users' programs in CHANGELOG.md.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import clew
from tests.support.golden import compare

GOLDEN = Path(__file__).parents[1] / "golden" / "api" / "public.txt"


def test_public_api_equals_the_golden_file():
    compare(GOLDEN, "\n".join(described()))


def described() -> Iterator[str]:
    """Yield each public name of `clew`, then each class that public signatures lead to, ordered by module and name."""
    classes: set[type] = set()
    for name in sorted(clew.__all__):
        value = getattr(clew, name)
        if isinstance(value, type):
            yield f"clew.{name}: class {path_of(value)}\n"
            classes.add(value)
        else:
            yield f"clew.{name}{signature(value)}\n    {first_line(value)}\n"
            classes.update(classes_in(value))
    pending, seen = list(classes), set()
    while pending:
        made = pending.pop()
        if made not in seen:
            seen.add(made)
            pending += [base for base in made.__bases__ if is_ours(base)]
            for _, member in members(made):
                pending += classes_in(function_of(member))
    for made in sorted(seen, key=path_of):
        yield describe(made)


def describe(made: type) -> str:
    bases = ", ".join(base.__name__ for base in made.__bases__ if base is not object)
    lines = [f"class {path_of(made)}({bases})", *([f"    {line}"] if (line := first_line(made)) else [])]
    lines += [f"    {name}: {annotation}" for name, annotation in own_fields(made)]
    for name, member in members(made):
        if isinstance(member, property | functools.cached_property):
            returned = inspect.signature(function_of(member)).return_annotation
            lines.append(f"    {name} -> {returned}")
        else:
            kind = {staticmethod: "static ", classmethod: "class "}.get(type(member), "")
            lines.append(f"    {kind}{name}{signature(function_of(member))}")
        if line := first_line(function_of(member)):
            lines.append(f"        {line}")
    return "\n".join(lines) + "\n"


def members(made: type) -> list[tuple[str, object]]:
    """List the methods and properties that a class itself defines for its users, in alphabetical order."""
    return sorted(
        (name, member)
        for name, member in vars(made).items()
        if not name.startswith("_") and inspect.isfunction(function_of(member))
    )


def function_of(member: object) -> object:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return (
        inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else getattr(member, "__func__", None)
    )


def own_fields(made: type) -> list[tuple[str, str]]:
    return [
        (name, str(text)) for name, text in vars(made).get("__annotations__", {}).items() if not name.startswith("_")
    ]


class Plain:
    """Text that a signature shows without quotes: an annotation, or the name of a function that is a default."""

    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if isinstance(self.text, str) else inspect.formatannotation(self.text)


def signature(function: object) -> str:
    found = inspect.signature(function)
    given = [
        each.replace(
            annotation=each.empty if each.annotation is each.empty else Plain(each.annotation),
            default=Plain(each.default.__name__) if inspect.isfunction(each.default) else each.default,
        )
        for each in found.parameters.values()
    ]
    returned = found.return_annotation
    text = str(found.replace(parameters=given, return_annotation=inspect.Signature.empty))
    return text if returned is found.empty else f"{text} -> {Plain(returned)!r}"


def first_line(value: object) -> str:
    """Return the first line of an object's own docstring; empty where a dataclass made one from its fields."""
    line = (value.__doc__ or "").strip().split("\n")[0]
    return "" if isinstance(value, type) and line.startswith(f"{value.__name__}(") else line


def classes_in(function: object) -> list[type]:
    """List the classes of clew that a function's return annotation names."""
    returned = getattr(function, "__annotations__", {}).get("return", "")
    text = returned if isinstance(returned, str) else inspect.formatannotation(returned)
    found = [resolved(name, function.__module__) for name in re.findall(r"[A-Za-z_]\w*", text)]
    return [made for made in found if isinstance(made, type) and is_ours(made)]


def resolved(name: str, module: str) -> object:
    """Return what a name means in a module, also where it is imported for type checkers only."""
    loaded = sys.modules[module]
    if hasattr(loaded, name):
        return getattr(loaded, name)
    origin = imports_of(module).get(name)
    return getattr(importlib.import_module(origin), name, None) if origin else None


@functools.cache
def imports_of(module: str) -> dict[str, str]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("clew.")
        for alias in node.names
    }


def is_ours(made: type) -> bool:
    return made.__module__.partition(".")[0] == "clew" and not made.__name__.startswith("_")


def path_of(made: type) -> str:
    return f"{made.__module__}.{made.__qualname__}"
