"""Misspelt attributes of `this` are reported where the source determines all attributes, compared with real objects, and are
not reported where only the running program determines them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from clew.esl import SourceIndex, check
from clew.esl.index.deadline import Deadline
from clew.esl.index.possible_attributes import lacks

APP = """\
import abc
import enum
import threading
from collections.abc import Sized
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

class Base(abc.ABC, Generic[T]):
    kind = "base"
    def __init__(self):
        self.name = "a"
        self.__hidden = 1
    @property
    def full(self): return True
    def run(self): return self

class Shop(Base[int]):
    __slots__ = ("left",)
    def __init__(self):
        super().__init__()
        self.items, self.size = [], 0
    class Part: pass

@dataclass
class Order:
    number: int
    price: float = 0.0
    def run(self): object.__setattr__(self, "late", True)

class Point(NamedTuple):
    x: int
    def run(self): return self.x

class Refused(ValueError):
    def __init__(self): self.reason = "no"
    def run(self): return self.args

class Mixin:
    def run(self): return self.width
class Boxed:
    def __init__(self): self.height = 1
class Mixed(Mixin, Boxed):
    width = 3
"""
SILENT = {
    "__getattr__": "class A:\n    def run(self): pass\n    def __getattr__(self, name): return 1\n",
    "setattr": "class A:\n    def run(self, **more):\n        for name in more: setattr(self, name, 1)\n",
    "setattr elsewhere": "class A:\n    def run(self): pass\ndef f(a, n):\n    setattr(a, n, 1)\n",
    "setattr by name": "class A:\n    def run(self): pass\nsetattr(A, 'nam', 1)\n",
    "its dict": "class A:\n    def run(self): self.__dict__.update(nam=1)\n",
    "vars": "class A:\n    def run(self): vars(self)['nam'] = 1\n",
    "an unknown base": "from somewhere import B\nclass A(B):\n    def run(self): pass\n",
    "a base of the library": "import threading\nclass A(threading.Thread):\n    def run(self): pass\n",
    "a base made at run time": "class A(make()):\n    def run(self): pass\n",
    "a base's __getattr__": "class B:\n    def __getattr__(self, n): return 1\nclass A(B):\n    def run(self): pass\n",
    "a subclass": "class A:\n    def run(self): pass\nclass B(A):\n    nam = 1\n",
    "a subclass's other base": "class A:\n    def run(self): pass\nclass C:\n    nam = 1\nclass B(A, C): pass\n",
    "a subclass of an unknown base": "from x import C\nclass A:\n    def run(self): pass\nclass B(A, C): pass\n",
    "a metaclass": "class M(type): pass\nclass A(metaclass=M):\n    def run(self): pass\n",
    "a decorator": "@add\nclass A:\n    def run(self): pass\n",
    "two definitions": "class A:\n    def run(self): pass\nclass A:\n    def run(self): pass\n",
    "stored from outside": "class A:\n    def run(self): pass\ndef f(a): a.nam = 1\n",
    "stored in a tuple": "class A:\n    def run(self): pass\ndef f(a): a.nam, x = 1, 2\n",
    "a loop's target": "class A:\n    def run(self):\n        for self.nam in 'ab': pass\n",
    "a class method": "class A:\n    @classmethod\n    def run(cls): pass\n",
    "a function of a class": "class A:\n    @staticmethod\n    def run(this): pass\n",
}  # fmt: skip


def messages(root: Path, text: str) -> list[str]:
    checked = check(root / "a.esl", root, text=f"include standard;\n{text}")
    return [problem.message for problem in checked.problems]


@pytest.mark.parametrize("name", ["Base", "Shop", "Order", "Point", "Refused", "Mixin", "Mixed"])
def test_check_never_reports_an_existing_attribute_as_missing(
    workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root = workspace({"goods.py": APP})
    index = SourceIndex(root)
    monkeypatch.syspath_prepend(str(root))
    module = import_module("goods")
    sys.modules.pop("goods")
    made = {"Order": (1,), "Point": (1,)}
    thing = getattr(module, name)(*made.get(name, ()))
    if name == "Order":
        thing.run()
    assert [each for each in dir(thing) if lacks(index, ("goods", name), each, Deadline())] == []
    assert lacks(index, ("goods", name), "nowhere", Deadline())


def test_check_never_reports_attributes_that_a_package_reads_of_its_objects() -> None:
    """The oracle is working code: every attribute of `self` that its methods read exists."""
    index = SourceIndex(Path(check.__code__.co_filename).parents[2] / "records")
    asked = 0
    for file in index.files:
        tree = ast.parse(index.source(file))
        for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            for node in ast.walk(owner):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                    asked += 1
                    name = f"_{owner.name.lstrip('_')}{node.attr}" if node.attr.startswith("__") else node.attr
                    assert not lacks(index, (file.module, owner.name), name, Deadline()), (owner.name, node.attr)
    assert asked > 200


@pytest.mark.parametrize("why", SILENT)
def test_check_of_attribute_known_only_at_run_time_is_silent(workspace: Callable[..., Path], why: str) -> None:
    root = workspace({"wares.py": SILENT[why]})
    assert [each for each in messages(root, "payload wares:A.run value this.nam;") if "attribute" in each] == []


def test_check_misspelt_attribute_proposes_the_nearest_name(workspace: Callable[..., Path]) -> None:
    root = workspace({"wares.py": APP})
    lacking = "objects of `wares:Shop` have no attribute"
    told = messages(
        root,
        "entity Shop is wares:Shop unique by this.nam { watch n is len(this.itms); }\n"
        "entity Shop extended { watch h is this.__hidden; watch w is unsafe this.runn(); }\n",
    )
    assert told == [
        f"{lacking} `nam` in the source; did you mean `name`?",
        f"{lacking} `itms` in the source; did you mean `items`?",
        f"{lacking} `__hidden` in the source; did you mean `_Base__hidden`?",
        f"{lacking} `runn` in the source; did you mean `run`?",
    ]
    (one,) = messages(root, "payload wares:Order.run value (this.weight, this.price);")
    assert one.endswith("no attribute `weight` in the source; known attributes: `number` and `price`")
    (one,) = messages(root, "payload wares:*.run value self.price;")
    assert one.startswith(
        "objects of 4 of the 5 classes that match have no attribute `price`, for example those of `wares:Base`"
    )


def test_check_of_attributes_follows_source_edits(workspace: Callable[..., Path]) -> None:
    root = workspace({"wares.py": "class A:\n    def run(self): self.name = 1\n", "more.py": ""})
    index = SourceIndex(root)

    def proposes_name() -> bool:
        text = "include standard;\npayload wares:A.run value this.nam;"
        found = check(root / "a.esl", root, text=text, index=index).problems
        return any("did you mean `name`" in problem.message for problem in found)

    assert proposes_name()
    for path, text in (
        ("more.py", "def f(a): a.nam = 1\n"),
        ("more.py", "from wares import A\nclass B(A):\n    nam = 1\n"),
        ("wares.py", "class A:\n    def run(self): self.nam = 1\n"),
    ):
        index.overlay(root / path, text)
        assert not proposes_name(), path
        index.overlay(root / path, None)
        assert proposes_name(), path


def test_check_after_the_deadline_reports_attributes_at_the_next_check(workspace: Callable[..., Path]) -> None:
    root = workspace({"wares.py": APP, **{f"more{n}.py": "" for n in range(9)}})
    index = SourceIndex(root)
    text = (
        "include standard;\npayload wares:Order.run value this.nmber;\nentity S is wares:Shop { watch i is this.itms; }"
    )
    first = check(root / "a.esl", root, text=text, index=index, time_limit=0)
    assert first.postponed and not any("have no" in problem.message for problem in first.problems)
    for _ in range(40):
        again = check(root / "a.esl", root, text=text, index=index, time_limit=0)
        if not again.postponed:
            break
    assert [problem.fix for problem in again.problems if "have no" in problem.message] == ["number", "items"]
