"""Order by asyncio's events and barriers without a handle: a wait that does not block, the last arrival at a barrier.

Channels: "asyncio.event", "asyncio.barrier", with sync edges. A blocking wait (for a taken lock or semaphore, a condition,
an event that is not set) is woken by a handle, which has the edge. Invariant: a cancelled arrival has no edge.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters.asyncio.wait_fields import blocking
from clew.instrument.adapters.patching import adapter_site, hook, operate, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind


def install() -> None:
    when_imported("asyncio.locks", _patch)


def _patch(module: Any) -> None:
    _patch_event(module.Event)
    if hasattr(module, "Barrier"):
        _patch_barrier(module.Barrier)


def _patch_event(event: Any) -> None:
    channel = intern("asyncio.event")
    set_site, wait_site = adapter_site(event.set), adapter_site(event.wait)
    space = core.key_space()
    operate(event.set, core.Operand(Kind.RELEASE, set_site, channel, space, "_value", False))
    found_set = core.Operand(Kind.ACQUIRE, wait_site, channel, space, "_value", True)
    operate(event.wait, found_set, stores=blocking("fut", channel, "_waiters"))


def _patch_barrier(barrier: Any) -> None:
    emit, channel = core.emit, intern("asyncio.barrier")
    wait_site, release_site = adapter_site(barrier._wait), adapter_site(barrier._release)

    def arrivals(barrier: Any) -> dict[object, int]:
        """Return the keys of the waiting tasks, by task."""
        waiting: dict[object, int] = barrier.__dict__.setdefault("_clew_arrivals", {})
        return waiting

    def arrived(cell: Any) -> None:
        key = arrivals(cell.cell_contents)[_task()] = fresh_key()
        emit(Kind.RELEASE, wait_site, key, channel)

    def opened(barrier: Any) -> None:
        for key in arrivals(barrier).values():
            emit(Kind.ACQUIRE, release_site, key, channel)

    def left(barrier: Any) -> None:
        arrivals(barrier).pop(_task(), None)

    hook(barrier._wait, arrived)
    hook(barrier._release, opened)
    hook(barrier._exit, left)


def _task() -> object:
    from asyncio import current_task  # not yet defined when asyncio.locks is imported

    return current_task()
