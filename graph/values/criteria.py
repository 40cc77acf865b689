"""Find the value that is asked about: the sides of a failed assertion, what led to an exception, or an expression at a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clew.graph.values.flow import Flow, NodeKind
from clew.graph.values.not_raised import not_raised
from clew.graph.values.statements import Statements
from clew.records.errors import ClewError

_LONGEST_NAME = 30
"""Longer expressions of a line are not offered in its place."""
_LAST_RESULTS = 3
"""How many results a test got last are asked about where its failure tells no value."""


class NoSuchValue(ClewError):
    """The second look has no value for the expression, line or exception."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is asked about."""

    nodes: tuple[int, ...]
    """The nodes whose values are to be explained, the first in front."""
    raised: int = 0
    """The RAISED node of the failure; 0 if a value is asked about."""
    is_fallback: bool = False
    """Whether the failure told no value, so that the last results the test got are explained."""
    not_raised: Mapping[int, int] = field(default_factory=dict)
    """The branches that kept the expected exception from being raised, each with the line of the `raise`."""


def of_failure(flow: Flow, exception: int) -> Criterion:
    """Return the criterion of a failed test. `exception` is the object that ended it. Raises `NoSuchValue`."""
    raised = flow.raised.get(exception, 0)
    if not raised:
        raise NoSuchValue("the failure was raised in code that was not followed")
    name = flow.instruction_name(raised)
    branch = flow.control[raised]
    if name == "RAISE_VARARGS" and flow.kind[branch] == NodeKind.BRANCH and _is_assertion(flow, raised):
        return Criterion((branch,), raised)
    if _has_values(flow, raised):
        return Criterion((raised,), raised)
    branches = not_raised(flow, flow.trace.outcome.message, raised)
    if branches:
        return Criterion((raised, *branches), raised, not_raised=branches)
    last = _last_results(flow, flow.call[raised], raised)
    return Criterion((raised, *last), raised, is_fallback=True)


def _is_assertion(flow: Flow, raised: int) -> bool:
    item = flow.object[raised]
    if item < 0:
        return False
    kind = flow.trace.objects[item].type
    return kind >= 0 and flow.trace.objects[kind].text == "AssertionError"


def _has_values(flow: Flow, raised: int) -> bool:
    """Return whether a failure depends on a value that the program computed."""
    seen: set[int] = set()
    waiting = list(flow.data[raised])
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if flow.kind[node] not in (NodeKind.EXPRESSION, NodeKind.CONSTANT, NodeKind.EARLIER):
            return True
        waiting += flow.data[node]
    return flow.kind[flow.control[raised]] == NodeKind.BRANCH


def _last_results(flow: Flow, call: int, before: int) -> Iterator[int]:
    """Return the last results of followed functions that a call got, the newest first."""
    count = 0
    for node in range(before - 1, 0, -1):
        if flow.kind[node] == NodeKind.RESULT and flow.calls[flow.call[node]].caller == call:
            yield node
            count += 1
            if count == _LAST_RESULTS:
                return


def of_expression(flow: Flow, statements: Statements, expression: str, file: str, line: int) -> Criterion:
    """Return the newest value that an expression had at a line. Raises `NoSuchValue`."""
    wanted = "".join(expression.split())
    at_line = 0
    names: set[str] = set()
    for node in range(len(flow) - 1, 0, -1):
        if flow.call[node] < 0 or flow.line_of(node) != line or flow.code_of(node).file != file:
            continue
        at_line = at_line or node
        for name in (statements.target(node), statements.segment(node)):
            if name and "".join(name.split()) == wanted:
                return Criterion((node,))
            if name and len(name) <= _LONGEST_NAME and not name.startswith(("def ", "class ", ".")):
                names.add(name)
    if not at_line:
        raise NoSuchValue(f"{file}:{line} did not run in the second look")
    call = flow.call[at_line]
    for node in range(at_line, 0, -1):
        is_variable = flow.kind[node] in (NodeKind.LOCAL, NodeKind.PARAMETER, NodeKind.CELL)
        if is_variable and flow.call[node] == call and statements.target(node) == wanted:
            return Criterion((node,))
    known = ", ".join(sorted(names)[:8])
    raise NoSuchValue(f"{file}:{line} has no value {expression!r}" + (f"; it has {known}" if known else ""))


def of_call_at(flow: Flow, file: str, line: int, number: int) -> Criterion:
    """Return the arguments of a call at a line, such as a log line's; `number` counts the line's executions from 0, -1 is the
    last. Raises `NoSuchValue`."""
    found: dict[tuple[int, int], int] = {}
    runs: list[int] = []
    for node in range(1, len(flow)):
        if flow.call[node] < 0 or flow.instruction[node] < 0 or flow.line_of(node) != line:
            continue
        if flow.code_of(node).file == file and flow.instruction_name(node) in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            place = (flow.call[node], flow.instruction[node])
            if place in found or not runs:
                found.clear()
                runs.append(node)
            # The outermost call of the line comes last.
            found[place] = node
            runs[-1] = node
    if not runs:
        raise NoSuchValue(f"{file}:{line} did not run in the second look")
    return Criterion((runs[number if -len(runs) <= number < len(runs) else -1],))
