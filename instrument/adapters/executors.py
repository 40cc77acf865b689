"""Causality of thread pools: `submit` to the run of the work item, and a future's outcome to its readers and callbacks.

Channels: "executor.submit" (each work item runs in its own detached scope), "executor.result" (also of a cancelled future),
and "executor.callback", from `add_done_callback` to the run of the callback in a detached scope that the outcome opens. A
work item has the key of its future, which is also the key of the waits for the future. Invariant: an outcome has exactly one
source, even if several threads try to settle the future.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.multiprocessing import executor
from clew.instrument.adapters.patching import adapter_site, hook, hook_store, rename_in, when_imported
from clew.instrument.adapters.pool_workers import Workers, note_workers, record_waits, workers_of
from clew.instrument.probes.install.hidden_calls import Around
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)
_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)
_CANCELLED = frozenset({"CANCELLED", "CANCELLED_AND_NOTIFIED"})
_SETTLED = ("FINISHED", "CANCELLED")


def install() -> None:
    when_imported("concurrent.futures._base", _patch_futures)
    when_imported("concurrent.futures.thread", _patch_pool)
    when_imported("concurrent.futures.process", executor.patch)


def _patch_pool(module: Any) -> None:
    item_class = module._WorkItem
    emit, item_key = core.emit, core.object_key
    channel = intern("executor.submit")
    submit_site, run_site = adapter_site(module.ThreadPoolExecutor.submit), adapter_site(item_class.run)

    def submitted(_item: Any, future: Any) -> None:
        if key := item_key(future):
            emit(_SEND, submit_site, key, channel)

    def run(item: Any) -> tuple[int, Workers | None, int] | None:
        future = item.future
        if future._state in _CANCELLED:
            return None
        key, workers, thread = item_key(future), workers_of(future), core.thread()
        if not key:
            return None
        if workers is not None:
            workers.running[thread] = key, time.monotonic_ns()
        emit(_SCOPE_BEGIN, run_site, key, channel)
        return key, workers, thread

    def over(token: tuple[int, Workers | None, int], _result: None) -> None:
        key, workers, thread = token
        emit(_SCOPE_END, run_site, key, channel)
        if workers is not None:
            workers.running.pop(thread, None)

    hook(item_class.__init__, submitted, parameters=2)
    hook(item_class.run, run, over)
    note_workers(module.ThreadPoolExecutor)


def _patch_futures(module: Any) -> None:
    future_class = module.Future
    if hasattr(future_class, "_clew_key"):
        return
    emit = core.emit
    channel, callback_channel = intern("executor.result"), intern("executor.callback")
    future_class._clew_key = 0
    # The state changes under the future's lock, so if several threads try to settle it, the successful one is the source.
    for name in ("set_result", "set_exception", "cancel"):
        function = getattr(future_class, name)
        latch = core.Latch("_state", _SETTLED, channel, _SEND, adapter_site(function), 0, 0, own=True)
        setattr(future_class, f"_clew_{name}_state", latch)
        rename_in(function, "_state", f"_clew_{name}_state")

    def taken(future: Any, site: int) -> None:
        # `wait` also accepts objects of other classes.
        key = getattr(future, "_clew_key", 0)
        if key:
            emit(_JOIN, site, key, channel)

    record_waits(module)

    # The state is also read under the lock: a future that is settled after a wait for it timed out was not taken.
    for name in ("result", "exception"):
        function = getattr(future_class, name)
        latch = core.Latch(
            "_state", (*_SETTLED, "CANCELLED_AND_NOTIFIED"), channel, 0, 0, _JOIN, adapter_site(function)
        )
        setattr(future_class, f"_clew_{name}_state", latch)
        rename_in(function, "_state", f"_clew_{name}_state")

    wait_site, completed_site = adapter_site(module.wait), adapter_site(module.as_completed)

    def waited(_futures: Any, outcome: Any) -> None:
        for future in outcome.done if outcome else ():
            taken(future, wait_site)

    hook(module.wait, lambda futures: True, waited)

    if hasattr(module, "_yield_finished_futures"):
        # The local `f` is the future that it yields next, of any class.
        hook_store(module._yield_finished_futures, "f", lambda future: taken(future, completed_site))

    added_site = adapter_site(future_class.add_done_callback)

    def called_back(key: int) -> tuple[Callable[..., None], Callable[..., Any]]:
        def begin(future: Any) -> None:
            emit(_SCOPE_BEGIN, added_site, future._clew_key, channel)
            emit(_JOIN, added_site, key, callback_channel)

        def end(result: Any, _future: Any) -> Any:
            emit(_SCOPE_END, added_site, key, channel)
            return result

        return begin, end

    def added(_future: Any, callback: Any) -> tuple[None, Any]:
        # Callbacks of asyncio create handles, which have their own edges.
        if not core.active() or not callable(callback) or getattr(callback, "__module__", "") == "asyncio.futures":
            return None, callback
        key = fresh_key()
        emit(_SEND, added_site, key, callback_channel)
        return None, Around(callback, *called_back(key))

    hook(future_class.add_done_callback, added, parameters=2, changes="fn")
