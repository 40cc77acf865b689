"""Waits for multiprocessing's locks, semaphores, conditions, events, barriers and queues, and who holds the locks.

All of them are built on `_multiprocessing.SemLock`, which the recorder observes (`csrc/locks/process_locks`).

Channels: "multiprocessing.lock", "multiprocessing.rlock", "multiprocessing.semaphore", "multiprocessing.condition",
"multiprocessing.event", "multiprocessing.barrier", "multiprocessing.queue", "multiprocessing.queue.done".

Invariant: an object has one key in all processes that share it: the key of one of its semaphores. A semaphore with a name has
the key of its name; the others are inherited by a fork only, and so is their key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clew.instrument.adapters.facts.waits import Describe, pass_waits_on, waits_in
from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.keys import key_of


def install() -> None:
    when_imported("multiprocessing.synchronize", _patch_locks)
    when_imported("multiprocessing.queues", _patch_queues)


def _patch_locks(module: Any) -> None:
    lock_class = module.SemLock
    core.trace_process_locks(
        module._multiprocessing.SemLock, adapter_site(lock_class.__enter__), adapter_site(lock_class.__exit__)
    )
    channels = {
        module.Lock: intern("multiprocessing.lock"),
        module.RLock: intern("multiprocessing.rlock"),
        module.Semaphore: intern("multiprocessing.semaphore"),
    }

    def made(lock: Any) -> None:
        found = next((kind for kind in channels if isinstance(lock, kind)), None)
        if found is None:
            return
        semaphore = lock._semlock
        key = key_of("multiprocessing.lock", semaphore.name) if semaphore.name else core.object_key(lock)
        slots = _slots(module, semaphore) if found is module.Semaphore else 0
        core.share_lock(
            semaphore, key, channels[found], slots, found is not module.Semaphore or slots > 0, found is module.RLock
        )

    hook(lock_class._make_methods, made)
    for function in (lock_class.__enter__, module.Condition.__enter__):
        pass_waits_on(function)
    for function in (module.Condition.wait, module.Condition.wait_for):
        waits_in(function, "multiprocessing.condition", describe=_key_of_part(lambda each: each["_wait_semaphore"]))
    waits_in(module.Event.wait, "multiprocessing.event", describe=_key_of_part(lambda each: each["_flag"]), plain=True)
    for function in (module.Event.set, module.Event.clear, module.Event.is_set):
        waits_in(function, "", plain=True)  # for each other, and never for long
    _name_waits_of_barriers(module)


def _slots(module: Any, semaphore: Any) -> int:
    """Return with how many slots a new semaphore begins, 0 if no process that gets it by its name could tell that."""
    if semaphore.maxvalue < module.SEM_VALUE_MAX:
        return int(semaphore.maxvalue)
    return 0 if semaphore.name else int(semaphore._get_value())


def _key_of_part(part: Callable[[Mapping[str, Any]], Any]) -> Describe:
    """Return what describes an object by one of its semaphores."""
    return lambda each: (core.shared_key(part(vars(each))._semlock), b"")


def _name_waits_of_barriers(module: Any) -> None:
    """Describe the barriers of threads, whose methods those of processes inherit, and these."""
    threads, shared, channel = module.threading.Barrier, module.Barrier, intern("multiprocessing.barrier")

    def describe(barrier: Any) -> tuple[int, bytes] | tuple[int, bytes, int]:
        fields = b'"capacity":%d,' % barrier._parties
        if isinstance(barrier, shared):
            return core.shared_key(vars(barrier)["_cond"]._wait_semaphore._semlock), fields, channel
        return core.object_key(barrier), fields

    for function in (threads.wait, threads._wait, threads._enter):
        waits_in(function, "barrier", describe=describe)


def _patch_queues(module: Any) -> None:
    queue_class, simple_class, joinable_class = module.Queue, module.SimpleQueue, module.JoinableQueue
    channel = intern("multiprocessing.queue")

    def shares(queue: Any) -> None:
        """Let the waits for parts of a queue be waits for the queue."""
        parts = vars(queue)
        if "_rlock" not in parts:
            return
        key = core.shared_key(parts["_rlock"]._semlock)
        for name in ("_rlock", "_wlock", "_sem"):
            part = parts.get(name)
            if part is not None:
                core.share_lock(part._semlock, key, channel, 0, False, False)
        parts["_reader"]._clew_wait = None if hasattr(queue, "_clew_kind") else (channel, key)

    def describe(queue: Any) -> tuple[int, bytes]:
        of_program = vars(queue)["_reader"]._clew_wait  # else the items are those of a pool
        return of_program[1] if of_program else 0, b""

    def describe_put(queue: Any) -> tuple[int, bytes]:
        key, _fields = describe(queue)
        return key, b'"capacity":%d,' % queue._maxsize

    for each in (queue_class, simple_class):
        for function in (each.__init__, each.__setstate__):
            hook(function, lambda queue: queue, lambda queue, _result: shares(queue))
    for function in (queue_class.get, simple_class.get, simple_class.put):
        waits_in(function, "multiprocessing.queue", describe=describe)
    for function in (queue_class.put, joinable_class.put):
        waits_in(function, "multiprocessing.queue", describe=describe_put)
    waits_in(joinable_class.join, "multiprocessing.queue.done", describe=describe)
