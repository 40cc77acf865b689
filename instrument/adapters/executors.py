"""Causality of thread pools: `submit` to the work item's run, the outcome of a future to whoever takes it.

Channels: "executor.submit" (each work item runs in a detached scope of its own), "executor.result".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.instrument.adapters import process_pools
from clew.instrument.adapters.patching import adapter_site, hook, object_keys, when_imported
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)
_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)
_CANCELLED = frozenset({"CANCELLED", "CANCELLED_AND_NOTIFIED"})


def install() -> None:
    when_imported("concurrent.futures._base", _patch_futures)
    when_imported("concurrent.futures.thread", _patch_pool)
    when_imported("concurrent.futures.process", process_pools.patch)


def _patch_pool(module: Any) -> None:
    item_class = module._WorkItem
    emit = core.emit
    item_key = object_keys()
    channel = intern("executor.submit")
    submit_site, run_site = adapter_site(module.ThreadPoolExecutor.submit), adapter_site(item_class.run)

    def submitted(item: Any) -> None:
        emit(_SEND, submit_site, item_key(item), channel)

    def run(item: Any) -> int | None:
        if item.future._state in _CANCELLED:
            return None
        key = item_key(item)
        emit(_SCOPE_BEGIN, run_site, key, channel)
        return key

    def over(key: int, _result: None) -> None:
        emit(_SCOPE_END, run_site, key, channel)

    hook(item_class.__init__, submitted)
    hook(item_class.run, run, over)


def _patch_futures(module: Any) -> None:
    future_class = module.Future
    emit = core.emit
    outcome_key = object_keys()
    channel = intern("executor.result")

    def setting(site: int) -> Callable[[Any], None]:
        def set_outcome(future: Any) -> None:
            # Setting it twice is an error, and no outcome.
            if future._state != "FINISHED" and future._state not in _CANCELLED:
                emit(_SEND, site, outcome_key(future), channel)

        return set_outcome

    def taking(site: int) -> Callable[[Any, Any], None]:
        def taken(future: Any, _result: Any) -> None:
            if future._state == "FINISHED":
                emit(_JOIN, site, outcome_key(future), channel)

        return taken

    for function in (future_class.set_result, future_class.set_exception):
        hook(function, setting(adapter_site(function)))
    for function in (future_class.result, future_class.exception):
        hook(function, lambda future: future, taking(adapter_site(function)))

    wait_site = adapter_site(module.wait)

    def waited(_futures: Any, outcome: Any) -> None:
        for future in outcome.done if outcome else ():
            if getattr(future, "_state", None) == "FINISHED":
                emit(_JOIN, wait_site, outcome_key(future), channel)

    hook(module.wait, lambda futures: True, waited)
