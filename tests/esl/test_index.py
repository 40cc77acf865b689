"""The index names functions as Python does. The oracle is Python's compiler: the code objects it makes of the same file."""

from __future__ import annotations

import ast
import inspect
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from clew.esl import SourceIndex, reading
from clew.esl.functions import FunctionInfo, type_text
from clew.esl.source_files import module_names, project_files

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
    """The code objects of functions, without comprehensions and class bodies."""
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


def test_functions_are_named_as_the_compiler_names_them(workspace: Callable[..., Path]) -> None:
    sources = {"tricky.py": TRICKY}
    if sys.version_info >= (3, 12):
        sources["generic.py"] = GENERIC
    folder = workspace(sources)
    for path, functions in index_of(folder).items():
        assert facts(functions) == truth(Path(path).read_bytes(), path)


def test_functions_of_real_source_are_named_as_the_compiler_names_them(root: Path) -> None:
    found = index_of(root / "records") | index_of(root / "examples") | index_of(root / "instrument")
    assert len(found) > 20
    for path, functions in found.items():
        assert facts(functions) == truth(Path(path).read_bytes(), path), path


def test_functions_of_the_standard_library_are_named_as_the_compiler_names_them(workspace: Callable[..., Path]) -> None:
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


def test_lines_are_of_def_and_of_the_first_decorator(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "import f\n\n@f\n@f.g(\n  1)\nasync def x(\n  y,\n):\n  pass\n"})
    ((function,),) = index_of(folder).values()
    assert (function.first_line, function.line, function.end_line) == (3, 6, 9)
    assert function.decorators == ("f", "f.g")


def test_a_module_is_named_from_its_top_package_down(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "script.py": "",
            "tools/run-it.py": "",
            "src/pkg/__init__.py": "",
            "src/pkg/__main__.py": "",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/mod.py": "",
            "src/pkg/data/loose.py": "",
        }
    )
    names = {Path(f.path).relative_to(folder).as_posix(): f.names for f in SourceIndex(folder).files}
    assert names == {
        "script.py": ("script",),
        "tools/run-it.py": ("run-it", "tools.run-it"),
        "src/pkg/__init__.py": ("pkg", "src.pkg"),
        "src/pkg/__main__.py": ("pkg.__main__", "src.pkg.__main__"),
        "src/pkg/sub/__init__.py": ("pkg.sub", "src.pkg.sub"),
        "src/pkg/sub/mod.py": ("pkg.sub.mod", "src.pkg.sub.mod"),
        "src/pkg/data/loose.py": ("loose", "data.loose", "pkg.data.loose", "src.pkg.data.loose"),
    }


def test_the_example_is_named_as_its_processes_name_it(root: Path) -> None:
    path = root / "examples/chunkstore/chunkstore/store.py"
    assert module_names(path, root)[0] == "chunkstore.store"


def test_names_of_modules_are_those_that_importing_gives(
    workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    folder = workspace(
        {
            "esl_top_pkg/__init__.py": "def a(): pass",
            "esl_top_pkg/inner/__init__.py": "",
            "esl_top_pkg/inner/leaf.py": "class C:\n def m(self):\n  return lambda: 1",
            "esl_top_script.py": "def f(): pass",
            "esl_space/part.py": "def g(): pass",
        }
    )
    monkeypatch.syspath_prepend(str(folder))
    for file in SourceIndex(folder).files:
        imported = {name for name in file.names if importlib.util.find_spec(name.partition(".")[0]) is not None}
        module = importlib.import_module(max(imported, key=len))
        assert module.__file__ == file.path
        assert module.__name__ in file.names


def test_only_the_projects_own_files_are_read(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "app.py": "def a(): pass",
            ".hidden/x.py": "",
            "node_modules/x.py": "",
            ".venv/lib/x.py": "",
            "myenv/pyvenv.cfg": "",
            "myenv/lib/x.py": "",
            "lib/site-packages/x.py": "",
            "app.txt": "",
        }
    )
    found, left_out = project_files(folder, ".py")
    assert ([path.name for path in found], left_out) == (["app.py"], "")


@pytest.mark.parametrize(("limit", "number"), [("MAX_FILES", 3), ("MAX_FOLDERS", 2)])
def test_of_a_folder_too_large_to_be_a_project_a_part_is_read_and_said(
    limit: str, number: int, workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace({f"p{n}/a.py": "def f(): pass" for n in range(5)})
    monkeypatch.setattr(f"clew.esl.source_files.{limit}", number)
    index = SourceIndex(folder)
    assert 0 < len(index.files) <= number
    assert len(index.notes) == 1 and "name a smaller workspace" in index.notes[0]


def test_nothing_of_the_workspace_is_run(workspace: Callable[..., Path]) -> None:
    folder = workspace({"boom.py": "raise SystemExit(1)\ndef f(): pass", "sitecustomize.py": "1/0"})
    index = SourceIndex(folder)
    assert [function.name for function in index.all_functions()] == ["f"]
    assert "boom" not in sys.modules


def test_source_that_cannot_be_read_is_a_note_and_nothing_more(workspace: Callable[..., Path]) -> None:
    folder = workspace({"good.py": "def f(): pass", "bad.py": "def f(:", "null.py": "x = '\0'"})
    (folder / "latin.py").write_bytes(b"x = '\xe9'")
    (folder / "cookie.py").write_bytes(b"# -*- coding: latin-1 -*-\ndef caf\xe9(): pass")
    (folder / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    (folder / "long.py").write_text("x = " + " + ".join(["1"] * 3000) + "\ndef g(): pass")
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    index = SourceIndex(folder)
    names = [function.name for function in index.all_functions()]
    assert {"f", "café"} <= set(names)
    assert {Path(note.partition(":")[0]).name for note in index.notes} >= {"bad.py", "null.py", "latin.py", "deep.py"}
    assert all("its functions are not known" in note for note in index.notes)
    notes = index.notes
    index.refresh()
    assert index.notes == notes
    (folder / "bad.py").write_text("def fine(): pass")
    index.refresh()
    assert "fine" in [function.name for function in index.all_functions()]
    assert len(index.notes) == len(notes) - 1


def test_a_changed_file_is_read_again_and_others_are_not(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def old(): pass", "b.py": "def same(): pass"})
    index = SourceIndex(folder)
    before = {function.name: function for function in index.all_functions()}
    (folder / "a.py").write_text("def new_name(): pass")
    (folder / "c.py").write_text("def third(): pass")
    index.refresh()
    after = {function.name: function for function in index.all_functions()}
    assert set(before) == {"old", "same"} and set(after) == {"new_name", "same", "third"}
    assert after["same"] is before["same"]


def test_channels_that_the_program_names_itself_are_found(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "a.py": "import clew\nclew.send('jobs', job.id)\nwith clew.use('done', 1): pass\nclew.send(job)",
            "b.py": "def g(sock): sock.send('not this')",
        }
    )
    assert SourceIndex(folder).annotated_channels() == {"jobs", "done"}


def many(folder: Path, number: int = 120) -> dict[str, str]:
    """The text of each file of a package that is large enough to be kept."""
    texts = {"big/__init__.py": "from .m1 import f1 as first\n"}
    texts |= {
        f"big/m{n}.py": f"class C{n}:\n    def f{n}(self, a: int): pass\ndef f{n}(): yield\n" for n in range(number)
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return texts


def labels(index: SourceIndex) -> set[str]:
    return {function.label for function in index.all_functions()}


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The files whose source is read from here on."""
    read: list[str] = []
    real = reading.read_file

    def noted(path: str, module: str) -> reading.Read:
        read.append(Path(path).name)
        return real(path, module)

    monkeypatch.setattr(reading, "read_file", noted)
    return lambda: read


def test_what_was_read_is_there_after_a_restart(tmp_path: Path, no_reading: Callable[[], list[str]]) -> None:
    many(tmp_path)
    first = SourceIndex(tmp_path)
    known = list(first.all_functions()), list(first.all_classes())
    assert len(no_reading()) == 121
    no_reading().clear()
    again = SourceIndex(tmp_path)
    assert (list(again.all_functions()), list(again.all_classes())) == known
    assert no_reading() == []
    (kept,) = (tmp_path / ".clew").glob("*.index")
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700


def test_only_what_has_changed_is_read_again_after_a_restart(
    tmp_path: Path, no_reading: Callable[[], list[str]]
) -> None:
    texts = many(tmp_path)
    before = labels(SourceIndex(tmp_path))
    no_reading().clear()
    (tmp_path / "big/m3.py").write_text("def changed(): pass")
    (tmp_path / "big/m4.py").unlink()
    (tmp_path / "big/m5.py").write_text(texts["big/m5.py"])  # another time, the same text
    os.utime(tmp_path / "big/m5.py", ns=(1, 1))
    after = labels(SourceIndex(tmp_path))
    assert after == (before - {"big.m3:C3.f3", "big.m3:f3", "big.m4:C4.f4", "big.m4:f4"}) | {"big.m3:changed"}
    assert no_reading() == ["m3.py"]
    no_reading().clear()
    assert labels(SourceIndex(tmp_path)) == after and no_reading() == []


@pytest.mark.parametrize("damage", ["bytes", "rows", "version", "empty", "other"])
def test_a_damaged_index_is_made_anew(damage: str, tmp_path: Path) -> None:
    many(tmp_path)
    before = labels(SourceIndex(tmp_path))
    (kept,) = (tmp_path / ".clew").glob("*.index")
    if damage == "bytes":
        content = bytearray(kept.read_bytes())
        content[4096:] = bytes(len(content) - 4096)
        kept.write_bytes(content)
    elif damage == "empty":
        kept.write_bytes(b"")
    elif damage == "other":
        kept.write_bytes(b"not a database" * 1000)
    else:
        database = sqlite3.connect(kept)
        if damage == "version":
            database.execute("PRAGMA user_version = 999")
        else:
            database.execute("UPDATE files SET contents = X'5B5B225D'")
        database.commit()
        database.close()
    assert labels(SourceIndex(tmp_path)) == before
    assert labels(SourceIndex(tmp_path)) == before


def test_where_nothing_can_be_kept_everything_works(tmp_path: Path) -> None:
    many(tmp_path)
    (tmp_path / ".clew").write_text("a file where the folder would be")
    assert len(labels(SourceIndex(tmp_path))) == 240


def test_a_small_workspace_keeps_nothing(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f(): pass"})
    assert labels(SourceIndex(folder)) == {"a:f"}
    assert not (folder / ".clew").exists()


def test_many_files_are_read_by_several_processes_as_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path, 250)
    (tmp_path / "big/broken.py").write_text("def f(:")
    index = SourceIndex(tmp_path)
    beside = list(index.all_functions()), index.notes
    monkeypatch.setattr(reading, "MANY", 1 << 30)
    (kept,) = (tmp_path / ".clew").glob("*.index")
    kept.unlink()
    index = SourceIndex(tmp_path)
    assert (list(index.all_functions()), index.notes) == beside
    assert len(index.notes) == 1


def test_what_a_process_fails_to_read_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path, 250)
    monkeypatch.setattr(reading.sys, "executable", "/bin/false")
    assert len(labels(SourceIndex(tmp_path))) == 500


def test_the_text_of_an_editor_lies_over_the_file(workspace: Callable[..., Path]) -> None:
    folder = workspace({"app/__init__.py": "", "app/a.py": "def old(): pass", "app/b.py": "def b(): pass"})
    index = SourceIndex(folder)
    assert labels(index) == {"app.a:old", "app.b:b"}
    index.overlay(folder / "app/a.py", "def new(): pass")
    index.overlay(folder / "app/unsaved.py", "def third(): pass")
    index.overlay(folder / "notes.txt", "def no(): pass")
    assert labels(index) == {"app.a:new", "app.b:b", "app.unsaved:third"}
    index.refresh()
    assert labels(index) == {"app.a:new", "app.b:b", "app.unsaved:third"}
    index.overlay(folder / "app/a.py", "def newer(): pass")
    assert "app.a:newer" in labels(index)
    index.overlay(folder / "app/a.py", None)
    index.overlay(folder / "app/unsaved.py", None)
    assert labels(index) == {"app.a:old", "app.b:b"}


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


def test_decorators_are_known_by_the_names_that_imports_give_them(workspace: Callable[..., Path]) -> None:
    folder = workspace({"pkg/__init__.py": "", "pkg/kinds.py": KINDS})
    found = {f.name: f.decorator_names for f in SourceIndex(folder).all_functions() if f.decorators}
    assert found == {
        "Thing.area": (("functools.cached_property",),),
        "Thing.f": (("pkg.tools.trace",),),
        "Thing.g": (("pkg.tools.trace",),),
        "outer.inner": (("pkg.other.local",),),
        "outer.hooked": ((),),
    }


def test_methods_that_dataclass_makes_are_known(workspace: Callable[..., Path]) -> None:
    folder = workspace({"pkg/__init__.py": "", "pkg/kinds.py": KINDS})
    found = {each.qualname: set(each.generated) for each in SourceIndex(folder).all_classes()}
    namespace: dict[str, Any] = {"__name__": "pkg.kinds"}
    text = "\n".join(line for line in KINDS.split("class Thing", maxsplit=1)[0].splitlines() if "tools" not in line)
    exec(compile(text, "kinds.py", "exec", dont_inherit=True), namespace)
    for name in ("Point", "Line"):
        methods = {key for key, value in vars(namespace[name]).items() if inspect.isfunction(value)}
        written = {"__repr__"} if name == "Point" else set()
        assert found[name] == methods - written - {"__replace__"}
    assert found["Thing"] == set()
    assert "__repr__" not in found["Point"] and "__lt__" in found["Point"] and "__init__" not in found["Line"]


def test_annotations_are_written_as_python_writes_them(root: Path) -> None:
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
