"""Filters of patterns: their syntax, the functions that they match, and problems of filters without matches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import check, compile_text
from clew.records.plan import plan as plans
from clew.records.plan.plan import Target

FILES = {
    "app/__init__.py": "from .base import *\n",
    "app/base.py": "from abc import ABC\nclass Job(ABC):\n def run(self): pass\n",
    "app/jobs.py": """
from app import Job
from collections import namedtuple
from threading import Thread
from typing import Generic, NamedTuple, TypeVar
T = TypeVar("T")
def task(f): return f
class Mail(Job):
    @task
    def run(self): pass
    async def send(self): pass
class Typed(Generic[T], Mail):
    def run(self): pass
class Worker(Thread):
    def run(self): pass
class Pair(namedtuple("Pair", "a b")):
    def total(self): pass
class Row(NamedTuple):
    a: int
    def width(self): pass
class Failed(OSError):
    def why(self): pass
def make():
    class Local(Mail):
        def run(self): pass
    return Local
""",
    "app/lazy.py": "def __getattr__(name): raise AttributeError\n",
    "app/odd.py": """
from app.lazy import Thing
from missing import Base
class X(Thing):
    def f(self): pass
class Y(Base):
    def f(self): pass
""",
}


def target(text: str) -> Target:
    (rule,) = compile_text(text).require().rules
    return rule.target


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("scope async a.**;", (True, (), (), False)),
        ("scope a decorated by *.route, click.command;", (False, ("*.route", "click.command"), (), False)),
        ("scope a in subclasses of a.b:C except b;", (False, (), ("a.b:C",), False)),
        ("scope a in a.b:C, a.b:D.E or subclasses;", (False, (), ("a.b:C", "a.b:D.E"), True)),
        ("scope a  decorated\n by x in  subclasses of y:Z;", (False, ("x",), ("y:Z",), False)),
        ("payload finish async a:f decorated by x value result;", (True, ("x",), (), False)),
        ("scope decorated;", (False, (), (), False)),
        ("scope subclasses.of:in decorated by by;", (False, ("by",), (), False)),
    ],
)
def test_filters_are_lowered_and_survive_the_plan_file(text: str, filters: tuple[object, ...]) -> None:
    found = target(text)
    assert (found.is_async, found.decorators, found.classes, found.itself) == filters
    plan = compile_text(text).require()
    assert plans.load(plans.dump(plan), "plan") == plan


def test_entity_filters_apply_to_its_methods() -> None:
    text = "entity N is a:* in subclasses of a:C { when start async m() -> position(this); when finish k() -> deletion(this); }"
    first, second = compile_text(text).require().rules
    assert first.target == Target("a", "*.m", is_async=True, classes=("a:C",))
    assert second.target == Target("a", "*.k", classes=("a:C",))


@pytest.mark.parametrize(
    ("text", "said", "fix"),
    [
        ("scope a decorated by b decorated by c;", "is given twice", ""),
        ("scope a in subclasses of b:C in d:E or subclasses;", "is given twice", ""),
        ("scope a decorated by b:c;", "a decorator is a dotted name", "b.c"),
        ("scope a in subclasses of b.C;", "module, colon, name", "b:C"),
        ("scope a in subclasses of b:***;", "unknown wildcard `***`", ""),
        ("scope a in b:C;", "`or subclasses` is missing here", ""),
        ("scope a decorated b;", "did you mean `decorated by`", "decorated by"),
        ("entity N is async a:B { when start async m() -> position(this); }", "", ""),
    ],
)
def test_invalid_filter_is_one_problem(text: str, said: str, fix: str) -> None:
    problems = [problem for problem in compile_text(text).problems if problem.severity == "error"]
    if not said:
        assert not problems
        return
    (problem,) = problems
    assert said in problem.message and problem.fix == fix and problem.span.start > 5


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("async app.**", {"Mail.send"}),
        ("app.** decorated by app.jobs.task", {"Mail.run"}),
        ("app.** in subclasses of app.base:Job", {"Mail.run", "Mail.send", "Typed.run", "make.Local.run"}),
        ("app.** in subclasses of app:Job", {"Mail.run", "Mail.send", "Typed.run", "make.Local.run"}),
        ("app.** in app.base:Job or subclasses", {"Job.run", "Mail.run", "Mail.send", "Typed.run", "make.Local.run"}),
        ("app.** in subclasses of app.*:M*", {"Typed.run", "make.Local.run"}),
        ("app.** in subclasses of threading:Thread", {"Worker.run"}),
        ("app.** in subclasses of builtins:tuple", {"Pair.total"}),
        ("app.** in subclasses of builtins:Exception", {"Failed.why"}),
        ("app.** in subclasses of typing:Generic", {"Typed.run"}),
        ("app.jobs:* in subclasses of app:Job", set()),
    ],
)
def test_filter_matches_exactly_its_functions(text: str, names: set[str], workspace: Callable[..., Path]) -> None:
    folder = workspace(FILES)
    (match,) = check(folder / "x.esl", folder, text=f"scope {text};").matches
    found = {f.name for f, doubt in zip(match.functions, match.doubts, strict=True) if not doubt.startswith("the base")}
    assert found == names


def test_filter_base_class_from_module_getattr_is_uncertain(workspace: Callable[..., Path]) -> None:
    folder = workspace(FILES)
    text = "scope app.odd in subclasses of app.base:Job; scope app.odd in subclasses of other:Thing;"
    first, second = check(folder / "x.esl", folder, text=text).matches
    why = "is not in the source of `app.lazy`, which creates names at run time (`__getattr__`)"
    assert list(first.uncertain()) == [(first.functions[0], f"the base class `Thing` {why}")]
    assert {function.name: doubt for function, doubt in second.uncertain()} == {
        "X.f": f"the base class `Thing` {why}",
        "Y.f": "the base class `Base` belongs to `missing`, whose source was not found",
    }


DOUBTFUL = """
import functools, typing
from tools import wrapped
@wrapped
def replaced(): pass
@functools.lru_cache
def cached(): pass
if input():
    def conditional(): pass
def twice(): pass
def twice(): pass
class A:
    @property
    def p(self): pass
    @p.setter
    def p(self, value): pass
    @typing.overload
    def o(self, x: int): ...
    def o(self, x): pass
    @staticmethod
    def s(): pass
"""


def test_match_names_why_a_function_is_uncertain(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": DOUBTFUL})
    (match,) = check(folder / "x.esl", folder, text="scope a;").matches
    assert [(function.name, function.line, doubt) for function, doubt in match.uncertain()] == [
        ("replaced", 5, "`@wrapped` may replace it"),
        ("conditional", 9, "it is defined conditionally"),
        ("twice", 10, "line 11 redefines it"),
        ("A.o", 18, "it is an overload declaration, which is never called"),
    ]
    assert match.certain == len(match.functions) - 4


@pytest.mark.parametrize(
    ("text", "said", "fix"),
    [
        ("scope app.** decorated by tsk;", "has a decorator `tsk`; did you mean `task`", "task"),
        ("scope async app.base;", "of 1 function that `app.base` matches, none is an `async def`", ""),
        (
            "scope app.jobs in subclasses of app.base:Jb;",
            "unknown class `app.base:Jb`; did you mean",
            "app.base:Job",
        ),
        ("scope app.base in subclasses of app.base:Job;", "is in a subclass of `app.base:Job`", ""),
        ("scope async app.jobs decorated by task;", "matches, none passes all of its filters", ""),
    ],
)
def test_filter_without_matches_is_a_problem(text: str, said: str, fix: str, workspace: Callable[..., Path]) -> None:
    folder = workspace(FILES)
    messages = check(folder / "x.esl", folder, text="include standard;" + text).problems
    assert any(said in problem.message and problem.fix == fix for problem in messages), messages
