"""Expressions mean what the same text means in Python, and run no code of the program without `unsafe`."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.esl import compile_text

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def lowered(text: str) -> Any:
    compiled = compile_text(f"payload finish a:f value unsafe ({text});", workspace="/")
    assert compiled.plan is not None, [problem.message for problem in compiled.problems]
    value = compiled.plan.rules[0].actions[0].key
    assert value is not None and value[0] == "unsafe"
    return value[1]


def python(node: ast.expr) -> Any:
    """Return the plan's form of an expression by Python's own parser (the oracle)."""
    match node:
        case ast.Constant():
            return ["const", node.value]
        case ast.Name():
            return ["name", node.id]
        case ast.Attribute():
            return ["attr", python(node.value), node.attr]
        case ast.Subscript():
            return ["item", python(node.value), python(node.slice)]
        case ast.Call(func=ast.Name()):
            return ["call", node.func.id, [python(each) for each in node.args]]
        case ast.Call(func=ast.Attribute()):
            return ["method", python(node.func.value), node.func.attr, [python(each) for each in node.args]]
        case ast.UnaryOp(op=ast.Not()):
            return ["not", python(node.operand)]
        case ast.UnaryOp(op=ast.USub()):
            operand = python(node.operand)
            number = operand[0] == "const" and type(operand[1]) in (int, float)
            return ["const", -operand[1]] if number else ["binary", "-", ["const", 0], operand]
        case ast.BinOp():
            return ["binary", OPERATORS[type(node.op)], python(node.left), python(node.right)]
        case ast.BoolOp():
            return ["and" if isinstance(node.op, ast.And) else "or", [python(each) for each in node.values]]
        case ast.Compare():
            values = [python(each) for each in (node.left, *node.comparators)]
            pairs = [
                ["compare", OPERATORS[type(op)], left, right] for op, left, right in zip(node.ops, values, values[1:])
            ]
            return pairs[0] if len(pairs) == 1 else ["and", pairs]
        case ast.Tuple():
            return ["tuple", [python(each) for each in node.elts]]
    raise AssertionError(ast.dump(node))


names = st.sampled_from(
    ["a", "message", "this", "result", "key", "value", "when", "start", "limit", "each", "ünï", "_x1"]
)
atoms = (
    names
    | st.integers(0, 10**6).map(str)
    | st.sampled_from(
        ["1.5", "2e3", "1_000", "True", "False", "None", '"text"', "'it\\'s'", '"a" "b"', '"//"', '"#;{}"', "()"]
    )
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        "+ - * / % == != < <= > >= in is and or".split() + ["not in", "is not", "\n+ // comment\n", "/* c */ - # c\n"]
    )
    return st.one_of(
        inner.map(lambda a: f"({a})"),
        inner.map(lambda a: f"-{a}"),
        inner.map(lambda a: f"not {a}"),
        st.tuples(inner, binary, inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        st.tuples(inner, binary, inner, binary, inner).map(" ".join),
        st.tuples(names, names).map(".".join),
        st.tuples(names, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        inner.map(lambda a: f"len({a})"),
        st.tuples(names, inner).map(lambda t: f"{t[0]}.get({t[1]}, 1)"),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: f"({', '.join(items)},)"),
    )


@given(st.recursive(atoms, compound, max_leaves=12))
def test_lowered_expression_equals_the_python_parser(text: str) -> None:
    in_python = text.replace("// comment", "# comment").replace("/* c */", " ")
    try:
        tree = ast.parse(f"({in_python}\n)", mode="eval").body
    except SyntaxError:
        assert compile_text(f"payload finish a:f value unsafe ({text});", workspace="/").plan is None
        return
    assert lowered(text) == python(tree)


def test_expression_parameter_may_be_named_like_a_keyword() -> None:
    compiled = compile_text("send a:f key key as as when when == value.limit.each;", workspace="/")
    assert compiled.plan is not None
    action = compiled.plan.rules[0].actions[0]
    assert (action.key, action.channel) == (["name", "key"], "as")
    assert action.condition == [
        "compare",
        "==",
        ["name", "when"],
        ["attr", ["attr", ["name", "value"], "limit"], "each"],
    ]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("this.name()", "calling `name` runs code"),
        ("message.text.lower().title()", "calling `title` runs code"),
        ("open(path)", "`open` is not a function of the spec language"),
        ("eval(path)", "`eval` is not a function of the spec language"),
        ("len()", "`len` takes one value, but got 0"),
        ("a.get()", "`get` takes 1 or 2 values, but got 0"),
        ("a.strip(1, 2)", "`strip` takes 0 or 1 values, but got 2"),
        ("a.handlers[0]()", "only a function or a method can be called"),
        ("result", "`result` has a value only after the call has ended"),
        ("len(exception.args)", "`exception` has a value only after the call has ended"),
    ],
)
def test_expression_that_runs_code_or_is_invalid_is_an_error(text: str, fragment: str) -> None:
    compiled = compile_text(f"payload a:f value {text};", workspace="/")
    assert compiled.plan is None
    assert [problem.message for problem in compiled.problems if fragment in problem.message]


@pytest.mark.parametrize("text", ["len(a)", "id(this)", "str(1)", "int(a)", "type(a)", "repr(a)", "a.startswith('x')"])
def test_expression_builtin_calls_need_no_unsafe(text: str) -> None:
    assert compile_text(f"payload a:f value {text};", workspace="/").problems == ()


def test_unsafe_allows_any_method_but_no_unknown_function() -> None:
    assert compile_text("payload a:f value unsafe this.name(1).title();", workspace="/").problems == ()
    assert compile_text("payload a:f value unsafe open(path);", workspace="/").plan is None


def test_unsafe_applies_to_the_following_value_only() -> None:
    compiled = compile_text("payload a:f value unsafe this.a() + this.b();", workspace="/")
    assert [problem.message[:12] for problem in compiled.problems] == ["calling `b` "]


@pytest.mark.parametrize("depth", [50, 100, 1000, 20_000])
@pytest.mark.parametrize("text", ["({0}", "-{0}", "not {0}", "len({0}", "a[{0}", "({0},"])
def test_expression_nested_too_deep_is_refused(text: str, depth: int) -> None:
    close = {"(": ")", "[": "]"}
    closing = "".join(close[c] for c in reversed(text.replace(",", "")) if c in close)
    source = text.partition("{0}")[0] * depth + "a" + (("," if text.endswith(",") else "") + closing) * depth
    compiled = compile_text(f"payload a:f value {source}; scope b;", workspace="/")
    assert compiled.rules[-1].pattern.text == "b"
    nests = not text.startswith("({0}") or text.endswith(",")
    assert (compiled.plan is None) == (nests and depth > 60)


def test_expression_chained_too_long_is_refused() -> None:
    for joint in (".a", " + a", "[0]"):
        compiled = compile_text(f"payload a:f value a{joint * 5000};", workspace="/")
        assert compiled.plan is None and "nested more than" in compiled.problems[0].message
    for joint in (" and a", " or a", " < a"):
        assert compile_text(f"payload a:f value a{joint * 500};", workspace="/").plan is not None
