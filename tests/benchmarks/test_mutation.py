"""The mutation operators, and the rankings of functions that `benchmarks/mutants.py` compares."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from mutation.operators import Edit, edits, functions, innermost
from mutation.packages import PACKAGES
from mutation.rankings import NEVER, ochiai, rank_of, sign_test
from mutation.search import load
from mutation.set_up import Session

LISTS = Path(__file__).parents[2] / "benchmarks" / "mutant_lists"
SOURCE = '''\
class Cart:
    """Not an edit: 1."""

    def total(self, rate: float = 1) -> float:
        """Not an edit: 2."""
        self.sum = 0
        for item in self.items:
            if not item and rate < 3:
                continue
            self.sum += price(item, rate, exact=True)
        log(
            "total",
            self.sum,
        )
        return self.sum * rate


def outer(x):
    def inner(y):
        return y - 1

    return inner(x) or x
'''


def found() -> list[Edit]:
    return edits(SOURCE, random.Random(1))


def test_edits_keep_lines_and_compile() -> None:
    for edit in found():
        mutated = edit.apply(SOURCE.encode()).decode()
        assert mutated.count("\n") == SOURCE.count("\n"), edit
        assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(SOURCE)), edit


def test_edits_are_of_all_kinds_and_name_their_function() -> None:
    kinds = {(edit.kind, edit.function) for edit in found()}
    of_total = (
        "comparison",
        "arithmetic",
        "boolean",
        "not",
        "off by one",
        "constant",
        "attribute",
        "argument order",
        "deleted",
    )
    assert {kind for kind, function in kinds if function == "Cart.total"} == set(of_total)
    assert {kind for kind, function in kinds if function == "outer.<locals>.inner"} == {"arithmetic", "off by one"}
    assert {kind for kind, function in kinds if function == "outer"} == {"boolean"}


def test_a_keyword_is_dropped_from_a_call_with_one_argument() -> None:
    (edit,) = edits("def f(x):\n    return g(x, key=None)\n", random.Random(1))
    assert (edit.kind, edit.old, edit.new) == ("argument", "g(x, key=None)", "g(x)")


def test_an_edit_refuses_another_source() -> None:
    with pytest.raises(ValueError, match="line 6 does not contain"):
        next(edit for edit in found() if edit.line == 6).apply(b"#" * 1000)


def test_the_innermost_function_of_a_line() -> None:
    assert [innermost(functions(SOURCE), line) for line in (1, 6, 19, 21)] == [
        None,
        "Cart.total",
        "outer.<locals>.inner",
        "outer",
    ]


def test_ochiai_by_hand(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def good():\n    pass\n\n\ndef bad():\n    pass\n")
    session = Session(
        {"t1": "failed", "t2": "passed", "t3": "passed", "t4": "skipped"},
        {"t1": []},
        lines={"m.py": {1: ["t1", "t2", "t3"], 2: ["t1", "t2", "t3"], 5: ["t2"], 6: ["t1", "t4"]}},
    )
    ranking = ochiai(session, tmp_path, "seed")
    assert ranking == [("m.py", "bad"), ("m.py", "good")]
    assert (rank_of(("m.py", "good"), ranking), rank_of(("m.py", "other"), ranking)) == (2, NEVER)


def test_the_sign_test_counts_pairs_that_differ() -> None:
    ours = [True] * 6 + [False, True, False]
    theirs = [False] * 6 + [False, True, False]
    assert sign_test(ours, theirs) == (6, 0, 2 / 2**6)
    assert sign_test([True, False], [False, True]) == (1, 1, 1.0)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_listed_mutants_are_balanced_and_of_the_pinned_package(package) -> None:
    mutants = load(LISTS / f"{package.name}.json")
    wrong = sum(one.wrong_value for one in mutants)
    assert {(one.package, one.version) for one in mutants} == {(package.name, package.version)}
    assert abs(2 * wrong - len(mutants)) <= 1
    assert all(one.failing <= one.tests / 2 for one in mutants)
    assert len({one.id for one in mutants}) == len(mutants)
