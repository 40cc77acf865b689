"""Choose the steps that explain a value: from the value back to the lines that made it so.

A value usually has more causes than a person reads. The steps are chosen one by one, the cheapest first. A cost grows along
the way back, more so for what only selected a value than for what it was made from. State that another call wrote is cheap: a
reader of the code cannot see it.

Where other evidence tells which lines are likely to be wrong, the ways to these are chosen first. Of a long way the steps in
the middle are left out, and the step behind them says how many.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.graph.values.flow import Flow, NodeKind
from clew.graph.values.guide import Guide
from clew.graph.values.statements import Input, Statement, Statements, is_instance

MOST_STEPS = 12
_STATE = frozenset({NodeKind.ATTRIBUTE, NodeKind.ITEM, NodeKind.GLOBAL, NodeKind.CELL})
_OTHER_CALLS_STATE, _LOCAL, _RESULT, _PARAMETER, _OTHER = 0.5, 0.6, 0.8, 0.9, 1.0
_EARLIER = 2.0
_CONTROL, _CONTROL_OF_CONSTANT, _INNER_BRANCH = 1.6, 0.7, 0.9
_LOOP = 3.0
"""That a loop went on is seldom the reason."""
_POINTER = 2.5
_HOLDER = 1.5
"""An object beside plain values, such as the logger of a log line, is seldom in question."""
_REPEATED = 1.0
_KEYS = frozenset({"none", "bool", "int", "float", "str", "bytes", "tuple", "enum"})
"""Kinds of objects that select an item. Which object an attribute belongs to is seldom in question."""


@dataclass(frozen=True, slots=True)
class ValueStep:
    """One line of the explanation."""

    statement: Statement
    parent: int
    """The place in the chain of the step that this one explains; -1 for the first."""
    explains: Input | None
    """The input of the parent that this step explains; None for the value that was asked about."""
    is_control: bool = False
    """Whether it is why the parent's line ran, not where its value came from."""
    passed: tuple[int, ...] = ()
    """The CALLED nodes of the calls that passed the value on as an argument, from the parent back to this step."""
    skipped: int = 0
    """How many steps between the parent and this one were left out."""

    @property
    def node(self) -> int:
        return self.statement.node


@dataclass(frozen=True)
class Chain:
    steps: tuple[ValueStep, ...]
    """In reading order: each step before those that explain it, the likeliest first."""
    more: int
    """How many further steps were found and left out, at least."""


class _Candidate(NamedTuple):
    """A node that may become a step. The cheapest comes first, of equal ones the one found first."""

    cost: float
    order: int
    node: int
    parent: int = -1
    explains: Input | None = None
    is_control: bool = False
    passed: tuple[int, ...] = ()
    again: int = 0
    """How many steps of the same place it has waited for."""
    own_cost: float = 0.0
    """Its cost without regard to likely lines."""


class _Chosen(NamedTuple):
    step: ValueStep
    cost: float
    way: int
    """The number of the way to a likely line that ends here; -1 for none."""


def chain_of(
    flow: Flow,
    statements: Statements,
    criterion: list[int],
    most: int = MOST_STEPS,
    ways: Sequence[Sequence[int]] = (),
) -> Chain:
    """Return the steps that explain the nodes of `criterion`, at most `most` of them.

    `ways` are ways to likely lines, the likeliest first: nodes from the criterion back to one of the line.
    """
    guide = Guide(flow, ways)
    chosen: list[_Chosen] = []
    waiting = [_Candidate(guide.cost(node, 0.0), order, node) for order, node in enumerate(criterion)]
    order = len(waiting)
    seen: set[int] = set()
    shown: dict[tuple[int, int], int] = {}
    """By code and instruction: how many of its steps are in the chain."""
    told_calls: set[tuple[int, int]] = set()
    """A parent and a call that a step below it tells."""
    called: set[int] = set()
    """The CALLED nodes of calls that a step about an argument shows."""
    while waiting and (len(chosen) < most or waiting[0].cost < 0):
        one = heapq.heappop(waiting)
        node, parent = one.node, one.parent
        is_target = node in guide.targets
        if node in seen or (parent >= 0 and flow.kind[node] == NodeKind.CONSTANT and not is_target):
            # The step that read a literal shows it.
            continue
        order += 1
        location = (flow.calls[flow.call[node]].code, flow.instruction[node]) if flow.call[node] >= 0 else (-1, node)
        repeated = shown.get(location, 0) - one.again
        if parent >= 0 and repeated > 0 and one.cost >= 0:
            # A loop runs a line many times: other lines come first.
            cost = one.cost + _REPEATED * repeated
            late = one._replace(cost=cost, own_cost=cost, order=order, again=shown[location])
            heapq.heappush(waiting, late)
            continue
        seen.add(node)
        statement = statements.of(node)
        if flow.kind[node] == NodeKind.PARAMETER and not statement.inputs and not is_target:
            # A step about one literal argument shows the whole call.
            call = parent, flow.call[node]
            if call in told_calls:
                continue
            told_calls.add(call)
        place, via, passed = parent, one.explains, one.passed
        above = chosen[parent].step if parent >= 0 else None
        if node not in called and (
            one.is_control
            or is_target
            or not (_is_read(flow, statement) if above is None else _is_passed_on(flow, statement, above))
        ):
            place, via, passed = len(chosen), None, ()
            step = ValueStep(statement, parent, one.explains, one.is_control, one.passed)
            chosen.append(_Chosen(step, one.own_cost, guide.targets.get(node, -1)))
            shown[location] = shown.get(location, 0) + 1
            if flow.kind[node] == NodeKind.PARAMETER:
                called.add(flow.calls[flow.call[node]].node)
        elif flow.kind[node] == NodeKind.PARAMETER:
            passed = (*passed, flow.calls[flow.call[node]].node)
        causes = list(_causes(flow, statement))
        known = {cause for _, cause, _, _ in causes}
        causes += [
            (_OTHER, cause, None, flow.control[node] == cause) for cause in guide.next(node) if cause not in known
        ]
        for weight, cause, read, is_control in causes:
            order += 1
            cost = one.own_cost + weight
            made = _Candidate(guide.cost(cause, cost), order, cause, place, via or read, False, passed, 0, cost)
            heapq.heappush(waiting, made._replace(explains=None, is_control=True, passed=()) if is_control else made)
    kept = _kept(chosen, most)
    return Chain(_in_reading_order(chosen, kept), len(waiting) + len(chosen) - len(kept))


def _kept(chosen: Sequence[_Chosen], most: int) -> list[int]:
    """Return the places of the steps to show: those asked about, those of likely lines and before them, then the cheapest."""
    if len(chosen) <= most:
        return list(range(len(chosen)))
    before_likely = {one.step.parent for one in chosen if one.way >= 0}

    def rank(place: int) -> tuple[int, int, float, int]:
        one = chosen[place]
        if one.step.parent < 0:
            group = 0
        elif one.way >= 0:
            group = 1
        else:
            group = 2 if place in before_likely else 3
        return group, one.way, one.cost, place

    return sorted(sorted(range(len(chosen)), key=rank)[:most])


def _is_passed_on(flow: Flow, statement: Statement, above: ValueStep) -> bool:
    """Return whether a step only passes a value on: a variable or parameter that got another one, or what a call returned.

    The steps behind it then explain the input of its parent.
    """
    inputs, node = statement.inputs, statement.node
    kind, item = flow.kind[node], flow.object[node]
    if kind not in (NodeKind.LOCAL, NodeKind.PARAMETER, NodeKind.CELL):
        return False
    if not inputs:
        # The step of a store tells its call, and so the literal argument.
        return (
            kind == NodeKind.PARAMETER and flow.kind[above.node] in _STATE and flow.call[above.node] == flow.call[node]
        )
    return len(inputs) == 1 and inputs[0].object == item >= 0


def _is_read(flow: Flow, statement: Statement) -> bool:
    """Return whether the value that was asked about was only read there, so that its writer is the first step."""
    inputs, item = statement.inputs, flow.object[statement.node]
    return flow.kind[statement.node] == NodeKind.EXPRESSION and len(inputs) == 1 and inputs[0].object == item >= 0


def _causes(flow: Flow, statement: Statement) -> Iterator[tuple[float, int, Input | None, bool]]:
    node = statement.node
    for one in statement.inputs:
        is_holder = len(statement.inputs) > 1 and is_instance(flow, one.object)
        yield _cost(flow, node, one) + _HOLDER * is_holder, one.node, one, False
    for one in statement.pointers:
        if flow.object[one.node] >= 0 and flow.trace.objects[flow.object[one.node]].kind in _KEYS:
            yield _POINTER, one.node, one, False
    for branch in statement.branches:
        yield _INNER_BRANCH, branch, None, True
    control = flow.control[node]
    if flow.kind[node] == NodeKind.PARAMETER:
        # A parameter depends on the call, and the same step shows the call. The branch above the call controls it.
        control = flow.control[control] if control else 0
    while control and flow.kind[control] == NodeKind.CALLED:
        control = flow.control[control]
    if control:
        weight = _CONTROL if statement.inputs else _CONTROL_OF_CONSTANT
        if (
            flow.kind[control] == NodeKind.BRANCH
            and flow.code_of(control).instructions[flow.instruction[control]].name == "FOR_ITER"
        ):
            weight = _LOOP
        yield weight, control, None, True


def _cost(flow: Flow, node: int, one: Input) -> float:
    kind = flow.kind[one.node]
    if kind == NodeKind.EARLIER:
        return _EARLIER
    if kind in _STATE:
        return _OTHER_CALLS_STATE if flow.call[one.node] != flow.call[node] else _LOCAL
    if kind == NodeKind.RESULT:
        return _RESULT
    if kind == NodeKind.LOCAL:
        return _LOCAL
    if kind == NodeKind.PARAMETER:
        return _PARAMETER
    return _OTHER


def _in_reading_order(chosen: Sequence[_Chosen], kept: Sequence[int]) -> tuple[ValueStep, ...]:
    """Put each step's causes behind it, the cheapest first, and renumber the parents."""
    shown = set(kept)
    steps: dict[int, ValueStep] = {}
    children: dict[int, list[int]] = {}
    for place in kept:
        parent, skipped = chosen[place].step.parent, 0
        while parent >= 0 and parent not in shown:
            parent, skipped = chosen[parent].step.parent, skipped + 1
        step = replace(chosen[place].step, parent=parent, skipped=skipped)
        # The name that the parent had for the value is that of the step left out.
        steps[place] = replace(step, explains=None, passed=(), is_control=False) if skipped else step
        children.setdefault(parent, []).append(place)
    order: list[int] = []
    waiting = sorted(children.get(-1, []), reverse=True)
    while waiting:
        place = waiting.pop()
        order.append(place)
        waiting += sorted(children.get(place, []), key=lambda one: chosen[one].cost, reverse=True)
    number = {place: at for at, place in enumerate(order)}
    return tuple(replace(steps[place], parent=number.get(steps[place].parent, -1)) for place in order)
