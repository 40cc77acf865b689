"""Causality of `threading`'s locks: whoever waited, and who let it go on.

Channels: "lock", "condition", "event", "semaphore", "barrier", all of sync edges. Locks, conditions and semaphores have an edge
only where somebody waited, so that a lock nobody else wants stays cheap; an event and a barrier have one for all who passed
them. The waiting of `Thread.start` for its thread is Python's own business and has none.

Invariant: an edge leads from the release that let the waiter go on, not from another one of the same lock.
"""

from __future__ import annotations

import contextlib
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, rename_in, when_imported
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
    if not core.trace_locks(vars(threading), lock, rlock, rows, callers):
        note(
            "who waited for a lock, a condition, an event, a semaphore or a barrier is not recorded: the C recorder is needed"
        )
        return
    threading._clew_waiter = core.waiter
    rename_in(condition.wait, "_allocate_lock", "_clew_waiter")
    _patch_event(threading, event)
    _patch_barrier(barrier)


def _patch_event(threading: Any, event: Any) -> None:
    """An event that is set already lets its waiter go on, too."""
    channel = intern("event")
    event._clew_key = 0
    # A thread has an event of its own, which everybody who asks whether it is alive looks at.
    seen, unseen = event.set, FunctionType(event.set.__code__, event.set.__globals__, "set")

    def started(thread: Any) -> Any:
        # It may be of a class that the program has put in the place of `threading.Event`, as gevent does.
        own = thread._started
        return SimpleNamespace(set=MethodType(unseen, own)) if getattr(type(own), "set", None) is seen else own

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


def _patch_barrier(barrier_class: Any) -> None:
    """Everybody's arrival lets the last one release the barrier, which is what lets all the others go on."""
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
        with contextlib.suppress(ValueError):  # the last one has taken it
            arrivals.remove(key)

    def complete(barrier: Any) -> None:
        arrivals = barrier.__dict__.pop("_clew_arrivals", [])
        for key in arrivals:
            emit(_ACQUIRE, site, key, channel)
        arrivals.clear()

    hook(barrier_class._wait, arrived, left)
    hook(barrier_class._release, complete)
