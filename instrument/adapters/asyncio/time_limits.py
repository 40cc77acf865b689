"""Time limits of waits: `asyncio.wait_for`, `asyncio.wait`, `asyncio.timeout`, and anyio's deadlines.

A wait that ends because its time is up has the end "timeout". A wait in a block with a time limit has the seconds that are
left. Invariant: no hook keeps an object of the program alive, and none calls a clock of the program.
"""

from __future__ import annotations

import math
import sys
import time
import weakref
from typing import Any

from clew.instrument.adapters.patching import calling_stores, hook, operate, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern

_blocks: dict[int, list[Any]] = {}
"""The active `asyncio.Timeout` objects of tasks, by the keys of their strands, outermost first."""
_expired: dict[int, weakref.ref[Any]] = {}
"""Futures that `wait_for` is about to cancel because their time is up, by address."""
_MOST_EXPIRED = 1000


def install() -> None:
    when_imported("asyncio.timeouts", _patch_timeouts)


def limit_of(task: Any) -> float | None:
    """Return the seconds that a task has left in the blocks with a time limit that it runs in, None for no limit."""
    earliest = math.inf
    for block in _blocks.get(core.strand_key(task), ()):
        earliest = _earlier(earliest, block._when)
    backend: Any = sys.modules.get("anyio._backends._asyncio")
    state = backend._task_states.get(task) if backend is not None else None
    scope, shielded = state.cancel_scope if state is not None else None, False
    while scope is not None and not shielded:
        earliest = _earlier(earliest, scope._deadline)
        scope, shielded = scope._parent_scope, scope._shield
    if earliest != math.inf:
        return _remaining(earliest)
    if scope is None:
        core.limit_task(task, False)  # its further waits need not ask, until a limit begins
    return None


def _earlier(earliest: float, deadline: object) -> float:
    # `None` and numbers of the program's own types are no deadlines.
    return deadline if (type(deadline) is float or type(deadline) is int) and deadline < earliest else earliest


def _remaining(deadline: float) -> float | None:
    loop = sys.modules["asyncio.events"]._get_running_loop()
    base: Any = sys.modules["asyncio.base_events"].BaseEventLoop
    if getattr(type(loop), "time", None) is not base.time:
        return None  # a clock of the program's own
    return deadline - time.monotonic()


def _patch_timeouts(module: Any) -> None:
    timeout = module.Timeout

    entered = module._State.ENTERED

    def rescheduled(block: Any, when: object) -> None:  # also by `__aenter__`
        key = core.strand_key(block._task) if when is not None and block._state is entered else 0
        if key:
            if "_clew_site" not in block.__dict__:
                block._clew_site = core.stack_site()
            core.limit_task(block._task, True)
            blocks = _blocks.setdefault(key, [])
            if block not in blocks:
                blocks.append(block)

    def leaving(block: Any) -> None:
        key = core.strand_key(block._task)
        blocks = _blocks.get(key, [])
        if block in blocks:
            blocks.remove(block)
        if key in _blocks and not blocks:
            del _blocks[key]

    hook(timeout.reschedule, rescheduled, parameters=2)
    hook(timeout.__aexit__, leaving)


def waiting_for_several(futures: Any, limit: object) -> None:
    """Tell what `asyncio.wait`, which calls this at the start, is going to wait for."""
    core.await_next("_wait", core.ends_of(futures, limit))


def patch_wait_for(module: Any) -> None:
    """Tell what `wait_for` waits for, up to Python 3.11; later versions wait in an `asyncio.timeout`."""
    channel, cancel_channel = intern("asyncio.future"), intern("asyncio.timeout")
    pending: list[Any] = []

    def waiter_made(waiter: Any) -> None:
        pending[:] = [waiter]

    def future_made(future: Any, limit: Any) -> None:
        waiter = pending.pop() if pending else None
        if type(limit) in (int, float) and limit <= 0:
            _expiring(future)
        elif waiter is not None and type(waiter) is module.futures.Future:
            core.await_about(waiter, 0, channel, core.ends_of((future,), limit))
            waiter._clew_target = weakref.ref(future)

    def released(waiter: Any, arguments: Any) -> None:
        if arguments == () and type(waiter) is module.futures.Future:  # by the timer
            core.wait_timed_out(waiter)
            target = getattr(waiter, "_clew_target", None)
            future = target() if target is not None else None
            if future is not None:
                _expiring(future)

    def cancelling(waiter: Any, future: Any) -> None:
        core.await_about(waiter, 0, channel, core.ends_of((future,)))
        ref = _expired.pop(id(future), None)
        if ref is not None and ref() is future:
            core.asking_once(future, cancel_channel, True)

    hook(module._release_waiter, released, parameters=2)
    operate(module._cancel_and_wait, stores=calling_stores("waiter", cancelling, ("waiter", "fut")))
    stores = calling_stores("fut", future_made, ("fut", "timeout"))
    if "waiter" in module.wait_for.__code__.co_varnames:
        stores |= calling_stores("waiter", waiter_made, ("waiter",))
    operate(module.wait_for, stores=stores)


def _expiring(future: Any) -> None:
    if len(_expired) >= _MOST_EXPIRED:
        _expired.clear()
    _expired[id(future)] = weakref.ref(future)
