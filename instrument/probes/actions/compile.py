"""Compile the actions of a plan at a function, besides its enter and exit, to the calls of its rewritten code.

Invariant: an action never raises into the program and evaluates only what `expressions` allows. On a failure, the
record is flagged (`FLAG_FAILED`, with the error's type as text). Only an interrupt of the program itself passes
through.

Order within a call: ENTER, actions that open a scope, other start actions; at finish the sources of the call, EXIT,
its targets.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CellType
from typing import Any

from clew.instrument.probes import sites
from clew.instrument.probes.actions import entity_ids, expressions, resources, values
from clew.instrument.probes.actions.cost import Meter, meter_of, now
from clew.instrument.probes.actions.expressions import UNKNOWN, Arguments, Evaluate
from clew.instrument.probes.actions.rate_limit import Rate, rate_of
from clew.instrument.probes.bytecode.rewrite import Call, Parameter, Probes
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.probes.install.interrupts import is_interrupt
from clew.instrument.propagation import traceparent
from clew.instrument.recorder import redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.errors import PlanError
from clew.records.format.event import FLAG_AMBIGUOUS, FLAG_FAILED, FLAG_TRUNCATED, MAX_TEXT, Kind
from clew.records.format.keys import NotAKey, key_of
from clew.records.plan.plan import Action, Expr

_KINDS = {
    "send": Kind.SEND,
    "receive": Kind.RECEIVE,
    "join": Kind.JOIN,
    "define": Kind.DEFINE,
    "use": Kind.USE,
    "release": Kind.RELEASE,
    "acquire": Kind.ACQUIRE,
    "handle": Kind.SCOPE_BEGIN,
    "request": Kind.REQUEST,
    "name": Kind.NAME,
    "inject": Kind.SEND,
    "extract": Kind.RECEIVE,
    "payload": Kind.PAYLOAD,
    "entity": Kind.ENTITY,
    "take": Kind.WAIT,
    "untake": Kind.WAKE,
    "hold": Kind.HOLD,
    "give": Kind.RETURN,
}
_OPENING = frozenset({"receive", "extract", "handle", "request"})
_AFTER_THE_CALL = frozenset({"receive", "join", "use", "acquire", "extract"})
_DROPPABLE = frozenset({"payload", "entity"})
_SEQUENCES = frozenset({list, tuple, set, frozenset, dict, deque})
_KEY_TEXT = 64
_NAME_TEXT = 100
_ENTITY_TEXT = 200
_MOST_NAMES = 200
"""Maximum number of names computed by one statement."""
_MOST_HELD = 1000
"""Maximum number of objects that are recorded of one container."""
_PROCESS = os.urandom(8)
_JSON = json.JSONEncoder().encode

Step = Callable[[Arguments], None]


def compile_actions(
    site: int, parameters: Mapping[str, Parameter], label: str, actions: Iterable[tuple[Action, str]]
) -> Probes:
    """Return the probes of a function with `actions`, each with its origin in the spec.

    An action that this function cannot fulfil is skipped, and a note in the trace gives the reason.
    """
    phases = {
        name: _Phase(site, parameters)
        for name in ("start", "before_exit", "after_exit", "before_unwind", "after_unwind")
    }
    scopes = 0
    for action, origin in sorted(actions, key=lambda pair: pair[0].kind not in _OPENING):
        try:
            if action.when == "start":
                phases["start"].add(action, "", origin)
                if action.kind == "handle":
                    scopes += 1
                continue
            place = "after" if action.kind in _AFTER_THE_CALL else "before"
            at_exit, at_unwind = _ends(action)
            if at_exit:
                phases[f"{place}_exit"].add(action, "result", origin)
            if at_unwind:
                phases[f"{place}_unwind"].add(action, "exception", origin)
        except PlanError as error:
            sites.note(f"{origin or 'the plan'}: {action.kind} is not recorded at {label}: {error}", site)
    for _ in range(scopes):
        phases["before_exit"].end_scope("result")
        phases["before_unwind"].end_scope("exception")
    calls: dict[str, Any] = {name: phase.call() for name, phase in phases.items()}
    return Probes(site, **calls)


def _ends(action: Action) -> tuple[bool, bool]:
    """Return whether a finish action is recorded when the call returns, and when it raises.

    An action that needs a value is recorded only at the end that has it. A condition on `exception` alone checks
    which end it is.
    """
    if action.kind in ("hold", "untake"):
        return action.kind == "hold", action.kind == "untake"
    needed = {name for part in (action.key, action.carrier, *action.values) if part for name in expressions.names(part)}
    condition = expressions.names(action.condition) if action.condition else set()
    result, exception = "result" in needed | condition, "exception" in needed
    return not exception or result, not result or "exception" in needed | condition


class _Phase:
    """The actions of a function at one moment, and the parameters that they read."""

    def __init__(self, site: int, parameters: Mapping[str, Parameter]) -> None:
        self._site = site
        self._parameters = parameters
        self._read: list[Parameter] = []
        self._steps: list[Step] = []
        self._edges: list[Step] = []
        self._finish = False

    def add(self, action: Action, subject: str, origin: str) -> None:
        """Add an action.

        `subject` is the first argument of the call: "result", "exception" or "". `origin` identifies the statement.
        Raise `PlanError` if the function cannot fulfil the action.
        """
        self._finish = bool(subject)
        read, slots = list(self._read), {}
        for name in {name for part in _expressions(action) for name in expressions.names(part)}:
            if name in ("result", "exception") and subject:
                slots[name] = 0 if name == subject else -1
                continue
            parameter = self._parameter(name)
            if parameter not in read:
                read.append(parameter)
            slots[name] = read.index(parameter) + bool(subject)
        step = _step(self._site, action, slots, origin)
        self._steps.append(step)
        if action.kind in _DROPPABLE:
            meter_of(self._site).droppable = True
        else:
            self._edges.append(step)
        self._read = read

    def end_scope(self, subject: str) -> None:
        """End the scope that a `handle` opened, after all other records of the call itself."""
        self._finish, site = bool(subject), self._site

        def step(_arguments: Arguments) -> None:
            core.emit(Kind.SCOPE_END, site, 0)

        self._steps.append(step)
        self._edges.append(step)

    def _parameter(self, name: str) -> Parameter:
        if name == "this" and name not in self._parameters:
            if not self._parameters:
                raise PlanError("it has no parameter that could be `this`")
            name = next(iter(self._parameters))
        parameter = self._parameters.get(name)
        if parameter is None:
            known = ", ".join(self._parameters) or "none"
            raise PlanError(f"no parameter `{name}`; known parameters: {known}")
        if self._finish and parameter.deletable and not parameter.in_cell:
            raise PlanError(f"`{name}` may be deleted before the call ends; record it at `start`")
        return parameter

    def call(self) -> Call | None:
        if not self._steps:
            return None
        cells = [slot + self._finish for slot, parameter in enumerate(self._read) if parameter.in_cell]
        function = _run_all(meter_of(self._site), tuple(self._steps), tuple(self._edges), tuple(cells))
        return Call(Quiet(function), tuple(parameter.position for parameter in self._read))


def _expressions(action: Action) -> list[Expr]:
    return [part for part in (action.key, action.carrier, action.condition, *action.values) if part]


def _run_all(meter: Meter, steps: Sequence[Step], edges: Sequence[Step], cells: Sequence[int]) -> Callable[..., None]:
    """Run all steps; `edges` are the steps that run even when the budget is exceeded."""
    active, emitted = core.active, core.emitted

    def run(*arguments: Any) -> None:
        if active():
            selected = edges if meter.skips() else steps
            if not selected:
                return
            timed = meter.left <= 0
            meter.left -= 1
            if timed:
                began, before = now(), emitted()
            # The extra None at -1 is for values that do not exist at this end of the call.
            opened = [*arguments, None]
            for slot in cells:
                opened[slot] = _contents(opened[slot])
            for step in selected:
                step(opened)
            if timed:
                meter.book(now() - began, emitted() - before)

    return run


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN


def _step(site: int, action: Action, slots: dict[str, int], origin: str) -> Step:
    kind, channel = _KINDS[action.kind], intern(action.channel) if action.channel else 0
    rate = _rate(action, origin)
    condition = expressions.compile_expression(action.condition, slots) if action.condition else None
    record = _recorder(site, action, slots, kind, channel)
    runs_user_code = any(_has_unsafe(part) for part in _expressions(action))

    def step(arguments: Arguments) -> None:
        try:
            if (condition is None or values.truth(condition(arguments))) and (rate is None or rate.admits(site)):
                record(arguments)
        except BaseException as error:
            if is_interrupt(error, runs_user_code=runs_user_code):
                raise
            if action.kind in resources.KINDS:
                sites.note(f"{origin}: the resource is not recorded: {values.class_name(error)}", site)
                return
            core.emit(kind, site, 0, channel, values.class_name(error).encode("utf-8", "replace"), FLAG_FAILED)

    return step


def _rate(action: Action, origin: str) -> Rate | None:
    if not action.most:
        return None
    what = "payloads" if action.kind == "payload" else f"events `{action.event}`"
    name = f"{action.channel} {what}" if action.channel else what
    key = origin, action.kind, action.channel, action.event, action.each
    return rate_of(key, action.most, action.per, intern(name), name)


def _has_unsafe(expression: Expr) -> bool:
    return expression[:1] == ["unsafe"] or any(_has_unsafe(part) for part in expression if isinstance(part, list))


def _recorder(site: int, action: Action, slots: dict[str, int], kind: Kind, channel: int) -> Step:
    hides = redaction.current().hides

    def evaluated(expression: Expr | None) -> Evaluate:
        return expressions.compile_expression(expression or ["const", None], slots)

    def recorded(expression: Expr | None) -> Evaluate:
        return evaluated(expressions.without_hidden(expression or ["const", None], hides))

    match action.kind:
        case "inject" | "extract":
            carry: Callable[..., int] = traceparent.inject_into if action.kind == "inject" else traceparent.extract_from
            carrier = evaluated(action.carrier)
            named = (action.channel,) if action.channel else ()
            return lambda arguments: _carry(carry, carrier(arguments), site, named)
        case "request" | "name" if action.key:
            return _named(kind, site, recorded(action.key), channel)
        case "request" | "name" | "handle" if not action.key:
            return lambda arguments: core.emit(kind, site, 0, channel)
        case "payload":
            value = evaluated(["const", redaction.HIDDEN]) if hides(action.channel) else recorded(action.key)
            return _payload(site, value, channel, action.limit)
        case "take" | "untake" | "hold" | "give":
            return resources.step(action, site, evaluated(action.key), [evaluated(each) for each in action.values])
        case "entity":
            return _entity(site, action, [recorded(value) for value in action.values], channel)
    key = evaluated(action.key)
    hidden = hides(action.channel) or expressions.reads_hidden(action.key or [], hides)
    if action.each:
        return lambda arguments: _emit_each(kind, site, action.channel, channel, key(arguments), hidden=hidden)
    return lambda arguments: _emit_key(kind, site, action.channel, channel, key(arguments), hidden=hidden)


def _named(kind: Kind, site: int, name: Evaluate, otherwise: int) -> Step:
    """Name a request by a value, up to a maximum number of names; further requests get the name `otherwise`, or (a
    NAME without one) keep their name."""
    known: dict[str, int] = {}

    def step(arguments: Arguments) -> None:
        text = values.render(name(arguments), _NAME_TEXT)[0]
        channel = known.get(text)
        if channel is None and len(known) < _MOST_NAMES and text:
            channel = known[text] = intern(text)
            if len(known) == _MOST_NAMES:
                sites.note(
                    f"requests here already have {_MOST_NAMES} names; further requests use the general name", site
                )
        if channel is not None or otherwise:
            core.emit(kind, site, 0, channel or otherwise)

    return step


def _carry(carry: Callable[..., int], carrier: Any, site: int, named: tuple[str, ...]) -> None:
    if not carry(carrier, site, *named) and carry is traceparent.inject_into:
        raise TypeError(f"a {values.class_name(carrier)} cannot carry a header")


def _with_addresses(value: Any) -> Any:
    """Replace every object in `value` that is not a key by its identity in this process for its lifetime."""
    if type(value) is tuple:
        return tuple(_with_addresses(item) for item in value)
    return value if type(value) in values.SCALARS else (_PROCESS, id(value))


def _emit_key(  # the parts of a record
    kind: Kind, site: int, name: str, channel: int, value: Any, *, hidden: bool
) -> None:
    flags = 0
    try:
        key = key_of(name, value)
    except NotAKey:
        key, flags = key_of(name, _with_addresses(value)), FLAG_AMBIGUOUS
    text = redaction.HIDDEN if hidden else values.render(value, _KEY_TEXT)[0]
    core.emit(kind, site, key, channel, text.encode("utf-8", "replace"), flags)


def _emit_each(  # the parts of records
    kind: Kind, site: int, name: str, channel: int, items: Any, *, hidden: bool
) -> None:
    if type(items) not in _SEQUENCES:
        raise TypeError(f"each needs a list, tuple, set or dict, not a {values.class_name(items)}")
    for item in list(items):
        _emit_key(kind, site, name, channel, item, hidden=hidden)


def _payload(site: int, value: Evaluate, channel: int, limit: int) -> Step:
    def step(arguments: Arguments) -> None:
        text, cut = values.render(value(arguments), limit)
        core.emit(Kind.PAYLOAD, site, 0, channel, text.encode("utf-8", "replace"), FLAG_TRUNCATED * cut)

    return step


def _entity(site: int, action: Action, parts: Sequence[Evaluate], channel: int) -> Step:
    before = f'{{"event":{_JSON(action.event)},"entity":{_JSON(action.channel)},"values":['

    def emit(described: list[str]) -> None:
        text = before + ",".join(described) + "]}"
        if len(text) > MAX_TEXT:
            raise ValueError("the values of an entity's event are too long to record")
        core.emit(Kind.ENTITY, site, 0, channel, text.encode())

    def step(arguments: Arguments) -> None:
        emit([_described(part(arguments)) for part in parts])

    def each(arguments: Arguments) -> None:
        held, *others = (part(arguments) for part in parts)
        items = _held(held)
        described = [_described(other) for other in others]
        for item in items[:_MOST_HELD]:
            emit([_described(item), *described])
        if len(items) > _MOST_HELD:
            raise OverflowError(f"it holds {len(items)} objects")

    return each if action.each else step


def _held(container: Any) -> list[Any]:
    """Return the items of a container, or the values of a dict."""
    if type(container) is dict:
        return list(container.values())
    if type(container) in _SEQUENCES:
        return list(container)
    raise TypeError(f"a {values.class_name(container)} cannot be iterated without running code of the program")


def _described(value: Any) -> str:
    """Encode a value as JSON: a scalar as it is, other objects by class and id."""
    kind = type(value)
    if kind is str:
        return _JSON(values.render(value, _ENTITY_TEXT)[0])
    if kind in (bool, float) or value is None or (kind is int and value.bit_length() <= 64):
        return _JSON(value)
    if kind in values.SCALARS:
        return _JSON(values.render(value, _ENTITY_TEXT)[0])
    known = entity_ids.identify(value)
    unique = "" if known is None else f',"unique":{_JSON(values.render(known[0], _ENTITY_TEXT)[0])}'
    return f'{{"class":{_JSON(values.class_name(value))},"id":{id(value)}{unique}}}'
