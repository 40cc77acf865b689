"""Control dependence equals its definition on the graph of a function."""

import textwrap

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.values.control_dependence import branches_above, successors
from clew.instrument.values.code_tables import described

STATEMENTS = st.recursive(
    st.sampled_from(["a = b", "b = a + 1", "f(a)", "return a", "continue", "break"]),
    lambda inner: st.one_of(
        st.tuples(st.just("if a:"), st.lists(inner, min_size=1, max_size=3), st.lists(inner, max_size=2)),
        st.tuples(st.just("while b:"), st.lists(inner, min_size=1, max_size=3), st.just([])),
        st.tuples(st.just("for c in a:"), st.lists(inner, min_size=1, max_size=3), st.just([])),
    ),
    max_leaves=8,
)


def lines(statement, loop=False):
    if isinstance(statement, str):
        return [statement if loop or statement not in ("continue", "break") else "pass"]
    head, body, other = statement
    inside = loop or not head.startswith("if")
    found = [head, *("    " + line for one in body for line in lines(one, inside))]
    return found + (["else:", *("    " + line for one in other for line in lines(one, loop))] if other else [])


def instructions_of(source):
    namespace = {}
    exec(compile(source, "app.py", "exec"), namespace)
    return described(namespace["made"].__code__, 0, "app")[0].instructions


def by_definition(instructions):
    """An instruction depends on a branch if it post-dominates one way out of the branch and not the branch itself."""
    graph = networkx.DiGraph()
    end = len(instructions)
    after = successors(instructions)
    for at, ways in enumerate(after):
        for way in ways or [end]:
            graph.add_edge(way, at)
    above = networkx.immediate_dominators(graph, end)

    def behind(at):
        found = {at}
        while at in above and above[at] not in (at, None):
            at = above[at]
            found.add(at)
        return found

    return [
        tuple(
            branch
            for branch in range(end)
            if len(after[branch]) > 1 and any(at in behind(way) for way in after[branch])
            and not (at in behind(branch) and at != branch)
        )
        for at in range(end)
    ]  # fmt: skip


@given(st.lists(STATEMENTS, min_size=1, max_size=4))
def test_branches_above_equal_the_definition(statements):
    body = [line for one in statements for line in lines(one)]
    instructions = instructions_of("def made(a, b, f):\n" + textwrap.indent("\n".join(body), "    ") + "\n")
    expected = by_definition(instructions)
    graph = networkx.DiGraph((at, way) for at, ways in enumerate(successors(instructions)) for way in ways)
    graph.add_nodes_from(range(len(instructions)))
    ends = [at for at, one in enumerate(instructions) if one.name.startswith("RETURN_")]
    ending = set(ends).union(*(networkx.ancestors(graph, at) for at in ends))
    found = branches_above(instructions)
    for at in networkx.descendants(graph, 0) | {0}:
        if at in ending and networkx.descendants(graph, at) <= ending:
            assert found[at] == expected[at]


@pytest.mark.parametrize("guard", ["if a:\n        raise ValueError", "assert a"])
def test_code_behind_a_guard_does_not_depend_on_it(guard):
    instructions = instructions_of(f"def made(a, b, f):\n    {guard}\n    return f(b)\n")
    last = max(at for at, one in enumerate(instructions) if one.name.startswith("RETURN_"))
    raises = next(at for at, one in enumerate(instructions) if one.name == "RAISE_VARARGS")
    found = branches_above(instructions)
    assert found[last] == () and found[raises] != ()
