"""Expressions of a plan have the values of Python for builtins, and refuse to run the program's code."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from clew.instrument.probes.actions.expressions import UNKNOWN, compile_expression, names
from clew.records.errors import PlanError


class Ran(Exception):
    pass


class Hostile:
    def _run(self, *arguments):
        raise Ran

    __eq__ = __lt__ = __add__ = __bool__ = __len__ = __str__ = __repr__ = __int__ = __contains__ = __getitem__ = _run
    __hash__ = object.__hash__
    loud = property(_run)


class Thing:
    def __init__(self):
        self.id = 17
        self.items = [1, 2]
        self.table = {"a": 1, (1, "x"): 2}

    @property
    def twice(self):
        return self.id * 2

    def call(self, more):
        return self.id + more


X, Y = ["name", "x"], ["name", "y"]
ID = ["attr", X, "id"]
CASES = [
    (["const", "k"], "k"),
    (X, None),
    (ID, 17),
    (["item", ["attr", X, "items"], ["const", -1]], 2),
    (["item", ["attr", X, "table"], ["tuple", [["const", 1], ["const", "x"]]]], 2),
    (["method", ["attr", X, "table"], "get", [["const", "a"]]], 1),
    (["method", ["attr", X, "table"], "get", [["const", "b"], ["const", 5]]], 5),
    (["method", ["const", "Abc"], "startswith", [["const", "A"]]], True),
    (["method", ["const", "Abc"], "endswith", [["const", "A"]]], False),
    (["method", ["const", " Abc "], "strip", []], "Abc"),
    (["method", ["const", "Abc"], "lower", []], "abc"),
    (["method", ["const", "Abc"], "upper", []], "ABC"),
    (["call", "len", [["attr", X, "items"]]], 2),
    (["call", "str", [ID]], "17"),
    (["call", "int", [["const", "12"]]], 12),
    (["call", "type", [X]], "Thing"),
    (["call", "repr", [["const", "a"]]], "'a'"),
    (["call", "repr", [["attr", X, "items"]]], "[1, 2]"),
    (["compare", "==", ID, ["const", 17]], True),
    (["compare", "in", ["const", 2], ["attr", X, "items"]], True),
    (["compare", "not in", ["const", 2], ["attr", X, "items"]], False),
    (["compare", "in", ["const", "a"], ["attr", X, "table"]], True),
    (["compare", "in", ["const", "b"], ["const", "abc"]], True),
    (["compare", "is", X, X], True),
    (["compare", "is not", X, ["const", None]], True),
    (["binary", "+", ["const", "a"], ["const", "b"]], "ab"),
    (["binary", "%", ID, ["const", 5]], 2),
    (["binary", "//", ID, ["const", 5]], 3),
    (["not", ["const", ""]], True),
    (["and", [["const", 1], ["const", 0], ["const", 2]]], 0),
    (["or", [["const", 0], ["const", "x"], ["const", 2]]], "x"),
    (["tuple", [ID, ["const", "a"]]], (17, "a")),
    (["unsafe", ["attr", X, "twice"]], 34),
    (["unsafe", ["method", X, "call", [["const", 3]]]], 20),
]


@pytest.mark.parametrize("expression, expected", CASES, ids=[str(case[0])[:50] for case in CASES])
def test_expression_value_equals_python(expression, expected):
    thing = Thing()
    value = compile_expression(expression, {"x": 0, "y": 1})((thing, Hostile()))
    assert value == (thing if expected is None else expected)


REFUSED = [
    ["attr", Y, "loud"],
    ["attr", X, "twice"],
    ["attr", Y, "absent"],
    ["item", Y, ["const", 0]],
    ["item", ["attr", X, "items"], Y],
    ["item", ["attr", X, "table"], Y],
    ["call", "len", [Y]],
    ["call", "str", [Y]],
    ["call", "int", [Y]],
    ["compare", "==", Y, ["const", 1]],
    ["compare", "==", ["const", 1], Y],
    ["compare", "==", ["tuple", [Y]], ["tuple", [Y]]],
    ["compare", "<", Y, Y],
    ["compare", "in", ["const", 1], Y],
    ["compare", "in", Y, ["attr", X, "items"]],
    ["binary", "+", Y, ["const", 1]],
    ["binary", "*", ["const", "x"], ["const", 9]],
    ["binary", "%", ["const", "%s"], ["tuple", [Y]]],
    ["not", Y],
    ["and", [Y, ["const", 1]]],
    ["method", Y, "lower", []],
    ["method", ["attr", X, "table"], "get", [Y]],
    ["compare", "<", ["const", 1], ["const", "a"]],
]


@pytest.mark.parametrize("expression", REFUSED, ids=str)
def test_expression_runs_no_code_of_the_program(expression):
    with pytest.raises((TypeError, AttributeError)):
        compile_expression(expression, {"x": 0, "y": 1})((Thing(), Hostile()))


def test_expression_in_list_does_not_call_methods_of_items():
    contains = compile_expression(["compare", "in", ["const", 3], X], {"x": 0})
    assert contains(([Hostile(), 3],)) is True
    assert contains(([Hostile(), 4],)) is False


@pytest.mark.parametrize("function", ["len", "str", "int", "repr"])
def test_expression_unsafe_runs_code_of_the_program(function):
    with pytest.raises(Ran):
        compile_expression(["unsafe", ["call", function, [Y]]], {"y": 0})((Hostile(),))


def test_expression_with_deleted_name_raises_name_error():
    with pytest.raises(NameError, match="x is deleted"):
        compile_expression(X, {"x": 0})((UNKNOWN,))


@pytest.mark.parametrize(
    "damaged",
    [
        ["name", "z"],
        ["what"],
        [],
        ["attr"],
        ["call", "eval", []],
        ["compare", "~", X, X],
        ["method", X, "format", []],
        "name",
        None,
        [["name", "x"]],
    ],
)
def test_compile_expression_malformed_raises_plan_error(damaged):
    with pytest.raises(PlanError):
        compile_expression(damaged, {"x": 0})


def test_expression_names_are_found_at_any_depth():
    expression = [
        "and",
        [["compare", "==", ["attr", X, "name"], ["const", ["name", "no"]]], ["unsafe", ["call", "len", [Y]]]],
    ]
    assert names(expression) == {"x", "y"}


scalars = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=3), st.none(), st.floats(-9, 9))


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%"]), scalars, scalars)
def test_expression_operators_of_scalars_equal_python_or_refuse(symbol, left, right):
    kind = "compare" if symbol in ("==", "!=", "<", "<=", ">", ">=") else "binary"
    try:
        expected = eval(f"left {symbol} right")
    except Exception as error:
        with pytest.raises(type(error)):
            compile_expression([kind, symbol, ["const", left], ["const", right]], {})(())
        return
    try:
        found = compile_expression([kind, symbol, ["const", left], ["const", right]], {})(())
    except TypeError:
        assert kind == "binary" and str in (type(left), type(right))
        return
    assert repr(found) == repr(expected)
