"""Causality of asyncio: the scheduling of callbacks, the waking of tasks, and the outcomes of futures to their readers.

Channels: "asyncio.handle", "asyncio.future". Invariants: each task is one strand from its first step to its last, however
often it is suspended. Every other callback runs in its own detached scope. A task's step is distinguished from a callback
that merely belongs to a task. The hooks are written in C (`recorder/csrc/asyncio`).
"""

from __future__ import annotations

import json
from typing import Any

from clew.instrument.adapters.asyncio import cancellation, locks, memory_streams, streams, time_limits, waits
from clew.instrument.adapters.patching import adapter_site, hook_return, inner_code, operate, rename_in, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)

_python_steps: list[object] = []
"""Functions that run a step of a task that is implemented in Python."""
_collectors: list[object] = []
"""Functions and code of callbacks that count down the futures that they wait for; only their last run wakes the waiter."""


def install() -> None:
    locks.install()
    streams.install()
    memory_streams.install()
    when_imported("asyncio.events", _patch_handles)
    when_imported("asyncio.futures", _patch_futures)
    when_imported("asyncio.tasks", _patch_tasks)
    when_imported("asyncio.taskgroups", _patch_groups)
    waits.install()
    cancellation.install()


def _patch_handles(module: Any) -> None:
    handle = module.Handle
    sites = adapter_site(handle.__init__), adapter_site(handle._run)
    channels = intern("asyncio.handle"), intern("asyncio.future")
    made, begin, end = core.watch_handles(handle, *sites, *channels, _collectors, _python_steps, _strand_of)
    operate(handle.__init__, made)
    operate(handle._run, begin, end)


def _strand_of(task: Any) -> int:
    """Return the strand of a task that is not of the C type, and define it at the first call."""
    try:
        strand: int = task._clew_strand
    except AttributeError:
        strand = task._clew_strand = fresh_key()
        text = {"kind": "task", "name": str(task.get_name()), "thread": core.thread(), "coroutine": _coroutine_of(task)}
        core.define(Kind.STRAND, strand, json.dumps(text).encode())
    return strand


def _coroutine_of(task: Any) -> str:
    name = getattr(task.get_coro(), "__qualname__", "")
    return name if type(name) is str else ""


def _patch_futures(module: Any) -> None:
    _watch_python_futures(module)
    if module.Future is not module._PyFuture:
        core.watch_futures(module.Future, adapter_site(module.Future))


def _watch_python_futures(module: Any) -> None:
    """Watch the state of futures and tasks implemented in Python, for programs that use them, as in `executors`."""
    future = module._PyFuture
    channel = intern("asyncio.future")
    future._clew_key = 0
    for name in ("set_result", "set_exception", "cancel", "result", "exception"):
        function = getattr(future, name)
        site = adapter_site(function)
        kinds = (0, 0, _JOIN, site) if name in {"result", "exception"} else (_SEND, site, 0, 0)
        setattr(future, f"_clew_{name}_state", core.Latch("_state", ("FINISHED", "CANCELLED"), channel, *kinds))
        rename_in(function, "_state", f"_clew_{name}_state")


def _patch_tasks(module: Any) -> None:
    python_task = module._PyTask
    _python_steps.extend(python_task.__dict__[name] for name in ("_Task__step", "_Task__wakeup"))
    _watch_wait(module)
    _collectors.extend(inner_code(module._wait, "_on_completion"))
    if module.Task is not python_task:
        core.watch_tasks(module.Task, adapter_site(module.Task))


def _watch_wait(module: Any) -> None:
    """Record that the caller of `asyncio.wait` takes the outcome of each finished future.

    If all futures are done and there was no timeout, the last of them woke the caller, and its edge suffices.
    """

    def waited(outcome: tuple[set[Any], set[Any]], _futures: Any, timeout: float | None) -> None:
        done, pending = outcome
        if pending or timeout is not None:
            for future in done:
                core.outcome_taken(future)

    hook_return(module._wait, waited, 2, time_limits.waiting_for_several)


def _patch_groups(module: Any) -> None:
    _collectors.append(module.TaskGroup._on_task_done)
