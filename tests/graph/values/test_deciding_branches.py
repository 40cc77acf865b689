"""A line that did not run has the branch that decided it. A line that an exception skipped has no branch."""

import pytest

from clew.graph.values.deciding_branch import deciding_branch
from clew.graph.values.flow import NodeKind
from tests.support.programs.second_look import Looked

PROGRAM = """
import contextlib


def simple(age):
    if age < 18:  # simple
        return 5  # cheap
    return 9


def nested(age, member):
    if member:  # outer
        if age < 18:
            return 1  # inner
    return 9


def looped(prices):
    for price in prices:  # loop
        print(price)  # body
    return 0


def left_early(text):
    if text:  # open
        number = int(text)
        return number + 1  # behind an exception
    return 0


def guarded(price):
    if price < 0:  # guard
        return None
    total = price * 2  # behind the guard
    return total


def twice(flag):
    if flag:  # in one call
        return 1  # only in one
    return 0


simple(30)
nested(12, False)
looped([])
with contextlib.suppress(ValueError):
    left_early("x")
guarded(-1)
twice(True)
twice(False)
"""
DECIDED = {
    "cheap": "simple",
    "inner": "outer",
    "body": "loop",
    "behind an exception": None,
    "behind the guard": "guard",
    "only in one": None,
}


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    return Looked(tmp_path_factory.mktemp("values"), PROGRAM)


def decided(looked, mark, call=None):
    """Return the line of the branch that kept the marked line from running, None for none."""
    flow, _ = looked.flow()
    line = looked.line(mark)
    codes = [
        number for number, one in enumerate(flow.trace.codes) if any(each.line == line for each in one.instructions)
    ]
    codes = [number for number in codes if flow.trace.codes[number].name != "<module>"]
    own = -1
    if call is not None:
        own = [one.number for one in flow.calls if one.code in codes][call]
    node = deciding_branch(flow, codes, line, own)
    assert not node or flow.kind[node] == NodeKind.BRANCH
    return flow.line_of(node) if node else None


@pytest.mark.parametrize("mark", DECIDED)
def test_branch_that_kept_a_line_from_running(looked, mark):
    branch = DECIDED[mark]
    assert decided(looked, mark) == (looked.line(branch) if branch else None)


def test_line_that_ran_in_another_call_has_a_branch_in_the_call_that_is_asked_about(looked):
    assert decided(looked, "only in one", call=1) == looked.line("in one call")
    assert decided(looked, "only in one", call=0) is None


def test_line_of_no_code_has_no_branch(looked):
    flow, _ = looked.flow()
    assert deciding_branch(flow, [0], 10_000) == 0
