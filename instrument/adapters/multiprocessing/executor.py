"""Causality of process pools: `submit` to the worker's run of the call, and the worker's outcome to its future.

Channels: "executor.submit" (each call runs in its own detached scope), and "executor.result", from the worker to the
executor's own thread, which sets the future; the edges of futures continue from there. `map` submits a chunk at a time.
The keys travel as attributes of the executor's items, which the program does not see.
"""

from __future__ import annotations

import threading
from types import FunctionType
from typing import Any

from clew.instrument.adapters.multiprocessing.connections import NOTHING, label
from clew.instrument.adapters.patching import adapter_site, hook
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _RECEIVE = int(Kind.SEND), int(Kind.RECEIVE)
_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)


class _Here(threading.local):
    """The calling thread's current work."""

    manager: Any = None
    """The executor's thread object while it distributes calls."""
    scope = 0
    """The key of the call that the thread runs; 0 for none."""


def patch(module: Any) -> None:
    """Hook `concurrent.futures.process`."""
    here = _Here()
    emit = core.emit
    submit_channel, result_channel = intern("executor.submit"), intern("executor.result")
    manager_class, queue_class = module._ExecutorManagerThread, module._SafeQueue
    submit_site, run_site = adapter_site(module.ProcessPoolExecutor.submit), adapter_site(module._process_worker)
    back_site, done_site = adapter_site(module._sendback_result), adapter_site(manager_class.process_result_item)

    def submitted(item: Any) -> None:
        if core.active():
            item._clew_key = fresh_key()
            emit(_SEND, submit_site, item._clew_key, submit_channel)

    def handing_out(manager: Any) -> bool:
        here.manager = manager
        return True

    def handed_out(_token: bool, _result: None) -> None:
        here.manager = None

    def called(item: Any, work_id: int) -> None:
        key = getattr(here.manager.pending_work_items[work_id], "_clew_key", 0)
        if key:
            item._clew_key = key

    hook(module._WorkItem.__init__, submitted)
    hook(manager_class.add_call_item_to_queue, handing_out, handed_out)
    hook(module._CallItem.__init__, called, parameters=2)

    def got(_token: bool, item: Any) -> None:
        here.scope = getattr(item, "_clew_key", 0)
        if here.scope:
            emit(_SCOPE_BEGIN, run_site, here.scope, submit_channel)

    def sent_back(_token: bool, _result: None) -> None:
        key, here.scope = here.scope, 0
        if key:
            emit(_SCOPE_END, run_site, key, submit_channel)

    def outcome(item: Any) -> None:
        if core.active():
            item._clew_key = fresh_key()
            emit(_SEND, back_site, item._clew_key, result_channel)

    # The queue's messages are internal, so they have no edges. The class gets its own copy of `get`, so that the hook does
    # not slow down other queues.
    get = queue_class.get
    queue_class.get = FunctionType(get.__code__, get.__globals__, get.__name__, get.__defaults__, get.__closure__)
    queue_class.get.__qualname__, queue_class.get.__module__ = get.__qualname__, get.__module__
    queue_class._clew_kind = NOTHING
    hook(queue_class.get, lambda _queue: True, got)
    hook(module._process_worker, lambda _calls, results: label(results, NOTHING), parameters=2)
    hook(module._sendback_result, lambda _results: True, sent_back)
    hook(module._ResultItem.__init__, outcome)

    def finishing(_manager: Any, item: Any) -> None:
        key = getattr(item, "_clew_key", 0)
        if key:
            emit(_RECEIVE, done_site, key, result_channel)

    hook(manager_class.process_result_item, finishing, parameters=2)
