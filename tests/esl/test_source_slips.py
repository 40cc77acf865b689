"""What the source says against a right sentence of a spec: it is probably not what was meant, and how to write that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import check

APP = """\
from dataclasses import dataclass

@dataclass
class Item:
    name: str
    def __repr__(self): return self.name

class Order:
    def total(self): pass

def serve(order, user): pass
"""


@pytest.fixture
def told(workspace: Callable[..., Path]) -> Callable[[str], list[tuple[str, str]]]:
    root = workspace({"shop/__init__.py": "", "shop/app.py": APP})

    def tell(text: str) -> list[tuple[str, str]]:
        checked = check(root / "a.esl", root, text=f"include standard;\n{text}")
        return [(problem.message, problem.fix) for problem in checked.problems]

    return tell


@pytest.mark.parametrize("verb", ["request", "name"])
def test_a_value_without_brackets_is_no_name(told: Callable[[str], list[tuple[str, str]]], verb: str) -> None:
    ((message, fix),) = told(f"{verb} shop.app:serve as order.number;")
    assert message.startswith("this is called `order.number`, letter by letter; a value of `order` stands in brackets")
    assert fix == "(order.number)"
    assert told(f"{verb} shop.app:serve as {fix};") == []


@pytest.mark.parametrize("name", ["order", "shop.order", '"order.number"', '"serve order"'])
def test_what_is_no_value_may_be_a_name(told: Callable[[str], list[tuple[str, str]]], name: str) -> None:
    assert told(f"request shop.app:serve as {name};") == []


@pytest.mark.parametrize("method", ["__init__", "__eq__"])
def test_of_what_a_dataclass_makes_there_is_nothing_to_record(
    told: Callable[[str], list[tuple[str, str]]], method: str
) -> None:
    ((message, fix),) = told(f"scope shop.app:Item.{method};")
    assert "is made by `@dataclass`, so that there is no code of it that could be recorded" in message and fix == ""
    assert told("scope shop.app:Item.__repr__;") == []


def test_of_the_projects_own_files_nothing_is_elsewhere(workspace: Callable[..., Path]) -> None:
    root = workspace({"app.py": "def serve(): pass\n"})
    checked = check(root / "a.esl", root, text="include standard;\nscope *:work;\nscope far.away:work;\n")
    assert [problem.elsewhere for problem in checked.problems] == ["", "far"]
    assert checked.problems[0].message.endswith("matches `*:work`; check the names")


def test_a_share_of_no_flow_leaves_nothing_out(told: Callable[[str], list[tuple[str, str]]]) -> None:
    assert [message for message, _ in told("sample 10%;\nscope shop.**;")] == [
        "this leaves nothing out: no `request` says where a flow begins; add one, or a pack that has them"
    ]
    assert told("sample 10%;\nrequest shop.app:serve;") == []
    assert told("include flask;\nsample 10%;") == []
    assert told("sample 100%;") == []
