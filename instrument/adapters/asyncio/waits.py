"""What tasks wait for, and who holds asyncio's locks and semaphores.

WAIT and WAKE of a task are written in C (`recorder/csrc/asyncio/waits.c`): a WAIT at the end of each step after which a
future blocks the task. The hooks here run only where a task is about to block. They tell which object, tasks and time limit
such a future stands for. Channels: "asyncio.lock", "asyncio.semaphore", "asyncio.condition", "asyncio.event",
"asyncio.barrier", "asyncio.queue", "asyncio.sleep", "asyncio.stream", "asyncio.task", "asyncio.future", and "executor.result"
for a work item of an executor. Invariant: no hook keeps an object of the program alive.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.asyncio import anyio_locks, time_limits
from clew.instrument.adapters.asyncio.wait_fields import blocking
from clew.instrument.adapters.patching import adapter_site, calling_stores, hook, hook_return, operate, when_imported
from clew.instrument.adapters.pool_workers import describe
from clew.instrument.probes.sites import note
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern


def install() -> None:
    time_limits.install()
    when_imported("asyncio.locks", _patch_locks)
    when_imported("asyncio.queues", _patch_queues)
    when_imported("asyncio.futures", _patch_futures)
    when_imported("asyncio.tasks", _patch_tasks)
    when_imported("asyncio.taskgroups", _patch_groups)
    when_imported("anyio._backends._asyncio", _patch_groups)
    anyio_locks.install()


def _patch_tasks(module: Any) -> None:
    events: Any = sys.modules["asyncio.events"]
    gathering = getattr(module, "_GatheringFuture", None)

    def describe(future: Any) -> bytes | None:
        return core.ends_of(future._children) if type(future) is gathering else None

    task, future = intern("asyncio.task"), intern("asyncio.future")
    sleep, stream = intern("asyncio.sleep"), intern("asyncio.stream")
    about = describe, time_limits.limit_of, module.exceptions.CancelledError
    if not core.watch_task_waits(events.TimerHandle, task, future, sleep, stream, *about):
        note("what tasks wait for is not recorded: the tasks of this Python are not supported")
        return
    _patch_shield(module)
    time_limits.patch_wait_for(module)


def _patch_shield(module: Any) -> None:
    channel = intern("asyncio.task")

    def shielded(outer: Any, inner: Any) -> None:
        if outer is not inner and isinstance(inner, module.Task):
            core.await_about(outer, 0, channel, core.ends_of((inner,)))

    hook_return(module.shield, shielded, 1)


def _patch_locks(module: Any) -> None:
    for owner, name, capacity, held in (
        (module.Lock, "asyncio.lock", None, "_locked"),
        (module.Semaphore, "asyncio.semaphore", "_clew_capacity", None),
    ):
        channel = intern(name)
        taken, back = core.holding(channel, capacity, adapter_site(owner.release), held)
        operate(owner.acquire, exit=taken, stores=blocking("fut", channel, "_waiters"))
        operate(owner.release, back)
    operate(module.Condition.wait, stores=blocking("fut", intern("asyncio.condition"), "_waiters"))
    hook(module.Semaphore.__init__, _count_slots, parameters=2)
    if hasattr(module, "Barrier"):
        hook(module.Barrier.__init__, *_owns("_cond", intern("asyncio.barrier")))


def _count_slots(semaphore: Any, value: object) -> None:
    if type(value) is int:
        core.slots_are(semaphore, value)


def _owns(name: str, channel: int) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Return hooks for a class whose objects wait for the object in attribute `name`, as parts of themselves."""

    def made(owner: Any, _result: Any) -> None:
        core.part_of(owner.__dict__[name], owner, channel)

    return (lambda owner: owner), made


def _patch_queues(module: Any) -> None:
    queue, channel = module.Queue, intern("asyncio.queue")
    operate(queue.get, stores=blocking("getter", channel, "_getters"))
    operate(queue.put, stores=blocking("putter", channel, "_putters"))
    hook(queue.__init__, *_owns("_finished", channel))


def _patch_futures(module: Any) -> None:
    channel = intern("executor.result")

    def chained(source_cell: Any, destination_cell: Any) -> None:
        source, destination = source_cell.cell_contents, destination_cell.cell_contents
        if isinstance(source, sys.modules["concurrent.futures._base"].Future):
            key, described = describe(source)
            core.await_about(destination, key, channel, described.rstrip(b","))

    hook(module._chain_future, chained, parameters=2)


def _patch_groups(module: Any) -> None:
    """Tell which tasks a task group waits for: one of asyncio, or one of anyio, whose attributes have the same names."""
    group = module.TaskGroup
    channel = intern("asyncio.task")

    def stored(group: Any) -> None:
        future = group._on_completed_fut
        if future is not None:
            core.await_about(future, 0, channel, core.ends_of(group._tasks))

    leave = getattr(group, "_aexit", group.__aexit__)
    code = leave.__code__
    if "_on_completed_fut" in code.co_names and "self" not in code.co_cellvars:
        operate(leave, stores=calling_stores("_on_completed_fut", stored, ("self",)))
