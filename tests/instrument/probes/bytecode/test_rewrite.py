"""Rewritten code: jumps and constants of any size, and the attributes of code objects."""

from __future__ import annotations

import ast
import types

import pytest

from clew.instrument.probes.bytecode.rewrite import Probes, is_function, parameters, rewrite


def test_rewrite_code_with_more_than_256_constants(trace):
    items = ", ".join(f"x + {number}.5" for number in range(700))
    source = f"def f(x):\n    return [{items}]\nresult = f(1)"
    assert trace.load(source)["result"] == trace.load(source, traced=False)["result"]
    assert trace.take() == ["ENTER f", "EXIT f"]


@pytest.mark.parametrize("length", [1, 15, 20, 25, 30, 60, 250, 3000])
def test_rewrite_jumps_that_need_more_prefixes(trace, length):
    body = "\n".join(f"        if n == {number}: yield n" for number in range(length))
    source = f"def g(m):\n    for n in range(m):\n        if n < 0: continue\n{body}\n"
    source += "    else:\n        yield -1\nresult = list(g(5))"
    assert trace.load(source)["result"] == trace.load(source, traced=False)["result"]
    log = trace.take()
    assert log.count("SUSPEND g") == log.count("RESUME g") == min(length, 5) + 1
    assert log[-1] == "EXIT g"


def test_rewrite_code_that_begins_with_a_prefix(trace):
    names = [f"v{number}" for number in range(300)]
    inner = "def g(): return " + " + ".join(names)
    assigned = "; ".join(f"{name} = 1" for name in names)
    source = f"def f(x):\n    {assigned}\n    {inner}\n    return g() + x\nresult = f(1)"
    assert trace.load(source)["result"] == 301
    assert trace.take() == ["ENTER f", "ENTER f.g", "EXIT f.g", "EXIT f"]


def test_rewrite_preserves_attributes_of_code_object(trace):
    def f(a, *b, c=1, **d):
        def g():
            return a

        return g

    before, after = f.__code__, trace.rewrite(f.__code__)
    for name in (
        "co_flags",
        "co_freevars",
        "co_cellvars",
        "co_varnames",
        "co_firstlineno",
        "co_name",
        "co_qualname",
        "co_filename",
    ):
        assert getattr(after, name) == getattr(before, name)
    assert after.co_stacksize <= before.co_stacksize + 2
    assert after == after.replace() and hash(after) == hash(after.replace())


def test_rewrite_without_chosen_functions_returns_the_same_code():
    code = compile("def f():\n    def g(): pass\n", "x", "exec")
    assert rewrite(code, lambda found: None, lambda site, kind: None) is code


def test_is_function_rejects_class_bodies_and_comprehensions():
    tree = "class C:\n    x = [i for i in ()]\n    def m(self): return (i for i in ()), lambda: 0\n"
    seen = {}

    def walk(code):
        seen[code.co_name] = is_function(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                walk(constant)

    walk(compile(ast.parse(tree), "x", "exec"))
    assert {name for name, is_one in seen.items() if is_one} == {"m", "<lambda>"}


def test_parameters_marks_deletable_ones_and_cells():
    def f(a, b, *c, d, **e):
        del a
        try:
            pass
        except KeyError as b:
            print(b)
        return lambda: (d, c)

    found = parameters(f.__code__)
    assert list(found) == ["a", "b", "d", "c", "e"]
    assert [name for name in found if found[name].deletable] == ["a", "b"]
    assert [name for name in found if found[name].in_cell] == ["d", "c"]


def test_rewrite_numbers_outer_sites_before_nested_ones(trace):
    trace.rewrite(compile("def a():\n    def b(): pass\ndef c(): pass\n", "x", "exec"))
    assert trace.names[1:] == ["a", "a.b", "c"]


def test_rewrite_gives_all_probes_of_a_function_one_site():
    made = []

    def make_probe(site, kind):
        made.append((site, kind.name))
        return object()

    def f(x):
        if x:
            return 1
        yield 2

    rewrite(f.__code__, lambda code: Probes(9), make_probe)
    assert sorted(made) == [(9, "ENTER"), (9, "EXIT"), (9, "RESUME"), (9, "SUSPEND"), (9, "UNWIND")]
