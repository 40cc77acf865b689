"""Filters of patterns select the same functions in the traced process as in the index of the source. Each test has its
expected list; for real packages the two lists are compared with each other.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import SourceIndex, check
from clew.esl.index.match import RuleMatch
from clew.records.plan.plan import Plan
from tests.support.programs.recording import STARTUP, Recording

SHOP = {
    "shop/__init__.py": "from .base import Handler\n",
    "shop/base.py": """
        class Handler:
            def handle(self): pass
            async def later(self): pass
        class Other:
            def handle(self): pass
        def route(path): return lambda f: f
        def mixed(): return type("Mixed", (Handler,), {})
        """,
    "shop/impl.py": """
        import functools
        from shop import Handler as H
        from . import base as b
        from .base import mixed, route
        class A(H):
            def handle(self): return (lambda: 1)()
            class Inner:
                def deep(self): pass
        class B(A):
            @route("/b")
            def handle(self): return [x for x in (1, 2)]
            @b.route("/c")
            async def c(self): pass
        class C(b.Other):
            @functools.lru_cache
            def handle(self): pass
        class D(mixed()):
            def handle(self): pass
        class E(type("Alone", (), {})):
            def handle(self): pass
        try:
            import nowhere
            Perhaps = H
        except ImportError:
            Perhaps = b.Other
        class F(Perhaps):
            def handle(self): pass
        async def gen(): yield 1
        """,
}
PROGRAM = "import shop.impl\n"
HANDLERS = {"A.handle", "A.handle.<locals>.<lambda>", "B.handle", "B.c", "D.handle"}
SPECS = {
    "scope async shop.**;": ({"Handler.later", "B.c", "gen"}, set()),
    "scope shop.** decorated by route;": ({"B.handle"}, set()),
    "scope shop.** decorated by *.route;": ({"B.c"}, set()),
    "scope shop.** decorated by shop.base.route, functools.*;": ({"B.handle", "B.c", "C.handle"}, set()),
    "scope shop.impl in subclasses of shop.base:Handler;": (HANDLERS, {"E.handle", "F.handle"}),
    "scope shop.impl in subclasses of shop:Handler;": (HANDLERS, {"E.handle", "F.handle"}),
    "scope shop.** in shop.base:H* or subclasses;": (
        HANDLERS | {"Handler.handle", "Handler.later"},
        {"E.handle", "F.handle"},
    ),
    "scope shop.impl:*.handle except shop.** in subclasses of shop.base:Handler;": (
        {"C.handle", "E.handle", "F.handle"},
        {"D.handle"},
    ),
    "scope async shop.** in subclasses of shop.base:Handler;": ({"B.c"}, set()),
    "send async shop.**:*.c decorated by b.route key 1 as c;": ({"B.c"}, set()),
}
"""For each spec, the recorded functions, and the functions that the source leaves uncertain."""


def plan_of(spec: str, folder: Path) -> Callable[[Plan], Plan]:
    return lambda _: check(folder / "x.esl", folder, text=spec).require()


def recorded(result: Recording) -> set[tuple[str, str, int]]:
    assert result.code == 0, result.stderr
    sites = [site for process in result.processes for site in process.sites.values()]
    return {(site.module, site.qualname, site.line) for site in sites if site.kind not in {"annotation", "line"}}


@pytest.mark.parametrize("spec", SPECS)
def test_filter_selects_expected_functions_in_process_and_index(spec, record, tmp_path):
    folder = tmp_path / "workspace"
    wanted, open_ = SPECS[spec]
    # The plan is compiled when the files exist.
    result = record(PROGRAM, files=SHOP, adapters=(), logs=None, change=plan_of(spec, folder))
    assert {qualname for _, qualname, _ in recorded(result)} == wanted
    (match,) = check(folder / "x.esl", folder, text=spec).matches
    assert {function.qualname for function in match.functions} == wanted | open_
    doubts = {function.qualname: doubt for function, doubt in match.uncertain()}
    assert open_ <= doubts.keys()


def test_filter_with_uncertain_matches_explains_each(record, tmp_path):
    folder = tmp_path / "workspace"
    record(PROGRAM, files=SHOP, adapters=(), logs=None)
    (match,) = check(folder / "x.esl", folder, text="scope shop.impl in subclasses of shop:Handler;").matches
    doubts = {function.qualname: doubt for function, doubt in match.uncertain()}
    assert doubts["D.handle"] == "the base class `mixed(…)` is computed at run time"
    assert doubts["F.handle"] == "the base class `Perhaps` has several definitions"
    assert doubts["B.handle"] == "`@route` may replace it"
    assert "A.handle" not in doubts


def test_plan_without_filters_imports_no_filter_modules(record):
    program = """
        import sys
        ours = ("declarations", "class_hierarchy", "rule_filters")
        ours = (*("clew.source." + name for name in ours), "clew.instrument.probes.select.filters")
        print([name for name in sys.modules if name in (*ours, "ast")])
        """
    assert record(program, adapters=(), logs=None).stdout == "[]\n"


def test_filter_runs_no_code_of_the_program(record, tmp_path):
    files = {
        "app/__init__.py": "",
        "app/meta.py": """
            class Meta(type):
                def __getattribute__(cls, name):
                    print("asked", name)
                    return super().__getattribute__(name)
                def __instancecheck__(cls, other): print("instance")
                def mro(cls): return [cls, *type.mro(cls)[1:]]
            class Base(metaclass=Meta): pass
            """,
        "app/use.py": "from app.meta import Base\nclass Sub(Base):\n    def f(self): pass\n",
    }
    change = plan_of("scope app.use in subclasses of app.meta:Base;", tmp_path / "workspace")
    plain = record("import app.use\n", files=files, adapters=(), logs=None, rules=False)
    result = record("import app.use\n", files=files, adapters=(), logs=None, change=change)
    assert result.stdout == plain.stdout
    assert {qualname for _, qualname, _ in recorded(result)} == {"Sub.f"}


# Real packages.

PACKAGES = ("click", "rich", "httpx", "anyio", "structlog", "pygls", "uvicorn")
EVERYTHING = "".join(f"scope {name}.**;" for name in PACKAGES)
FILTERED = """
scope async anyio.**, async pygls.** except pygls.** decorated by *.command;
scope click.** decorated by property, *.overload, t.*, functools.*;
scope rich.** in subclasses of abc:ABC, builtins:Exception, enum:Enum, rich.progress:ProgressColumn, rich.jupyter:JupyterMixin;
scope httpx.** in httpx:BaseTransport or subclasses;
scope structlog.** except structlog.** decorated by *.overload, structlog.** in subclasses of typing:Protocol;
scope uvicorn.** in subclasses of asyncio.protocols:Protocol;
"""
IMPORTING = """
import importlib, pkgutil, sys
here, *names = sys.argv[1:]
for name in names:
    package = importlib.import_module(name)
    for found in pkgutil.walk_packages(package.__path__, name + ".", onerror=lambda _: None):
        try:
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
        except BaseException:
            pass
print(*(n for n, m in list(sys.modules.items()) if (getattr(m, "__file__", None) or "").startswith(here)), sep="\\n")
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the packages, because the index leaves out installed ones."""
    folder = tmp_path_factory.mktemp("packages")
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin, f"{name} is a test dependency"
        shutil.copytree(Path(spec.origin).parent, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("spec", [EVERYTHING, FILTERED], ids=["everything", "filtered"])
def test_filters_in_index_and_recorder_agree_on_real_packages(
    spec: str, record: Callable[..., Recording], packages: Path
) -> None:
    found = check(packages / "x.esl", packages, text=spec, index=SourceIndex(packages))
    assert found.plan is not None
    environment = {"PYTHONPATH": f"{STARTUP}{os.pathsep}{packages}"}
    result = record(
        IMPORTING,
        str(packages),
        *PACKAGES,
        adapters=(),
        logs=None,
        change=lambda _: found.plan,
        environment=environment,
    )
    imported = {name for name in result.stdout.split() if name != "__main__"}
    assert len(imported) > 150
    # Functions of a module whose import failed belong to no module.
    there = {site for site in recorded(result) if site[0] in imported}
    for each in found.matches:
        assert each.functions, each.rule.pattern.full_text
    may, must = listed(found.matches, imported, certain=False), listed(found.matches, imported, certain=True)
    assert must - there == set(), "the index is certain of functions that are not recorded"
    assert there - may == set(), "recorded functions are missing from the index"
    assert len(there) > (4000 if spec == EVERYTHING else 300)
    if spec == EVERYTHING:
        assert there == may


def listed(matches: tuple[RuleMatch, ...], modules: set[str], *, certain: bool) -> set[tuple[str, str, int]]:
    return {
        (function.module, function.qualname, function.first_line)
        for match in matches
        for function, doubt in zip(match.functions, match.doubts, strict=True)
        if function.module in modules and not (certain and doubt)
    }
