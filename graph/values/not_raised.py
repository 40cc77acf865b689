"""Find why an exception was not raised that a test expected: the `raise` statements that did not run, and what decided it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.graph.values.deciding_branch import deciding_branch
from clew.graph.values.flow import Flow
from clew.records.values.trace_format import Code

MOST = 3
_MESSAGE = re.compile(r"\w+\(['\"](?:DID NOT RAISE (.*)|(.*) not raised(?: by .*)?)['\"]\)", re.DOTALL)
"""What `pytest.raises` and `assertRaises` say, in the short form of the exception. They expect one class or several."""
_RAISE = "RAISE_VARARGS"


def not_raised(flow: Flow, message: str, before: int) -> dict[int, int]:
    """Return the branches that kept the expected exception from being raised, the newest before a node first, each with the
    line of the `raise`. Empty if `message` is not about a missing exception, or if no function that ran could raise it."""
    expected = _MESSAGE.fullmatch(message)
    if expected is None:
        return {}
    names = set(re.findall(r"\w+", expected[1] or expected[2])) - {"class"}
    found: dict[int, int] = {}
    for number, ran in flow.ran.items():
        for line in _raise_lines(flow.trace.codes[number], ran, names):
            branch = deciding_branch(flow, [number], line)
            if 0 < branch < before:
                found.setdefault(branch, line)
    return dict(sorted(found.items(), reverse=True)[:MOST])


def _raise_lines(code: Code, ran: bytearray, names: set[str]) -> Iterator[int]:
    """Yield the lines of the `raise` statements of one of the classes that did not run."""
    instructions = code.instructions
    for at, one in enumerate(instructions):
        if one.name != _RAISE or ran[at]:
            continue
        first = at
        while first and instructions[first - 1].line and one.line <= instructions[first - 1].line <= one.end_line:
            first -= 1
        if any(each.text in names for each in instructions[first:at]):
            yield one.line
