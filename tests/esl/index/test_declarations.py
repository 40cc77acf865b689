"""The declared functions of a file have the names that Python gives them. The oracle is the code objects of the compiler."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from clew.esl import SourceIndex
from clew.esl.index.declarations import FunctionInfo, type_text

TRICKY = '''
import functools
"""One of everything that has a name of its own."""

top = lambda a, *b, c=(lambda: 1), **d: [lambda: x for x in b]

def plain(a, b=1, /, c=2, *args, d, e=3, **rest): pass

async def coroutine(x): await x

def generator():
    yield 1

async def async_generator():
    yield 1

def delegating():
    yield from ()

def not_a_generator():
    def inner():
        yield 1
    return (x for x in inner())

lambda_generator = lambda: (yield)

def outer():
    global escaped, Escaped
    def escaped():
        def deep(): pass
    class Escaped:
        def method(self): pass
    class Local:
        @property
        def value(self): return 1
        @staticmethod
        def static(a): pass
        def method(self):
            return {k: (lambda: v) for k, v in {}.items()}, {(lambda: s) for s in ""}, list((lambda: g) for g in "")
    return Local

class Outer:
    attribute = lambda self: 1
    class Inner:
        async def method(this): pass
        @functools.lru_cache(maxsize=None)
        def cached(self): pass
    if True:
        def conditional(self): pass
        try:
            def tried(self): pass
        except Exception:
            def excepted(self): pass
    def __private(self): pass

for _ in ():
    def in_loop(): pass
with open("x") as f:
    def in_with(): pass
match 1:
    case 1:
        def in_match(): pass

@functools.wraps(lambda: 0)
def decorated(default=lambda: 2) -> (lambda: 3): pass

@(lambda f: f)
class Decorated(metaclass=(lambda *a: type(*a))): pass

@(lambda c: c)
class Plain:
    attribute = 1

class __Mangled:
    def method(self, __secret, __dunder__, *__rest, _one):
        def inner(__deep): return lambda __deeper: 1
class __:
    def method(self, __secret): pass
'''
GENERIC = """
def generic[T](x: T) -> T:
    def inner(): pass
class Generic[T]:
    def method(self, x: T): return lambda: x
"""


def compiled(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of functions, without comprehensions and class bodies."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            is_function = constant.co_flags & inspect.CO_NEWLOCALS and constant.co_flags & inspect.CO_OPTIMIZED
            if is_function and (not constant.co_name.startswith("<") or constant.co_name == "<lambda>"):
                yield constant
            yield from compiled(constant)


def kind_of(code: CodeType) -> str:
    flags = code.co_flags
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "async_generator"
    if flags & inspect.CO_COROUTINE:
        return "coroutine"
    if flags & inspect.CO_GENERATOR:
        return "generator"
    return "lambda" if code.co_name == "<lambda>" else "function"


def parameters_of(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[:count])


def facts(functions: tuple[FunctionInfo, ...]) -> list[tuple[object, ...]]:
    return sorted((f.first_line, f.qualname, f.kind, list(f.parameters)) for f in functions)


def truth(source: bytes | str, name: str) -> list[tuple[object, ...]]:
    codes = compiled(compile(source, name, "exec", dont_inherit=True))
    return sorted((code.co_firstlineno, code.co_qualname, kind_of(code), parameters_of(code)) for code in codes)


def index_of(folder: Path) -> dict[str, tuple[FunctionInfo, ...]]:
    index = SourceIndex(folder)
    return {file.path: index.functions(file) for file in index.files}


def test_declared_functions_equal_those_of_the_compiler(workspace: Callable[..., Path]) -> None:
    sources = {"tricky.py": TRICKY}
    if sys.version_info >= (3, 12):
        sources["generic.py"] = GENERIC
    folder = workspace(sources)
    for path, functions in index_of(folder).items():
        assert facts(functions) == truth(Path(path).read_bytes(), path)


def test_declared_functions_of_real_source_equal_those_of_the_compiler(root: Path) -> None:
    found = index_of(root / "records") | index_of(root / "examples") | index_of(root / "instrument")
    assert len(found) > 20
    for path, functions in found.items():
        assert facts(functions) == truth(Path(path).read_bytes(), path), path


def test_declared_functions_of_standard_library_equal_the_compiler(workspace: Callable[..., Path]) -> None:
    import argparse
    import asyncio.tasks
    import dataclasses
    import enum
    import inspect as inspection

    modules = [argparse, asyncio.tasks, dataclasses, enum, inspection]
    folder = workspace({f"{m.__name__}.py": Path(m.__file__).read_text("utf-8") for m in modules if m.__file__})
    found = index_of(folder)
    assert sum(map(len, found.values())) > 300
    for path, functions in found.items():
        assert facts(functions) == truth(Path(path).read_bytes(), path), path


def test_declared_function_has_lines_of_def_and_first_decorator(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "import f\n\n@f\n@f.g(\n  1)\nasync def x(\n  y,\n):\n  pass\n"})
    ((function,),) = index_of(folder).values()
    assert (function.first_line, function.line, function.end_line) == (3, 6, 9)
    assert function.decorators == ("f", "f.g")


KINDS = """
from dataclasses import dataclass, field
import functools as ft
from . import tools
from .tools import trace as traced
from .tools import *

@dataclass(order=True)
class Point:
    x: int
    def __repr__(self): return ""

@dataclass(init=False, frozen=True)
class Line: pass

class Thing:
    @ft.cached_property
    def area(self): return 1
    @traced
    def f(self): pass
    @tools.trace("x")
    async def g(self): pass

def outer(hook):
    from .other import local
    @local
    def inner(): pass
    @hook
    def hooked(): pass
    return inner
"""


def test_declared_decorators_have_their_imported_names(workspace: Callable[..., Path]) -> None:
    folder = workspace({"pkg/__init__.py": "", "pkg/kinds.py": KINDS})
    found = {f.name: f.decorator_names for f in SourceIndex(folder).all_functions() if f.decorators}
    assert found == {
        "Thing.area": (("functools.cached_property",),),
        "Thing.f": (("pkg.tools.trace",),),
        "Thing.g": (("pkg.tools.trace",),),
        "outer.inner": (("pkg.other.local",),),
        "outer.hooked": ((),),
    }


def test_declared_dataclass_has_its_generated_methods(workspace: Callable[..., Path]) -> None:
    folder = workspace({"pkg/__init__.py": "", "pkg/kinds.py": KINDS})
    index = SourceIndex(folder)
    found = {each.qualname: set(each.generated) for file in index.files for each in index.classes(file)}
    namespace: dict[str, Any] = {"__name__": "pkg.kinds"}
    text = "\n".join(line for line in KINDS.split("class Thing", maxsplit=1)[0].splitlines() if "tools" not in line)
    exec(compile(text, "kinds.py", "exec", dont_inherit=True), namespace)
    for name in ("Point", "Line"):
        methods = {key for key, value in vars(namespace[name]).items() if inspect.isfunction(value)}
        written = {"__repr__"} if name == "Point" else set()
        assert found[name] == methods - written - {"__replace__"}
    assert found["Thing"] == set()
    assert "__repr__" not in found["Point"] and "__lt__" in found["Point"] and "__init__" not in found["Line"]


def test_type_text_of_annotation_equals_ast_unparse(root: Path) -> None:
    import typing

    import click.core
    import rich.table

    texts = [Path(str(module.__file__)).read_text("utf-8") for module in (click.core, rich.table, typing)]
    texts += [
        "def f(a: x | (y | z), b: 'a' | None, c: C[[int], *T], d: t[()], e: a[1:2, 3], f: -1 | x, g: (a, b), h: x[a,]): 0"
    ]
    found = [
        node.annotation
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.arg) and node.annotation is not None
    ]
    assert len(found) > 300
    for annotation in found:
        assert type_text(annotation) == ast.unparse(annotation)
