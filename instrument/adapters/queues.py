"""Causality of queues: `put` to the `get` that takes the same item, `task_done` to the `join` that waited for it, for the
queue and asyncio.Queue families.

Channels: "queue", "asyncio.queue", "queue.done", "queue.shutdown". Invariant: an edge joins the put and the get of one item,
whatever the item is (None, a small number, equal ones, the same object twice), whatever the order of the queue, and whatever
a subclass makes of `_put` and `_get`; where that cannot be known there is no edge, or the edge is marked ambiguous. The hooks
are written in C (`recorder/csrc/queues`).
"""

from __future__ import annotations

import sys
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, operate, rename_in, when_imported
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind

_RELEASE, _ACQUIRE = int(Kind.RELEASE), int(Kind.ACQUIRE)


def install() -> None:
    when_imported("queue", _patch_queue)
    when_imported("asyncio.queues", _patch_asyncio)
    when_imported("asyncio.tasks", _patch_completed)
    when_imported("concurrent.futures.thread", _patch_pool)


def _patch_queue(module: Any) -> None:
    queue = module.Queue
    # The names of attributes: what holds the items, their number, the number of those that are not done.
    _watch(module, (queue.put, queue.get), ("queue", "_qsize", "unfinished_tasks"), "queue")
    _watch_shutdown(queue, "is_shutdown", ("put", "get"))
    if module.SimpleQueue is not module._PySimpleQueue:
        simple = module.SimpleQueue
        core.watch_simple_queues(simple, intern("queue"), adapter_site(simple.put), adapter_site(simple.get))


def _patch_asyncio(module: Any) -> None:
    queue = module.Queue
    _watch(module, (queue.put_nowait, queue.get_nowait), ("_queue", "qsize", "_unfinished_tasks"), "asyncio.queue")
    _watch_shutdown(queue, "_is_shutdown", ("put", "put_nowait", "get", "get_nowait"))
    _joined_queues(module)


def _joined_queues(module: Any) -> None:
    """Gives asyncio.queues a `_clew_joined` that makes a queue whose gets open no scope."""

    def joined(*arguments: Any) -> Any:
        made = module.Queue(*arguments)
        core.join_items(made)
        return made

    module._clew_joined = joined
    _patch_completed(module)


def _patch_completed(_module: Any) -> None:
    """`asyncio.as_completed` has a queue of its own: whoever takes from it goes on with what it was doing.

    For both modules that it takes, of which either may come first.
    """
    queues: Any = sys.modules.get("asyncio.queues")
    tasks: Any = sys.modules.get("asyncio.tasks")
    if hasattr(queues, "_clew_joined") and hasattr(tasks, "as_completed"):
        iterator = getattr(tasks, "_AsCompletedIterator", None)
        rename_in(iterator.__init__ if iterator else tasks.as_completed, "Queue", "_clew_joined")


def _watch(module: Any, functions: tuple[Any, Any], names: tuple[str, str, str], channel: str) -> None:
    queue = module.Queue
    put_function, get_function = functions
    sites = tuple(map(adapter_site, (put_function, get_function, queue.task_done, queue.join)))
    classes = queue, module.LifoQueue, module.PriorityQueue
    put, get, done, joined = core.watch_queues(*classes, *names, intern(channel), intern("queue.done"), sites)
    # Right after `_put` and `_get`, where the queue's lock is held.
    unfinished = names[2]
    operate(put_function, stores={unfinished: (put, ("self", "item"))})
    operate(get_function, stores={"item": (get, ("self", "item"))})
    operate(queue.task_done, stores={unfinished: (done, ("self",))})
    operate(queue.join, exit=joined)
    if hasattr(queue, "shutdown"):  # which may drop what is in the queue, as if it were done
        operate(queue.shutdown, stores={unfinished: (done, ("self",))})


def _watch_shutdown(queue: Any, flag: str, lookers: tuple[str, ...]) -> None:
    """Who shut a queue down lets those go on who find it so; `flag` is the attribute that they find it by. From 3.13 on."""
    if not hasattr(queue, "shutdown"):
        return
    channel = intern("queue.shutdown")
    queue._clew_key = 0
    queue._clew_shutdown = core.Latch(flag, (True,), channel, _RELEASE, adapter_site(queue.shutdown), 0, 0)
    rename_in(queue.shutdown, flag, "_clew_shutdown")
    for name in lookers:
        function = getattr(queue, name)
        setattr(queue, f"_clew_{name}_shut", core.Latch(flag, (True,), channel, 0, 0, _ACQUIRE, adapter_site(function)))
        rename_in(function, flag, f"_clew_{name}_shut")


def _patch_pool(module: Any) -> None:
    """A thread pool's own queue: its work items have edges of their own."""
    hook(
        module.ThreadPoolExecutor.__init__,
        lambda pool: pool,
        lambda pool, _result: core.ignore_simple_queue(pool._work_queue),
    )
