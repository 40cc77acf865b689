"""Programs that do one thing over and over of which clew keeps facts: exceptions, waits, holders, ends of connections,
cancellations, states.

Invariant: as in `workloads`; one slice has `OPERATIONS` of them.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import ModuleType

from workloads import Work, Workload

OPERATIONS = 256
"""A line that raises is recorded a thousand times a second at most, so each exception of a slice has a line of its own."""


def prepare_exceptions() -> Work:
    source = "".join(f"def raise_{number}():\n    raise KeyError('sku-7')\n" for number in range(OPERATIONS))
    package = ModuleType("generated_workloads")
    sys.modules[package.__name__] = package
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "exceptions.py").write_text(source)
        package.__path__ = [folder]
        module = importlib.import_module(f"{package.__name__}.exceptions")
    functions = [getattr(module, f"raise_{number}") for number in range(OPERATIONS)]

    def catch() -> int:
        caught = 0
        for function in functions:
            try:
                function()
            except KeyError:
                caught += 1
        return caught

    return catch


def _on_a_loop(operations: Callable[[], Coroutine[object, object, object]]) -> Work:
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(operations())


async def _child() -> None:
    pass


async def _await_tasks() -> None:
    for _ in range(OPERATIONS):
        await asyncio.create_task(_child(), name="child")


async def _sleep_long() -> None:
    await asyncio.sleep(3600)


async def _cancel_tasks() -> int:
    cancelled = 0
    for _ in range(OPERATIONS):
        task = asyncio.create_task(_sleep_long())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            cancelled += 1
    return cancelled


async def _take_slots() -> None:
    slots = asyncio.Semaphore(4)
    for _ in range(OPERATIONS):
        await slots.acquire()
        slots.release()


def prepare_locks() -> Work:
    """A lock that its holder keeps, and another thread's waits for it until their time limit."""
    lock, held = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()

    def wait() -> None:
        for _ in range(OPERATIONS):
            lock.acquire(timeout=1e-6)

    return wait


def prepare_thread_slots() -> Work:
    slots = threading.Semaphore(4)

    def take() -> None:
        for _ in range(OPERATIONS):
            slots.acquire()
            slots.release()

    return take


def prepare_connections() -> Work:
    def connect() -> None:
        for _ in range(OPERATIONS):
            near, far = socket.socketpair()
            near.close()
            far.recv(1)
            far.close()

    return connect


def write(name: str) -> None:
    pass


def read(name: str) -> None:
    pass


def prepare_states() -> Work:
    def access() -> None:
        for _ in range(OPERATIONS):
            write("sku-7")
            read("sku-7")

    return access


FACTS = {
    workload.name: workload
    for workload in (
        Workload("an exception that leaves a function", prepare_exceptions, ()),
        Workload("a task, and a wait for it", lambda: _on_a_loop(_await_tasks), ()),
        Workload("a wait for a held lock until its time limit", prepare_locks, ()),
        Workload("a slot of asyncio.Semaphore, taken and given back", lambda: _on_a_loop(_take_slots), ()),
        Workload("a slot of threading.Semaphore, taken and given back", prepare_thread_slots, ()),
        Workload("a connection, and a read of its end", prepare_connections, ()),
        Workload("a task that is cancelled", lambda: _on_a_loop(_cancel_tasks), ()),
        Workload("a state, defined and used", prepare_states, ()),
    )
}
