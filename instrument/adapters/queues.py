"""Causality of queues: `put` to the `get` of the same item, and `task_done` to the `join` that waits for it.

The module covers the families of queue.Queue and asyncio.Queue. Channels: "queue", "asyncio.queue", "queue.done",
"queue.shutdown". Invariant: an edge joins the put and the get of one item, for any item (None, a small number, equal
items, the same object twice), any order of the queue, and any `_put` and `_get` of a subclass. If the pair is not certain,
the edge is missing or marked ambiguous. The hooks are written in C (`recorder/csrc/queues`).
"""

from __future__ import annotations

import sys
from typing import Any

from clew.instrument.adapters.facts.waits import waits_in
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
    # The attributes' names: the container of the items, the number of items, the number of unfinished items.
    _watch(module, (queue.put, queue.get), ("queue", "_qsize", "unfinished_tasks"), "queue")
    _watch_shutdown(queue, "is_shutdown", ("put", "get"))
    for function, name in ((queue.put, "queue"), (queue.get, "queue"), (queue.join, "queue.done")):
        waits_in(function, name, capacity="maxsize" if function is queue.put else "")
    waits_in(module._PySimpleQueue.get, "queue")
    if module.SimpleQueue is not module._PySimpleQueue:
        simple = module.SimpleQueue
        core.watch_simple_queues(
            simple, module.Empty, intern("queue"), adapter_site(simple.put), adapter_site(simple.get)
        )


def _patch_asyncio(module: Any) -> None:
    queue = module.Queue
    _watch(module, (queue.put_nowait, queue.get_nowait), ("_queue", "qsize", "_unfinished_tasks"), "asyncio.queue")
    _watch_shutdown(queue, "_is_shutdown", ("put", "put_nowait", "get", "get_nowait"))
    _joined_queues(module)


def _joined_queues(module: Any) -> None:
    """Add `_clew_joined` to asyncio.queues, which creates a queue whose gets do not open scopes."""

    def joined(*arguments: Any) -> Any:
        queue = module.Queue(*arguments)
        core.join_items(queue)
        return queue

    module._clew_joined = joined
    _patch_completed(module)


def _patch_completed(_module: Any) -> None:
    """Make `asyncio.as_completed` use a queue whose gets do not open scopes, because its caller continues its own work.

    It needs two modules, which may be imported in either order; the call for the second one has the effect.
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
    # These stores follow `_put` and `_get` immediately, while the queue's lock is held.
    unfinished = names[2]
    operate(put_function, stores={unfinished: (put, ("self", "item"))})
    operate(get_function, stores={"item": (get, ("self", "item"))})
    operate(queue.task_done, stores={unfinished: (done, ("self",))})
    operate(queue.join, exit=joined)
    if hasattr(queue, "shutdown"):  # it may drop the items in the queue, as if they were done
        operate(queue.shutdown, stores={unfinished: (done, ("self",))})


def _watch_shutdown(queue: Any, flag: str, readers: tuple[str, ...]) -> None:
    """Record edges from a queue's shutdown to the methods that read `flag` and find it set. Python 3.13 and later."""
    if not hasattr(queue, "shutdown"):
        return
    channel = intern("queue.shutdown")
    queue._clew_key = 0
    queue._clew_shutdown = core.Latch(flag, (True,), channel, _RELEASE, adapter_site(queue.shutdown), 0, 0)
    rename_in(queue.shutdown, flag, "_clew_shutdown")
    for name in readers:
        function = getattr(queue, name)
        setattr(queue, f"_clew_{name}_shut", core.Latch(flag, (True,), channel, 0, 0, _ACQUIRE, adapter_site(function)))
        rename_in(function, flag, f"_clew_{name}_shut")


def _patch_pool(module: Any) -> None:
    """Ignore the internal queue of a thread pool, because its work items have their own edges."""
    hook(
        module.ThreadPoolExecutor.__init__,
        lambda pool: pool,
        lambda pool, _result: core.ignore_simple_queue(pool._work_queue),
    )
