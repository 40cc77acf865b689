"""Causality of multiprocessing's pools: a call to the worker that runs it, its result to the readers, callbacks.

Channel: "multiprocessing.pool". The calls of `apply` and `map` send their tasks themselves. The pool's own thread runs the
iterable of `imap` and sends its tasks; the call causes them. A result opens a scope in the pool's thread. Callbacks run in
this scope, and edges lead from it to `get` and to the iterators of `imap`.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from clew.instrument.adapters.multiprocessing.connections import CHANNELS, NOTHING, POOL, Sites, label, sites
from clew.instrument.adapters.patching import adapter_site, around, hook, object_keys, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)


def install() -> None:
    when_imported("multiprocessing.pool", _patch)


class _Items(deque[Any]):
    """The results in an iterator of `imap` that are not yet taken."""


def _patch(module: Any) -> None:
    pool_class, result_class, iterator_class = module.Pool, module.ApplyResult, module.IMapIterator
    emit, channel = core.emit, intern(CHANNELS[POOL])
    result_key = object_keys()
    apply_site, imap_site = adapter_site(pool_class.apply_async), adapter_site(pool_class.imap)
    set_site, wait_site = adapter_site(result_class._set), adapter_site(result_class.wait)
    item_site, next_site = adapter_site(iterator_class._set), adapter_site(iterator_class.next)

    sites[POOL] = Sites(adapter_site(module.worker), adapter_site(pool_class._handle_results))

    def recording_send(site: int) -> Any:
        def submitted(result: Any) -> Any:
            result._clew_key = fresh_key()
            emit(_SEND, site, result._clew_key, channel)
            return result

        return submitted

    hook(result_class.__init__, recording_send(apply_site))

    def task_of(pool: Any) -> Any:
        # The connection holds this function, and the pool holds the connection. A weak reference avoids a cycle, so that
        # the pool dies with its last user, as without clew.
        alive = weakref.ref(pool)

        def task(item: Any) -> tuple[int, int]:
            live_pool = alive()
            result = None if item is None or live_pool is None else live_pool._cache.get(item[0])
            key = getattr(result, "_clew_key", 0)
            if not key:
                return NOTHING, 0
            if isinstance(result, iterator_class):
                emit(_JOIN, imap_site, key, channel)
                key = fresh_key()
                emit(_SEND, imap_site, key, channel)
            return POOL, key

        return task

    def set_up(pool: Any, _result: None) -> None:
        writer = getattr(pool._inqueue, "_writer", None)
        if writer is not None:  # the queues of a thread pool have no connection
            label(writer, task_of(pool))
            pool._inqueue._reader._clew_wait = None
            label(pool._outqueue, NOTHING)  # this end only sends the message that stops the pool

    hook(pool_class._setup_queues, lambda pool: pool, set_up)
    hook(module._PoolCache.__init__, lambda _cache, notifier: label(notifier, NOTHING), parameters=2)

    def works(inqueue: Any, outqueue: Any) -> None:
        label(outqueue, POOL)
        inqueue._reader._clew_wait = None  # waiting for work is all that it does between its items

    hook(module.worker, works, parameters=2)

    def done(result: Any) -> None:
        # The chunks of a `map` arrive one by one, each in its own scope. The JOIN chains them, so that a reader of the
        # result depends on all of them.
        if getattr(result, "_clew_chunks", False):
            emit(_JOIN, set_site, result_key(result), channel)
        result._clew_chunks = True
        emit(_SEND, set_site, result_key(result), channel)

    def waited(result: Any, _nothing: None) -> None:
        if result._event.is_set() and getattr(result, "_clew_chunks", False):
            emit(_JOIN, wait_site, result_key(result), channel)

    for function in (result_class._set, module.MapResult._set):
        hook(function, done)
    hook(result_class.wait, lambda result: result, waited)

    def arrived(_iterator: Any, _number: int, item: Any) -> None:
        emit(_SEND, item_site, result_key(item), channel)

    def taken(item: Any, _items: Any) -> Any:
        if item is not None:
            emit(_JOIN, next_site, result_key(item), channel)
        return item

    _Items.popleft = around(deque.popleft, None, taken)  # type: ignore[method-assign]  # typed as deque's

    def made(iterator: Any, _result: None) -> None:
        iterator._items = _Items()

    for function in (iterator_class._set, module.IMapUnorderedIterator._set):
        hook(function, arrived, parameters=3)
    hook(iterator_class.__init__, recording_send(imap_site), made)
