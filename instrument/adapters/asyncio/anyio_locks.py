"""What tasks wait for in anyio's own primitives on asyncio, and who holds its locks, semaphores and capacity limiters.

Channels: "asyncio.lock", "asyncio.semaphore", "asyncio.condition", as for asyncio's own primitives, and "anyio.limiter". An
event of anyio waits by one of asyncio, which has the wait. Invariant: a slot that a cancelled `acquire` gives back itself was
never held.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters.asyncio.wait_fields import blocking
from clew.instrument.adapters.patching import adapter_site, calling_stores, hook, operate, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern


def install() -> None:
    when_imported("anyio._backends._asyncio", _patch_backend)
    when_imported("anyio._core._synchronization", _patch_condition)


def _patch_backend(module: Any) -> None:
    for name, channel, capacity in (("Lock", "asyncio.lock", None), ("Semaphore", "asyncio.semaphore", "_max_value")):
        owner = getattr(module, name, None)
        if owner is not None and "fut" in owner.acquire.__code__.co_varnames:  # from anyio 4.5 on
            _patch_resource(owner, intern(channel), capacity)
            if capacity:
                hook(owner.__init__, _count_slots, parameters=2)
    limiter = module.CapacityLimiter
    if "event" in limiter.acquire_on_behalf_of.__code__.co_varnames:
        _patch_limiter(limiter)


def _patch_resource(owner: Any, channel: int, capacity: str | None) -> None:
    site = adapter_site(owner.release)
    taken, _ = core.holding(channel, capacity, site, None)
    taken_at_once, back = core.holding(channel, capacity, site, None, True)
    operate(owner.acquire, exit=taken, stores=blocking("fut", channel, "_waiters"))
    operate(owner.acquire_nowait, exit=taken_at_once)
    operate(owner.release, exit=back)


def _count_slots(semaphore: Any, value: object) -> None:
    if type(value) is int:
        core.slots_are(semaphore, value)


def _patch_limiter(limiter: Any) -> None:
    channel = intern("anyio.limiter")

    def blocks(event: Any, owner: Any) -> None:
        core.part_of(event, owner, channel)
        if type(owner._total_tokens) is int:
            core.slots_are(event, owner._total_tokens)

    site = adapter_site(limiter.release_on_behalf_of)
    taken, _ = core.holding(channel, "_total_tokens", site, None)
    taken_at_once, back = core.holding(channel, "_total_tokens", site, None, True)
    operate(limiter.acquire_on_behalf_of, exit=taken, stores=calling_stores("event", blocks, ("event", "self")))
    operate(limiter.acquire_on_behalf_of_nowait, exit=taken_at_once)
    operate(limiter.release_on_behalf_of, exit=back)


def _patch_condition(module: Any) -> None:
    channel = intern("asyncio.condition")

    def waits(event: Any, condition: Any) -> None:
        part = getattr(event, "_event", None)  # of asyncio, where anyio runs on it
        if hasattr(part, "__dict__"):
            core.part_of(part, condition, channel)

    wait = module.Condition.wait
    if "event" in wait.__code__.co_varnames:
        operate(wait, stores=calling_stores("event", waits, ("event", "self")))
