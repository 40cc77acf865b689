"""Resources that a spec declares: who takes a slot of a pool, waits for one, holds it, and gives it back.

A taking call has a WAIT only while all slots are taken, as far as they were taken in this recording. Invariant: an object of
the program is never kept alive, and no code of it runs.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from clew.instrument.probes.actions import values
from clew.instrument.probes.actions.expressions import Arguments, Evaluate
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind
from clew.records.format.keys import NotAKey, key_of
from clew.records.plan.plan import Action

KINDS = frozenset({"take", "untake", "hold", "give"})
PREFIX = "resource."
"""The prefix of the channels of declared resources."""
_MOST_HELD = 100_000
"""The most slots that are remembered; a program that leaks more has been told of it."""
_MASK = (1 << 64) - 1


class _Call:
    """A call that takes a slot."""

    __slots__ = ("channel", "inside", "outer", "resource", "slots", "wait")

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.resource = self.slots = 0
        self.wait: tuple[int, int, int, int] | None = None
        self.outer: _Call | None = None
        """The call around it for whose resource it takes a slot."""
        self.inside: list[int] = []
        """The slots that calls inside it took for it."""


_held: dict[int, dict[int, None]] = {}
"""The slots that are taken of each resource, by their keys."""
_taking: dict[int, list[_Call]] = {}
"""The calls that take a slot now, by strand, the innermost last."""


def step(action: Action, site: int, key: Evaluate, others: Sequence[Evaluate]) -> Callable[[Arguments], None]:
    """Return the step of an action. `others` are the values of the action."""
    name = PREFIX + action.channel
    channel = intern(name)
    match action.kind:
        case "take":
            return lambda arguments: _take(channel, name, key(arguments), others[0], arguments)
        case "untake":
            return lambda arguments: _untake(site, key(arguments))
        case "hold":
            return lambda arguments: _hold(site, _item(name, others[0], arguments))
        case _:
            return lambda arguments: _give(channel, site, _key(name, key(arguments)), _item(name, others[0], arguments))


def _take(channel: int, name: str, key: Any, capacity: Evaluate, arguments: Arguments) -> None:
    calls = _taking.setdefault(_strand(), [])
    call = _Call(channel)
    outer = next((each for each in reversed(calls) if each.channel == channel), None)
    calls.append(call)  # its end takes it from there, whatever happens here
    if key is None:
        if outer is not None:
            call.outer, call.resource, call.slots = outer, outer.resource, outer.slots
        return
    call.resource, call.slots = _key(name, key), _slots(capacity(arguments))
    if call.slots and call.resource and len(_held.get(call.resource, ())) >= call.slots:
        call.wait = core.wait(channel, call.resource, None, f'"capacity":{call.slots},'.encode())


def _over(end: str) -> _Call | None:
    """Return the innermost call that takes a slot, which ends now, as does its wait."""
    strand = _strand()
    calls = _taking.get(strand)
    if not calls:
        return None
    call = calls.pop()
    if not calls:
        _taking.pop(strand, None)
    waiting = call.outer if call.outer is not None and not end else call
    if waiting.wait is not None:
        core.wake(waiting.wait, end)
        waiting.wait = None
    return call


def _untake(site: int, error: Any) -> None:
    names = [kind.__name__ for kind in values.bases(type(error))]
    cancelled = "CancelledError" in names or "Cancelled" in names
    call = _over("cancelled" if cancelled else "timeout" if any("Timeout" in name for name in names) else "failed")
    if call is not None:
        for item in call.inside:  # they are given back by code that is no call of its own
            _give(call.channel, site, call.resource, item)


def _hold(site: int, item: int) -> None:
    call = _over("")
    if call is None or not call.resource:
        return
    held = _held.setdefault(call.resource, {})
    slot = item or max(held, default=0) + 1  # slots without a name are alike
    if slot in held or len(held) >= _MOST_HELD:
        return  # a call inside this one has taken it
    held[slot] = None
    if call.outer is not None:
        call.outer.inside.append(item)
    fields = "".join(f',"{word}":{value}' for word, value in (("capacity", call.slots), ("item", item)) if value)
    core.hold(call.channel, call.resource, site, fields.encode())


def _give(channel: int, site: int, resource: int, item: int) -> None:
    held = _held.get(resource)
    if not held or (item and item not in held):
        return  # taken before the recording, or by a call that failed
    held.pop(item or next(iter(held)), None)
    if not held:
        _held.pop(resource, None)
    core.emit(Kind.RETURN, site, resource, channel, f'{{"item":{item}}}'.encode() if item else b"")


def _key(name: str, value: Any) -> int:
    """Return the key of an object for its life, or of a value."""
    if type(value) in values.SCALARS or type(value) is tuple:
        with contextlib.suppress(NotAKey):
            return key_of(name, value)
    return core.object_key(value) or key_of(name, id(value))


def _item(name: str, item: Evaluate, arguments: Arguments) -> int:
    value = item(arguments)
    return 0 if value is None else _key(name, value) & _MASK


def _slots(value: Any) -> int:
    """Return a number of slots, 0 for no limit."""
    return value if type(value) is int and value > 0 else 0


def _strand() -> int:
    loop = sys.modules.get("asyncio.events")
    running = loop._get_running_loop() if loop is not None else None
    task = sys.modules["asyncio.tasks"].current_task(running) if running is not None else None
    return threading.get_ident() if task is None else id(task)
