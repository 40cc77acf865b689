"""Causality of `threading`'s locks: the release that woke a waiter, to the waiter.

Channels: "lock", "condition", "event", "semaphore", "barrier", all with sync edges. Locks, conditions and semaphores have
an edge only if a thread waited, so that an uncontended lock stays cheap. Events and barriers have an edge for every thread
that passes them. `Thread.start` waits for its thread internally; this wait has no edge.

Invariant: an edge starts at the release that woke the waiter, not at another release of the same lock.
"""

from __future__ import annotations

import contextlib
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

from clew.instrument.adapters.facts.waits import waits_in
from clew.instrument.adapters.patching import adapter_site, hook, operate, rename_in, when_imported
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.probes.sites import note
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_RELEASE, _ACQUIRE = int(Kind.RELEASE), int(Kind.ACQUIRE)
_AS_ITS_CALLER, _MUTED = -1, 255


def install() -> None:
    when_imported("threading", _patch)


def _patch(threading: Any) -> None:
    if hasattr(threading.Event, "_clew_key"):
        return
    lock, rlock = type(threading.Lock()), type(threading.RLock())
    condition, event = threading.Condition, threading.Event
    semaphore, barrier = threading.Semaphore, threading.Barrier
    mechanisms = (
        ("lock", lock.acquire, lock.release),
        ("condition", condition.wait, condition.notify),
        ("event", event.wait, event.set),
        ("semaphore", semaphore.acquire, semaphore.release),
        ("barrier", barrier.wait, barrier.wait),
    )
    callers = {
        "Condition.wait_for": _AS_ITS_CALLER,
        "Event.wait": 2,
        "Semaphore.acquire": 3,
        "Barrier._wait": 4,
        "Barrier._enter": 4,
        "Thread.start": _MUTED,
    }
    rows = tuple((intern(name), adapter_site(wait), adapter_site(release)) for name, wait, release in mechanisms)
    if not core.trace_locks(vars(threading), lock, rlock, rows, callers, (intern("lock"), intern("rlock"))):
        note(
            "waits for locks, conditions, events, semaphores and barriers are not recorded: the lock types of this Python "
            "are not supported"
        )
        return
    _record_waits(threading)
    threading._clew_waiter = core.waiter
    rename_in(condition.wait, "_allocate_lock", "_clew_waiter")
    _patch_event(threading, event)
    _patch_barrier(barrier)
    _patch_semaphores(threading)


def _record_waits(threading: Any) -> None:
    """Name the waits of these functions; each has its thread wait by a lock of its own."""
    condition, event, semaphore = threading.Condition, threading.Event, threading.Semaphore
    for function, channel in (
        (condition.wait, "condition"),
        (condition.wait_for, "condition"),
        (event.wait, "event"),
        (threading.Barrier.wait, "barrier"),
        (threading.Barrier._wait, "barrier"),
        (threading.Barrier._enter, "barrier"),
        (semaphore.acquire, "semaphore"),
    ):
        waits_in(function, channel, capacity={"barrier": "_parties"}.get(channel, ""))
    waits_in(threading.Thread.start, "")


def _patch_event(threading: Any, event: Any) -> None:
    """Record edges to all waiters of an event, also to those that find it set."""
    channel = intern("event")
    event._clew_key = 0
    # Every thread has an internal event, which each call of `is_alive` reads; setting it is not recorded.
    recorded_set, plain_set = event.set, FunctionType(event.set.__code__, event.set.__globals__, "set")

    def started(thread: Any) -> Any:
        # The program may have replaced `threading.Event` by another class, as gevent does.
        own = thread._started
        if getattr(type(own), "set", None) is recorded_set:
            return SimpleNamespace(set=MethodType(plain_set, own))
        return own

    threading.Thread._clew_started = property(Quiet(started))
    rename_in(threading.Thread._bootstrap_inner, "_started", "_clew_started")
    set_site = adapter_site(event.set)
    event._clew_set_flag = core.Latch("_flag", (True,), channel, _RELEASE, set_site, 0, 0)
    rename_in(event.set, "_flag", "_clew_set_flag")
    for name in ("wait", "is_set"):
        function = getattr(event, name)
        latch = core.Latch("_flag", (True,), channel, 0, 0, _ACQUIRE, adapter_site(function))
        setattr(event, f"_clew_{name}_flag", latch)
        rename_in(function, "_flag", f"_clew_{name}_flag")


def _patch_semaphores(threading: Any) -> None:
    """Record who holds slots of a semaphore, unless it begins with none: that is a signal."""
    semaphore, bounded = threading.Semaphore, threading.BoundedSemaphore

    def count(semaphore: Any, value: object) -> None:
        if type(value) is int:
            core.slots_are(semaphore, value)

    # The count changes while the thread holds the condition's lock, so the records are in the order of the changes.
    taken, back = core.holding(
        intern("semaphore"), "_clew_capacity", adapter_site(semaphore.release), None, False, True
    )
    hook(semaphore.__init__, count, parameters=2)
    operate(semaphore.acquire, stores={"_value": (taken, ("self",))})
    for owner in (semaphore, bounded):
        operate(owner.release, stores={"_value": (back, ("self", "n"))})


def _patch_barrier(barrier_class: Any) -> None:
    """Record an edge from each arrival at the barrier to its release by the last arrival, which wakes the others."""
    emit = core.emit
    channel, site = intern("barrier"), adapter_site(barrier_class.wait)

    def arrived(cell: Any) -> tuple[list[int], int]:
        barrier = cell.cell_contents
        arrivals = barrier.__dict__.setdefault("_clew_arrivals", [])
        key = fresh_key()
        emit(_RELEASE, site, key, channel)
        arrivals.append(key)
        return arrivals, key

    def left(arrival: tuple[list[int], int], _result: None) -> None:
        arrivals, key = arrival
        with contextlib.suppress(ValueError):  # `complete` has removed it
            arrivals.remove(key)

    def complete(barrier: Any) -> None:
        arrivals = barrier.__dict__.pop("_clew_arrivals", [])
        for key in arrivals:
            emit(_ACQUIRE, site, key, channel)
        arrivals.clear()

    hook(barrier_class._wait, arrived, left)
    hook(barrier_class._release, complete)
