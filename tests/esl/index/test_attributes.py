"""The attributes of a class by its source equal those of its objects, and completion proposes them after a dot."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from clew.esl import SourceIndex
from clew.esl.assist.completion import complete
from clew.esl.index.attributes import Attribute, attributes_of, class_of_type

BASE = """\
from dataclasses import dataclass, field
from typing import NamedTuple, Optional


class Base:
    kind = "base"

    def __init__(self, link: "Link", *, note=None):
        self.link = link
        self.count: int = 0
        self.__hidden = note

    @property
    def full(self) -> bool:
        return self.count > 9

    @classmethod
    def make(cls):
        cls.made = 1

    @staticmethod
    def other(thing):
        thing.nothing = 1


@dataclass
class Link:
    name: str
    sizes: list[int] = field(default_factory=list)


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = 1, 2


class Point(NamedTuple):
    x: int
    y: int = 0
"""
APP = '''\
from wares import base
from wares.base import Link as Connection


class Stock(base.Base):
    if True:
        shelf: Connection | None = None

        def fill(self, item: Connection):
            for self.last in range(3):
                self.items = [item]

            def later():
                self.late = True
            later()
            return later

    def sell(self, to: "Connection", price):
        with open(__file__) as self.file:
            """Text
that hangs out."""
        self.price = price
'''


@pytest.fixture
def index(workspace: Callable[..., Path]) -> SourceIndex:
    return SourceIndex(workspace({"wares/__init__.py": "", "wares/base.py": BASE, "wares/app.py": APP}))


@pytest.fixture
def modules(index: SourceIndex, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    monkeypatch.syspath_prepend(str(index.root))
    yield import_module
    for name in ("wares", "wares.base", "wares.app"):
        sys.modules.pop(name, None)


def plain(names: list[str]) -> set[str]:
    return {name for name in names if not (name.startswith("__") and name.endswith("__"))}


def test_attributes_of_class_equal_those_of_its_objects(index: SourceIndex, modules: Callable[[str], Any]) -> None:
    app, base = modules("wares.app"), modules("wares.base")
    stock = app.Stock(base.Link("a"))
    stock.fill(base.Link("b"))
    stock.sell(None, 3)
    stock.file.close()
    base.Base.make()
    methods = {"fill", "sell", "make", "other"}
    assert set(attributes_of(index, ("wares.app", "Stock"))) == plain(dir(stock)) - methods
    assert set(attributes_of(index, ("wares.base", "Link"))) == plain(dir(base.Link("a")))
    assert set(attributes_of(index, ("wares.base", "Slotted"))) == plain(dir(base.Slotted()))
    assert set(attributes_of(index, ("wares.base", "Point"))) == set(base.Point._fields)


def test_attributes_have_types_and_owners(index: SourceIndex) -> None:
    found = attributes_of(index, ("wares.app", "Stock"))
    assert found["full"] == Attribute("full", "bool", is_property=True, owner="wares.base:Base")
    assert found["count"] == Attribute("count", "int", owner="wares.base:Base")
    assert found["shelf"] == Attribute("shelf", "Connection | None")
    assert found["_Base__hidden"].owner == "wares.base:Base"
    link = ("wares.base", "Link")
    types = ("Connection", "Connection | None", '"Connection"', "Optional[Connection]", "base.Link")
    assert [class_of_type(index, text, "wares.app") for text in types] == [link] * 5
    assert [class_of_type(index, text, "wares.app") for text in ("int", "list[Connection]", "a | b", "")] == [None] * 4


@pytest.mark.parametrize(
    ("marked", "there"),
    [
        ("payload wares.app:Stock.sell value this.|", {"price", "items", "kind", "link", "full", "startswith"}),
        ("payload wares.app:Stock.sell value self.pr|", {"price"}),
        ("payload wares.app:Stock.sell value to.|", {"name", "sizes"}),
        ("payload wares.app:Stock.sell value this.link.|", {"name", "sizes"}),
        ("payload wares.app:Stock.sell value this.shelf.na|", {"name"}),
        ("entity Stock is wares.app:Stock unique by this.|", {"price", "link"}),
        ("entity Stock is wares.app:Stock { watch n is this.|", {"price", "link"}),
        ("entity Stock is wares.app:Stock { when start sell(to) on to.|", {"name"}),
        ("entity S is wares.app:Stock { }\nentity S extended { watch n is this.|", {"price", "link"}),
    ],
)
def test_completion_after_a_dot_proposes_attributes(index: SourceIndex, marked: str, there: set[str]) -> None:
    before, _, after = marked.partition("|")
    found = {item.label for item in complete(before + after, len(before), index).items}
    assert there <= found, found


def test_completion_of_unknown_object_proposes_no_attribute(index: SourceIndex) -> None:
    for value in ("price.", "this.price.", "gone.", "this.link.name.x."):
        text = f"payload wares.app:Stock.sell value {value}"
        assert {item.detail for item in complete(text, len(text), index).items} == {"runs no code"}


def test_attributes_of_class_follow_its_source(index: SourceIndex) -> None:
    index.overlay(str(index.root / "wares/base.py"), BASE.replace("self.count", "self.total"))
    found = attributes_of(index, ("wares.app", "Stock"))
    assert "total" in found and "count" not in found
