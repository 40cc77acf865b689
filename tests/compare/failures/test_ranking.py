"""The ranking of suspects follows from the traceback and from the tests' calls, and equals a naive one."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compare.failures.behaviours import Behaviours
from clew.compare.failures.ranking import BEHAVIOUR, INWARD, OTHERS, TRACEBACK, WORDS, rank
from clew.compare.failures.recorded_tests import Function, RecordedTests, is_doctest, is_program
from clew.compare.failures.traceback_frames import plain
from clew.records.format.failed_phase import FailedPhase, Frame, Raised

ROOT = "/home/me/shop"
TEST_FILE = f"{ROOT}/tests/test_shop.py"
NAMES = ("alpha", "beta", "gamma", "delta", "Cart.total")


def made(session: list[tuple[str, dict[int, int], list[int]]]) -> RecordedTests:
    """Return recorded tests: the outcome of each, when each called function returned, and its traceback from the inside."""
    functions = tuple(Function(f"{ROOT}/shop.py", name, 10 * number + 1, "shop") for number, name in enumerate(NAMES))
    sizes = [len(called) for _, called, _ in session]
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    calls = [(function, end) for _, called, _ in session for function, end in called.items()]
    flows = SimpleNamespace(
        run=np.zeros(len(session), np.int32),
        places=lambda test: slice(int(first[test]), int(first[test + 1])),
        begin_ns=np.zeros(len(calls), np.int64),
        total_ns=np.array([end for _, end in calls], np.int64),
        failed=np.zeros(len(calls), bool),
    )
    pairs = [(test, function) for test, (_, called, _) in enumerate(session) for function in sorted(called)]
    did = [
        (test, behaviour(function, end))
        for test, (_, called, _) in enumerate(session)
        for function, end in called.items()
    ]
    failures = {
        test: FailedPhase("call", (Raised("ValueError", "", "", tuple(frames(inside))),))
        for test, (outcome, _, inside) in enumerate(session)
        if outcome == "failed"
    }
    graph = SimpleNamespace(counted={}, sites=[])
    run = SimpleNamespace(graph=graph, info=SimpleNamespace(workspace=ROOT))
    return RecordedTests(
        run=run,
        earlier=None,
        flows=flows,
        nodes=tuple(f"tests/test_shop.py::test_{number}" for number in range(len(session))),
        outcomes=tuple(outcome for outcome, _, _ in session),
        functions=functions,
        call_function=np.array([function for function, _ in calls], np.int64),
        pairs=np.array(pairs, np.int64).reshape(-1, 2),
        behaviours=Behaviours(
            function=np.repeat(np.arange(len(NAMES)), 3),
            kind=np.full(3 * len(NAMES), 2),
            callee=np.full(3 * len(NAMES), -1),
            pairs=np.array(sorted(did), np.int64).reshape(-1, 2),
        ),
        failures=failures,
        test_files=frozenset({TEST_FILE}),
    )


def behaviour(function: int, end: int) -> int:
    """Return one of a function's three behaviours."""
    return 3 * function + end % 3


def frames(inside: list[int]) -> list[Frame]:
    program = [Frame(f"{ROOT}/shop.py", 10 * number + 5, NAMES[number], 10 * number + 1) for number in inside]
    return [*program, Frame(TEST_FILE, 7, "test_it", 3)]


def naive(session, test: int) -> list[str]:
    """Rank by sets and sums, as the definition says."""
    called = [set(each) for _, each, _ in session]

    def likeness(other: int) -> float:
        length = math.sqrt(len(called[other]) * len(called[test]))
        return len(called[other] & called[test]) / length if length else 0.0

    def inner(other: int) -> int | None:
        return next(iter(session[other][2]), None)

    weights = {
        other: 1.0 if inner(other) == inner(test) else OTHERS
        for other, each in enumerate(session)
        if each[0] == "failed"
    }
    inside = list(dict.fromkeys(session[test][2]))
    did = [{behaviour(*each) for each in calls.items()} for _, calls, _ in session]

    def ochiai(has: list[set[int]], what: int) -> float:
        failed = sum(weight for other, weight in weights.items() if what in has[other])
        passed = sum(
            likeness(other) for other, each in enumerate(session) if each[0] == "passed" and what in has[other]
        )
        length = math.sqrt(sum(weights.values()) * (failed + passed))
        return failed / length if length else 0.0

    scores = {}
    for function in called[test] | set(inside):
        score = 0.0
        if function in called[test]:
            score = ochiai(called, function) + BEHAVIOUR * ochiai(did, behaviour(function, session[test][1][function]))
        place = inside.index(function) if function in inside else None
        score += TRACEBACK * INWARD**place if place is not None else 0.0
        scores[function] = (
            -round(score, 9),
            math.inf if place is None else place,
            -session[test][1].get(function, 0),
            f"{ROOT}/shop.py",
            NAMES[function],
        )
    return [NAMES[function] for function in sorted(scores, key=scores.__getitem__)]


TESTS = st.tuples(
    st.sampled_from(["passed", "failed", "skipped"]),
    st.dictionaries(st.integers(0, len(NAMES) - 1), st.integers(1, 9)),
    st.lists(st.integers(0, len(NAMES) - 1), max_size=3),
)


@given(
    st.lists(TESTS, max_size=8),
    st.dictionaries(st.integers(0, 4), st.integers(1, 9)),
    st.lists(st.integers(0, 4), max_size=3),
)
def test_rank_equals_the_naive_ranking(others, called, inside):
    session = [("failed", called, inside), *others]
    found = rank(made(session), 0)
    assert [suspect.function.qualname for suspect in found.suspects] == naive(session, 0)


def test_rank_evidence_is_in_words():
    session = [("failed", {0: 1, 1: 2, 2: 3}, [1, 0]), ("failed", {1: 1}, [1]), ("passed", {2: 1}, [])]
    found = rank(made(session), 0, {(f"{ROOT}/shop.py", "gamma"): "changed since the test passed (commit 4bf9a1b2c)"})
    assert [(suspect.function.qualname, suspect.line, suspect.evidence) for suspect in found.suspects] == [
        (
            "gamma",
            21,
            (
                "changed since the test passed (commit 4bf9a1b2c)",
                "ran in 1 of 2 failing and 1 of 1 passing tests",
                "called nothing in 1 of 2 failing and 0 of 1 passing",
            ),
        ),
        ("beta", 15, ("ValueError raised here", "ran in 2 of 2 failing and 0 of 1 passing tests")),
        ("alpha", 5, ("ValueError passed through", "ran in 1 of 2 failing and 0 of 1 passing tests")),
    ]
    assert (found.at.file, found.at.line, found.failing, found.passing) == (TEST_FILE, 7, 2, 1)


def test_rank_words_of_the_test_break_ties_and_are_named():
    tests = replace(made([("failed", {0: 1, 4: 1}, [])]), nodes=("tests/test_cart.py::test_total",))
    first, second = rank(tests, 0).suspects
    assert (first.function.qualname, first.evidence[-1]) == ("Cart.total", "the failure names “total”")
    assert first.score - second.score == pytest.approx(WORDS)


def test_rank_without_passing_tests_says_so():
    found = rank(made([("failed", {0: 1}, [])]), 0)
    assert found.suspects[0].evidence == ("ran in this test",)
    assert found.limits == (
        "No test passed in this session or an earlier one, so calls tell little apart: run more tests with it.",
    )
    assert rank(made([("failed", {}, [])]), 0).limits[0].startswith("No function of the program ran in the test")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{ROOT}/shop.py", True),
        (f"{ROOT}/src/shop/testing_tools.py", True),
        ("/home/me/other/shop.py", True),
        ("/home/me/tests/shop.py", True),
        (TEST_FILE, False),
        (f"{ROOT}/tests/helpers.py", False),
        (f"{ROOT}/src/conftest.py", False),
        (f"{ROOT}/.venv/lib/python3.11/site-packages/flask/app.py", False),
        ("/usr/lib/python3.11/json/decoder.py", False),
        ("<string>", False),
        ("", False),
    ],
)
def test_is_program_tells_tests_and_libraries_apart(file, expected):
    assert is_program(file, ROOT, frozenset({TEST_FILE})) is expected


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("/shop/src/shop/cart.py", "shop.cart.Cart.total", True),
        ("/shop/src/shop/cart.py", "shop.cart", True),
        ("/shop/src/shop/__init__.py", "shop.open", True),
        ("/shop/README.rst", "README.rst", True),
        ("/shop/tests/test_cart.py", "test_total", False),
        ("/shop/tests/test_cart.py", "TestCart.test_total[cart.1]", False),
    ],
)
def test_is_doctest_by_the_name_of_its_module(file, name, expected):
    assert is_doctest(file, name) is expected


def test_plain_name_of_a_comprehension_is_the_function_around_it():
    assert plain("Cart.total.<locals>.<listcomp>") == "Cart.total"
    assert plain("total.<locals>.<genexpr>.<locals>.<setcomp>") == "total"
    assert plain("total.<locals>.<lambda>") == "total.<locals>.<lambda>"
