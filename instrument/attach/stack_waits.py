"""Tell what a stack of frames waits for, and which locks its frames are inside.

A lock counts as held inside its `with` block, and in a `try` whose `finally` releases it.
"""

from __future__ import annotations

import _thread
import ast
from types import FrameType
from typing import Any, NamedTuple

from clew.instrument.attach import frame_values
from clew.instrument.attach.frame_values import NOTHING

MOST_FRAMES = 16
_LOCKS = {_thread.LockType: "lock", type(_thread.RLock()): "rlock"}


class LibraryWait(NamedTuple):
    """A function of the standard library in which threads or tasks wait."""

    channel: str
    idle: bool = False
    """Whether it waits for work, so that waiting is normal."""


_FUNCTIONS = {
    ("threading.py", "Condition.wait"): LibraryWait("condition"),
    ("threading.py", "Condition.wait_for"): LibraryWait("condition"),
    ("threading.py", "Event.wait"): LibraryWait("event"),
    ("threading.py", "Semaphore.acquire"): LibraryWait("semaphore"),
    ("threading.py", "Barrier.wait"): LibraryWait("barrier"),
    ("threading.py", "Barrier._wait"): LibraryWait("barrier"),
    ("threading.py", "Thread._wait_for_tstate_lock"): LibraryWait("thread.join"),
    ("threading.py", "Thread.join"): LibraryWait("thread.join"),
    ("threading.py", "_shutdown"): LibraryWait("shutdown", idle=True),
    ("queue.py", "Queue.get"): LibraryWait("queue", idle=True),
    ("queue.py", "Queue.put"): LibraryWait("queue"),
    ("queue.py", "Queue.join"): LibraryWait("queue"),
    ("thread.py", "_worker"): LibraryWait("queue", idle=True),
    ("_base.py", "Future.result"): LibraryWait("executor.result"),
    ("_base.py", "Future.exception"): LibraryWait("executor.result"),
    ("selectors.py", "select"): LibraryWait("io", idle=True),
    ("socket.py", "socket.accept"): LibraryWait("io", idle=True),
    ("locks.py", "Lock.acquire"): LibraryWait("asyncio.lock"),
    ("locks.py", "Event.wait"): LibraryWait("asyncio.event"),
    ("locks.py", "Condition.wait"): LibraryWait("asyncio.condition"),
    ("locks.py", "Semaphore.acquire"): LibraryWait("asyncio.semaphore"),
    ("locks.py", "Barrier.wait"): LibraryWait("asyncio.barrier"),
    ("queues.py", "Queue.get"): LibraryWait("asyncio.queue", idle=True),
    ("queues.py", "Queue.put"): LibraryWait("asyncio.queue"),
    ("queues.py", "Queue.join"): LibraryWait("asyncio.queue"),
    ("taskgroups.py", "TaskGroup.__aexit__"): LibraryWait("asyncio.taskgroup"),
    ("tasks.py", "sleep"): LibraryWait("asyncio.sleep", idle=True),
}
"""By the name of the file and of the function; the file has to be the standard library's."""
_LIBRARY = ast.__file__.rpartition("ast.py")[0]


def place(frame: FrameType) -> list[Any]:
    line, column, last, end = frame_values.position(frame)
    column, end = (column, end) if line == last else (-1, -1)
    return [frame.f_code.co_filename, line, frame.f_code.co_qualname, column, end]


def _in_library(file: str) -> bool:
    return file.startswith(_LIBRARY) and "-packages" not in file


def library_wait(stack: list[FrameType]) -> dict[str, Any] | None:
    """Return the wait of the outermost function among the innermost frames that is known to wait."""
    found = None
    for number, frame in enumerate(stack):
        code = frame.f_code
        if not _in_library(code.co_filename):
            break
        file = code.co_filename.rpartition("/")[2]
        known = _FUNCTIONS.get((file, code.co_qualname)) or _FUNCTIONS.get((file, code.co_name))
        if known is not None:
            found = number, known
        elif found is None and number > 1:
            break
    if found is None:
        return None
    number, wait = found
    owner = stack[number].f_locals.get("self")
    targets: tuple[int, ...] = ()
    owner_name: Any = ""
    if wait.channel == "thread.join":
        ident, owner_name = frame_values.attribute(owner, "_ident"), frame_values.attribute(owner, "_name")
        targets = (ident,) if type(ident) is int else ()
    elif wait.channel == "asyncio.taskgroup":
        tasks = frame_values.attribute(owner, "_tasks")
        targets = tuple(id(task) for task in tasks) if type(tasks) is set else ()
    name = owner_name if type(owner_name) is str else ""
    outside = next((frame for frame in stack[number:] if not _in_library(frame.f_code.co_filename)), None)
    if not name and outside is not None and wait.channel not in ("io", "shutdown"):
        name = frame_values.awaited_name(outside)
    return made_wait(wait.channel, owner, name, targets, idle=wait.idle)


def made_wait(
    channel: str, key: object, name: str = "", targets: tuple[int, ...] = (), *, idle: bool = False
) -> dict[str, Any]:
    return {"channel": channel, "key": id(key), "name": name, "targets": list(targets), "idle": idle, "owner": 0}


def lock_wait(stack: list[FrameType]) -> dict[str, Any] | None:
    """Return the wait for a lock that the innermost line acquires, if that lock is held."""
    node = frame_values.running_expression(stack[0]) if stack else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        value = frame_values.value_of(node.func.value, stack[0])
        if method == "get" and type(value).__name__ == "SimpleQueue" and type(value).__module__ == "_queue":
            return made_wait("queue", value, ast.unparse(node.func.value), idle=True)
        if method != "acquire":
            return None
        node = node.func.value
    elif node is not None:
        value = frame_values.value_of(node, stack[0])
    else:
        return None
    channel = _LOCKS.get(type(value))
    if channel is None or "unlocked" in repr(value):
        return None
    found = made_wait(channel, value, ast.unparse(node))
    if channel == "rlock":
        owner = repr(value).partition("owner=")[2].partition(" ")[0]
        found["owner"] = int(owner) if owner.isdigit() else 0
    return found


def locks_held(stack: list[FrameType]) -> list[dict[str, Any]]:
    """Return the locks that the frames of a stack are inside, the innermost first."""
    found: dict[int, dict[str, Any]] = {}
    for frame in stack[:MOST_FRAMES]:
        if _in_library(frame.f_code.co_filename):
            continue
        for node in frame_values.entered(frame):
            value = frame_values.value_of(node, frame)
            if value is NOTHING or not _is_locked(value):
                continue
            found.setdefault(id(value), {"key": id(value), "name": ast.unparse(node), "frame": place(frame)})
    return list(found.values())


def _is_locked(value: Any) -> bool:
    if type(value) in _LOCKS:
        return "unlocked" not in repr(value)
    return type(value).__module__ == "asyncio.locks" and frame_values.attribute(value, "_locked") is True
