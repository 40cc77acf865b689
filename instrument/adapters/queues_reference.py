"""Causality of queues for the recorder written in Python: what `csrc/queues.h` does, by calls of Python functions.

Invariant: the puts and gets it records are the same (`tests/instrument/test_queues.py` runs with both); whose work a `join`
waited for is recorded in C only.
"""

import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters.patching import adapter_site, around, rename_in
from clew.instrument.adapters.queues import joined_queues, watch_shutdown
from clew.instrument.context import fresh_key
from clew.instrument.probes.quiet import Around
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import FLAG_AMBIGUOUS, Kind
from clew.records.tuples import NamedTuple

_SEND, _RECEIVE, _JOIN = int(Kind.SEND), int(Kind.RECEIVE), int(Kind.JOIN)
_FIFO, _LIFO, _OTHER = range(3)


def patch_queue(module: Any) -> None:
    queue_class = module.Queue
    if "_clew_put" in vars(queue_class):
        return
    orders = {_methods(queue_class): _FIFO, _methods(module.LifoQueue): _LIFO}
    _hook(queue_class, queue_class.put, queue_class.get, "queue", orders, lambda queue: queue._qsize())
    watch_shutdown(queue_class, "is_shutdown", ("put", "get"))
    if module.SimpleQueue is not module._PySimpleQueue:
        module.SimpleQueue = _simple_queue(module.SimpleQueue)


def patch_asyncio(module: Any) -> None:
    queue_class = module.Queue
    if "_clew_put" in vars(queue_class):
        return
    orders = {_methods(queue_class): _FIFO, _methods(module.LifoQueue): _LIFO}
    _hook(
        queue_class,
        queue_class.put_nowait,
        queue_class.get_nowait,
        "asyncio.queue",
        orders,
        lambda queue: queue.qsize(),
    )

    watch_shutdown(queue_class, "_is_shutdown", ("put", "put_nowait", "get", "get_nowait"))

    def join_items(queue: Any) -> None:
        queue._clew_ledger = ledger = _Ledger(0, _FIFO)
        ledger.kind = _JOIN

    joined_queues(module, join_items)


def _methods(queue_class: Any) -> tuple[object, object]:
    """What makes the order of a queue."""
    return queue_class._put, queue_class._get


class _Ledger:
    """The keys of the items in one queue, by the items' identity: an item in a queue lives, so its address is its own."""

    __slots__ = ("count", "keys", "kind", "order", "strangers")

    def __init__(self, count: int, order: int) -> None:
        self.order = order
        self.kind = _RECEIVE
        self.reset(count)

    def reset(self, count: int) -> None:
        """Knows nothing of the `count` items that the queue holds: they came, or others went, by another way."""
        self.count = self.strangers = count
        self.keys: dict[int, int | deque[int]] = {}

    def add(self, item: object, key: int) -> None:
        self.count += 1
        there = self.keys.setdefault(id(item), key)
        if isinstance(there, deque):
            there.append(key)
        elif there != key:
            self.keys[id(item)] = deque((there, key))

    def take(self, item: object) -> tuple[int, int]:
        """The key of `item`, 0 when it is not known, and the flags of its use."""
        self.count -= 1
        there = self.keys.pop(id(item), 0)
        if not isinstance(there, deque):
            if there:
                return there, 0
            if self.strangers:
                self.strangers -= 1
            else:
                # The queue hands out something else than what was put in: no address in here can be trusted.
                self.reset(self.count)
            return 0, 0
        key = there.pop() if self.order == _LIFO else there.popleft()
        self.keys[id(item)] = there if len(there) > 1 else there[0]
        return key, FLAG_AMBIGUOUS if self.order == _OTHER else 0


def _hook(  # noqa: PLR0917 - called twice, in this file
    queue_class: Any,
    put_function: Any,
    get_function: Any,
    channel_name: str,
    orders: dict[tuple[object, object], int],
    size: Callable[[Any], int],
) -> None:
    """Calls a hook where `put_function` and `get_function` call `_put` and `_get`: there the queue's lock is held."""
    emit = core.emit
    channel = intern(channel_name)
    put_site, get_site = adapter_site(put_function), adapter_site(get_function)

    def ledger_of(queue: Any, count: int) -> _Ledger:
        ledger: _Ledger | None = queue.__dict__.get("_clew_ledger")
        if ledger is None:
            ledger = queue._clew_ledger = _Ledger(count, orders.get(_methods(type(queue)), _OTHER))
        elif ledger.count != count:
            ledger.reset(count)
        return ledger

    def added(queue: Any, before: int, _result: None, item: Any) -> None:
        ledger = ledger_of(queue, before)
        # A queue may refuse an item without a word, one that keeps a set for instance.
        if size(queue) == before + 1:
            key = fresh_key()
            ledger.add(item, key)
            emit(_SEND, put_site, key, channel)

    def taken(queue: Any, before: int, item: Any) -> Any:
        ledger = ledger_of(queue, before)
        if size(queue) == before - 1:
            key, flags = ledger.take(item)
            if key:
                emit(ledger.kind, get_site, key, channel, b"", flags)
        return item

    queue_class._clew_put = _Watched("_put", size, added)
    queue_class._clew_get = _Watched("_get", size, taken)
    rename_in(put_function, "_put", "_clew_put")
    rename_in(get_function, "_get", "_clew_get")


class _Watched:
    """Stands for a method that every queue may have of its own: looking it up on a queue finds that queue's, and has `after`
    called with the queue and its size of before the call. So no frame of ours stands around it."""

    def __init__(self, name: str, size: Callable[[Any], int], after: Callable[..., Any]) -> None:
        self._name, self._size, self._after = name, size, after

    def __get__(self, queue: Any, owner: Any = None) -> Any:
        return Around(getattr(queue, self._name), None, functools.partial(self._after, queue, self._size(queue)))


class _Keyed(NamedTuple):
    """An entry of a SimpleQueue."""

    key: int
    item: Any


def _simple_queue(original: Any) -> Any:
    """A subclass of the C type, whose entries carry their keys."""
    emit = core.emit
    channel = intern("queue")
    put_site, get_site = adapter_site(original.put), adapter_site(original.get)

    def keyed(queue: Any, item: Any, block: bool = True, timeout: float | None = None) -> tuple[Any, ...]:
        key = fresh_key()
        emit(_SEND, put_site, key, channel)
        return queue, _Keyed(key, item), block, timeout

    def keyed_at_once(queue: Any, item: Any) -> tuple[Any, ...]:
        return keyed(queue, item)[:2]

    def unpacked(entry: Any, *_arguments: Any, **_options: Any) -> Any:
        if type(entry) is not _Keyed:
            return entry
        emit(_RECEIVE, get_site, entry.key, channel)
        return entry.item

    def made(queue: Any, *_arguments: Any, **_options: Any) -> Any:
        # A thread pool's own queue: its work items have edges of their own.
        pool = sys._getframe(1).f_globals.get("__name__") == "concurrent.futures.thread"
        return original() if pool else queue

    namespace = {
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__slots__": (),
        "__new__": Around(original.__new__, None, made),
        "put": around(original.put, keyed),
        "put_nowait": around(original.put_nowait, keyed_at_once),
        "get": around(original.get, None, unpacked),
        "get_nowait": around(original.get_nowait, None, unpacked),
    }
    return type(original.__name__, (original,), namespace)
