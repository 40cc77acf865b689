"""Causality of queues: `put` to the `get` that takes the same item, `task_done` to the `join` that waited for it, for the
queue and asyncio.Queue families.

Channels: "queue", "asyncio.queue", "queue.done". Invariant: an edge joins the put and the get of one item, whatever the item
is (None, a small number, equal ones, the same object twice), whatever the order of the queue, and whatever a subclass makes
of `_put` and `_get`; where that cannot be known there is no edge, or the edge is marked ambiguous. The hooks are written in
C (`recorder/csrc/queues.h`), or in Python where the recorder is.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, operate, when_imported
from clew.instrument.recorder.select import native
from clew.instrument.recorder.strings import intern


def install() -> None:
    if native is None:
        from clew.instrument.adapters import queues_reference  # which is not needed otherwise

        when_imported("queue", queues_reference.patch_queue)
        when_imported("asyncio.queues", queues_reference.patch_asyncio)
        return
    when_imported("queue", _patch_queue)
    when_imported("asyncio.queues", _patch_asyncio)
    when_imported("concurrent.futures.thread", _patch_pool)


def _patch_queue(module: Any) -> None:
    queue = module.Queue
    # The names of attributes: what holds the items, their number, the number of those that are not done.
    _watch(module, (queue.put, queue.get), ("queue", "_qsize", "unfinished_tasks"), "queue")
    if module.SimpleQueue is not module._PySimpleQueue:
        simple = module.SimpleQueue
        native.watch_simple_queues(simple, intern("queue"), adapter_site(simple.put), adapter_site(simple.get))


def _patch_asyncio(module: Any) -> None:
    queue = module.Queue
    _watch(module, (queue.put_nowait, queue.get_nowait), ("_queue", "qsize", "_unfinished_tasks"), "asyncio.queue")


def _watch(module: Any, functions: tuple[Any, Any], names: tuple[str, str, str], channel: str) -> None:
    queue = module.Queue
    put_function, get_function = functions
    sites = tuple(map(adapter_site, (put_function, get_function, queue.task_done, queue.join)))
    classes = queue, module.LifoQueue, module.PriorityQueue
    put, get, done, joined = native.watch_queues(*classes, *names, intern(channel), intern("queue.done"), sites)
    # Right after `_put` and `_get`, where the queue's lock is held.
    unfinished = names[2]
    operate(put_function, stores={unfinished: (put, ("self", "item"))})
    operate(get_function, stores={"item": (get, ("self", "item"))})
    operate(queue.task_done, stores={unfinished: (done, ("self",))})
    operate(queue.join, exit=joined)


def _patch_pool(module: Any) -> None:
    """A thread pool's own queue: its work items have edges of their own."""
    hook(
        module.ThreadPoolExecutor.__init__,
        lambda pool: pool,
        lambda pool, _result: native.ignore_simple_queue(pool._work_queue),
    )
