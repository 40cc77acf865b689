"""Causality of callbacks: signal handlers, atexit functions, finalizers, scheduled actions, code run in a context.

Channels: "signal", "atexit", "finalize", "gc", "sched", "context". All but the last run in their own detached scopes,
because the code that they interrupt is not their cause. Invariant: the only cause of a callback that the garbage collector
runs is its registration, and the only cause of a signal is a sender in this process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import (
    Tokens,
    adapter_site,
    around,
    hook,
    object_keys,
    rename_in,
    surround,
    when_imported,
)
from clew.instrument.probes.install.hidden_calls import Around
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)
_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)
_HOUSEKEEPING = frozenset({"logging", "multiprocessing.util", "weakref"})
"""Modules whose exit functions are ignored, because the first user of the module did not request them."""


def install() -> None:
    when_imported("atexit", _patch_atexit)
    when_imported("weakref", _patch_finalizers)
    when_imported("sched", _patch_scheduler)
    when_imported("signal", _patch_signals)
    when_imported("gc", _patch_collector)
    when_imported("contextvars", _patch_contexts)
    for module in ("events", "futures", "tasks", "threads", "runners"):
        when_imported(f"asyncio.{module}", _ignore_asyncio_copies)


def _scoped(function: Any, site: int, channel: int, cause: Callable[..., int]) -> Any:
    """Wrap `function` so that each call runs in its own scope; `cause` returns the key of its cause for the arguments."""

    def begin(*arguments: Any, **_options: Any) -> None:
        core.emit(_SCOPE_BEGIN, site, cause(*arguments), channel)

    def end(result: Any, *_arguments: Any, **_options: Any) -> Any:
        core.emit(_SCOPE_END, site, 0, channel)
        return result

    return around(function, begin, end)


def _patch_atexit(atexit: Any) -> None:
    if type(atexit.register) is Around:
        return
    channel, site = intern("atexit"), adapter_site(atexit.register)
    scoped: list[tuple[Any, Any]] = []
    unregister_original = atexit.unregister

    def registering(function: Any, *arguments: Any, **options: Any) -> list[Any] | None:
        if not callable(function) or not core.active() or getattr(function, "__module__", "") in _HOUSEKEEPING:
            return None
        key = fresh_key()
        core.emit(_SEND, site, key, channel)
        scoped.append((function, _scoped(function, site, channel, lambda *_arguments, **_options: key)))
        return [(scoped[-1][1], *arguments), options]

    def registered(result: Any, function: Any, *_arguments: Any, **_options: Any) -> Any:
        return function if result is not None else None

    def unregistering(function: Any) -> None:
        for pair in [pair for pair in scoped if pair[0] == function]:
            unregister_original(pair[1])
            scoped.remove(pair)

    surround(atexit, "register", registering, registered)
    surround(atexit, "unregister", unregistering)


def _patch_finalizers(weakref: Any) -> None:
    finalize = weakref.finalize
    channel = intern("finalize")
    key_of_finalizer = object_keys()
    made_site, run_site = adapter_site(finalize.__init__), adapter_site(finalize.__call__)

    def made(finalizer: Any) -> None:
        core.emit(_SEND, made_site, key_of_finalizer(finalizer), channel)

    def begin(finalizer: Any) -> int | None:
        if finalizer not in finalize._registry or finalizer._shutdown:
            return None
        registered = key_of_finalizer(finalizer)
        if core.collecting():
            core.emit(_SCOPE_BEGIN, run_site, registered, channel)
        else:
            dropped = fresh_key()
            core.emit(_SEND, run_site, dropped, channel)
            core.emit(_SCOPE_BEGIN, run_site, dropped, channel)
            core.emit(_JOIN, run_site, registered, channel)
        return registered

    def end(registered: int, _result: Any) -> None:
        core.emit(_SCOPE_END, run_site, registered, channel)

    hook(finalize.__init__, made)
    hook(finalize.__call__, begin, end)


def _patch_scheduler(sched: Any) -> None:
    if hasattr(sched, "_clew_heap"):
        return
    scheduler = sched.scheduler
    channel, made_site, run_site = intern("sched"), adapter_site(scheduler.enterabs), adapter_site(scheduler.run)
    key_of_event = object_keys()
    running = Tokens()

    def pushed(_queue: Any, event: Any) -> None:
        core.emit(_SEND, made_site, key_of_event(event), channel)

    def popped(event: Any, _queue: Any) -> Any:
        if running.stack:
            running.stack[-1] = key_of_event(event)
            core.emit(_SCOPE_BEGIN, run_site, running.stack[-1], channel)
        return event

    def action_is_over(*_arguments: Any) -> None:
        if running.stack and running.stack[-1]:
            running.stack[-1] = 0
            core.emit(_SCOPE_END, run_site, 0, channel)

    def begin(_scheduler: Any) -> bool:
        running.stack.append(0)
        return True

    def end(_begun: bool, _result: Any) -> None:
        action_is_over()
        running.stack.pop()

    class Heap:
        """The functions of heapq that `sched` calls, while it holds the scheduler's lock."""

        heappush = staticmethod(around(sched.heapq.heappush, pushed))
        heappop = staticmethod(around(sched.heapq.heappop, None, popped))

    sched._clew_heap = Heap
    scheduler._clew_delay = _Delay(action_is_over)
    rename_in(scheduler.enterabs, "heapq", "_clew_heap")
    rename_in(scheduler.run, "heapq", "_clew_heap")
    rename_in(scheduler.run, "delayfunc", "_clew_delay")
    hook(scheduler.run, begin, end)


class _Delay:
    """A descriptor for `scheduler.delayfunc`, which is called before each wait and after each action."""

    def __init__(self, before: Callable[..., None]) -> None:
        self._before = before

    def __get__(self, scheduler: Any, owner: Any = None) -> Any:
        return Around(scheduler.delayfunc, self._before)


def _patch_signals(signal: Any) -> None:
    if hasattr(signal, "_clew_shown"):
        return
    channel, site = intern("signal"), adapter_site(signal.signal)

    def setting(_number: Any, handler: Any) -> tuple[None, Any]:
        known = handler is signal.default_int_handler or getattr(handler, "__module__", "") == "asyncio.unix_events"
        if known or isinstance(handler, int) or not callable(handler):
            return None, handler
        scoped = _scoped(handler, site, channel, lambda number, _frame: core.signal_cause(number))
        scoped._clew_handler = handler
        return None, scoped

    def shown(handler: Any, kind: Any) -> tuple[Any, Any]:
        if type(handler) is Around:
            handler = handler.__dict__.get("_clew_handler", handler)
        return handler, kind

    signal._clew_shown = around(signal._int_to_enum, shown)
    for function in (signal.signal, signal.getsignal):
        rename_in(function, "_int_to_enum", "_clew_shown")
    hook(signal.signal, setting, parameters=2, changes="handler")
    if hasattr(signal, "pthread_kill"):
        import os

        senders = (signal.raise_signal, os.kill, signal.pthread_kill)
        core.watch_signals(channel, *(part for sender in senders for part in (sender, adapter_site(sender))))


def _patch_collector(gc: Any) -> None:
    core.watch_collector(gc.callbacks, adapter_site(gc.collect), intern("gc"))


def _patch_contexts(contextvars: Any) -> None:
    copy_site, run_site = adapter_site(contextvars.copy_context), adapter_site(contextvars.Context.run)
    unrecorded_copy = core.watch_contexts(contextvars.copy_context, intern("context"), copy_site, run_site)
    if unrecorded_copy is not None:
        contextvars._clew_copy_context = unrecorded_copy


def _ignore_asyncio_copies(module: Any) -> None:
    """Ignore context copies of asyncio's functions, because its handles already have the edges."""
    import contextvars

    if not hasattr(contextvars, "_clew_copy_context"):
        return
    owners = [module, *(getattr(module, name, None) for name in ("Handle", "_PyFuture", "_PyTask", "Runner"))]
    for owner in owners:
        for function in list(vars(owner).values()) if owner is not None else ():
            if "copy_context" in getattr(getattr(function, "__code__", None), "co_names", ()):
                rename_in(function, "copy_context", "_clew_copy_context")
