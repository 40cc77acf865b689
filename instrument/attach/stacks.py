"""Return where all threads and asyncio tasks of this process are now, for `clew hang`.

Invariant: no code of the program runs, and nothing is recorded or changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from clew.instrument.attach import frame_values
from clew.instrument.attach.stack_waits import MOST_FRAMES, library_wait, lock_wait, locks_held, made_wait, place

MOST_STRANDS = 500
_DEEPEST = 100
_OWN_FOLDER = __file__.rpartition("attach")[0]


def snapshot() -> dict[str, Any]:
    """Return `{"threads": [...], "tasks": [...], "more": int}`, one object for each thread and task.

    An object has `id`, `name`, `frames` (file, line, function, columns; innermost first), `wait` (null, or an object with
    `channel`, `key`, `name`, `targets`, `idle`, `owner`), and `holds` (objects with `key`, `name`, `frame`): the locks that
    its frames are inside. `targets` has the ids of the threads or tasks whose end is awaited, `owner` that of the
    thread that has the lock, as the lock itself tells, else 0. `more` is the number of threads and tasks left out.
    """
    import threading

    known = dict(threading._active)  # type: ignore[attr-defined]
    frames = sys._current_frames()
    tasks = _tasks()
    try:
        return {
            "threads": [_thread_now(id_, frame, known.get(id_)) for id_, frame in [*frames.items()][:MOST_STRANDS]],
            "tasks": [_task_now(task) for task in tasks[:MOST_STRANDS]],
            "more": max(len(frames) - MOST_STRANDS, 0) + max(len(tasks) - MOST_STRANDS, 0),
        }
    finally:
        frame_values.forget_sources()


def _thread_now(ident: int, frame: FrameType, thread: Any) -> dict[str, Any]:
    stack = [each for each in _outward(frame) if not each.f_code.co_filename.startswith(_OWN_FOLDER)]
    name = frame_values.attribute(thread, "_name")
    return {
        "id": ident,
        "name": name if type(name) is str else f"thread {ident}",
        "frames": [place(each) for each in stack[:MOST_FRAMES]],
        "wait": library_wait(stack) or lock_wait(stack),
        "holds": locks_held(stack),
    }


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _tasks() -> list[Any]:
    """Return the tasks that have not ended, without loading asyncio."""
    module, futures = sys.modules.get("asyncio.tasks"), sys.modules.get("_asyncio")
    task_type: Any = getattr(futures, "Task", None)
    if module is None or task_type is None:
        return []
    found: list[Any] = []
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        tasks = getattr(module, name, None)
        for _ in range(10):
            try:
                found += () if tasks is None else list(tasks)
                break
            except RuntimeError:  # another thread changed it meanwhile
                continue
    alone = {id(task): task for task in found}.values()
    return [task for task in alone if issubclass(type(task), task_type) and not task_type.done(task)]


def _task_now(task: Any) -> dict[str, Any]:
    base: Any = sys.modules["_asyncio"].Task
    stack, runs = _awaiting(base.get_coro(task))
    waiter = base._fut_waiter.__get__(task)
    wait = None if runs else library_wait(stack)
    if wait is None and waiter is not None and not runs:
        wait = _future_wait(waiter, base)
    return {
        "id": id(task),
        "name": base.get_name(task),
        "frames": [place(each) for each in stack[:MOST_FRAMES]],
        "wait": wait,
        "holds": locks_held(stack),
    }


def _future_wait(waiter: Any, task_type: Any) -> dict[str, Any]:
    if issubclass(type(waiter), task_type):
        return made_wait("asyncio.task", waiter, task_type.get_name(waiter), (id(waiter),))
    gathering = getattr(sys.modules["asyncio.tasks"], "_GatheringFuture", None)
    children = object.__getattribute__(waiter, "_children") if type(waiter) is gathering else None
    if type(children) is list:
        return made_wait("asyncio.gather", waiter, "", tuple(id(child) for child in children))
    return made_wait("asyncio.future", waiter)


def _awaiting(coroutine: Any) -> tuple[list[FrameType], bool]:
    """Return the frames of a coroutine and of those that it awaits, innermost first, and whether it runs now."""
    found: list[FrameType] = []
    for _ in range(_DEEPEST):
        if type(coroutine) is CoroutineType:
            frame, runs, following = coroutine.cr_frame, coroutine.cr_running, coroutine.cr_await
        elif type(coroutine) is GeneratorType:
            frame, runs, following = coroutine.gi_frame, coroutine.gi_running, coroutine.gi_yieldfrom
        elif type(coroutine) is AsyncGeneratorType:
            frame, runs, following = coroutine.ag_frame, coroutine.ag_running, coroutine.ag_await
        else:
            break
        if frame is not None:
            found.append(frame)
        if runs and following is None:
            return found[::-1], True
        coroutine = following
    return found[::-1], False
