"""Who asks for cancellations: `Task.cancel`, time limits, task groups, anyio's scopes, futures of executors.

Channels: "asyncio.task", "asyncio.timeout", "asyncio.taskgroup", "anyio.scope", "executor.future". The recorder's core sees
each `cancel` of the C types (`recorder/csrc/asyncio/cancels.c`). The hooks here tell it for whom asyncio or anyio calls
`cancel`. Invariant: a scope of anyio, which repeats its requests, asks for each task once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import calling_stores, hook, operate, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.instrument.recorder.redaction import current

_MOST_SCOPES = 1000
_Asking = tuple[int, int, bool, int, int]
"""The arguments of `core.asking`."""


def install() -> None:
    when_imported("asyncio.tasks", _patch_tasks)
    when_imported("asyncio.timeouts", _patch_timeouts)
    when_imported("asyncio.taskgroups", _patch_groups)
    when_imported("anyio._backends._asyncio", _patch_scopes)
    when_imported("concurrent.futures._base", _patch_executor_futures)


def _on_behalf(function: Any, asking: Callable[..., _Asking | None], parameters: int = 1) -> None:
    """Make `function` ask for cancellations on behalf of what `asking` returns for its arguments; see `core.asking`."""

    def enter(*arguments: Any) -> _Asking | None:
        behalf = asking(*arguments)
        return None if behalf is None else core.asking(*behalf)

    def leave(before: _Asking, _result: Any) -> None:
        core.asking(*before)

    hook(function, enter, leave, parameters)


def _patch_tasks(module: Any) -> None:
    channel = intern("asyncio.task")
    core.watch_cancels(channel, lambda message: current().text(message))

    def asked(task: Any, message: Any) -> None:
        key = getattr(task, "_clew_strand", 0)
        core.cancel_asked(key, channel, task.get_name(), not task.done(), message)

    hook(module._PyTask.cancel, asked, parameters=2)


def _patch_timeouts(module: Any) -> None:
    channel = intern("asyncio.timeout")

    def behalf(block: Any) -> _Asking:
        return channel, getattr(block, "_clew_site", 0), True, 0, core.strand_key(block._task)

    _on_behalf(module.Timeout._on_timeout, behalf)


def _patch_groups(module: Any) -> None:
    group = module.TaskGroup
    channel = intern("asyncio.taskgroup")

    def entered(group: Any) -> None:
        group._clew_site = core.stack_site()

    def behalf(group: Any) -> _Asking:
        return channel, getattr(group, "_clew_site", 0), False, 0, core.strand_key(group._parent_task)

    hook(group.__aenter__, entered)
    _on_behalf(group._abort, behalf)
    _on_behalf(group._on_task_done, behalf)


def _patch_scopes(module: Any) -> None:
    scope_class = module.CancelScope
    channel = intern("anyio.scope")
    scopes: dict[int, _Asking] = {}
    """For whom each scope asks, by its address: set when the scope is cancelled, before its first request."""

    def asked(scope: Any) -> None:
        if scope._cancel_called:
            return
        caller = sys._getframe()
        while caller.f_code.co_name != "cancel" and caller.f_back is not None:
            caller = caller.f_back
        deadline = caller.f_back is not None and caller.f_back.f_code is scope_class._timeout.__code__
        if len(scopes) >= _MOST_SCOPES:
            scopes.clear()
        host = scope._host_task
        owner = core.strand_key(host) if host else 0
        scopes[id(scope)] = channel, core.stack_site(), deadline, fresh_key(), owner
        before = core.asking(*scopes[id(scope)][:3], 0, owner)
        core.cancel_asked(owner, channel, host.get_name() if host else "", True, None)
        core.asking(*before)

    def times(scope: Any) -> None:
        if scope._host_task is not None:
            core.limit_task(scope._host_task, True)

    def delivering(scope: Any, origin: Any = None) -> _Asking | None:
        return scopes.get(id(scope if origin is None else origin))

    hook(scope_class.cancel, asked)
    # Scopes without a deadline, which are most, do not ask for the loop.
    operate(scope_class._timeout, stores=calling_stores("loop", times, ("self",)))
    _on_behalf(scope_class._deliver_cancellation, delivering, scope_class._deliver_cancellation.__code__.co_argcount)


def _patch_executor_futures(module: Any) -> None:
    channel = intern("executor.future")

    def asked(future: Any) -> None:
        accepted = future._state not in {"RUNNING", "FINISHED"}
        core.cancel_asked(core.object_key(future), channel, "", accepted, None)

    hook(module.Future.cancel, asked)
