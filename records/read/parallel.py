"""Run independent tasks on all available processors.

The tasks must release the GIL most of the time: C kernels, numpy on large arrays, Arrow, files. Invariants: results and
exceptions are those of one thread that runs the tasks in order. No thread outlives the call, however it ends.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def cores() -> int:
    """Return the number of processors that this process may use."""
    # macOS does not report the affinity of a process.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Ended(BaseException):
    pass


class Ending:
    """A flag that makes running tasks stop early because another task failed or the user pressed Ctrl-C."""

    def __init__(self) -> None:
        self.is_near = False

    def look(self) -> None:
        """Check for an early end; long tasks call this periodically and stop if it raises."""
        if self.is_near:
            raise _Ended


def together(works: Iterable[Callable[[], T]], ending: Ending | None = None) -> list[T]:
    """Return the results of all tasks, in order.

    If a task raises, no further task starts, and running tasks are awaited or stop through `ending`. A Ctrl-C has the
    same effect.
    """
    each = list(works)
    count = min(cores(), len(each))
    if count < 2:
        return [work() for work in each]
    import threading  # loading it would delay the commands for short programs

    todo, given, raised = deque(enumerate(each)), dict[int, T](), dict[int, BaseException]()
    ending = ending or Ending()

    def end() -> None:
        todo.clear()
        ending.is_near = True

    def work_on() -> None:
        while todo:
            try:
                number, work = todo.popleft()
            except IndexError:  # another thread took it
                return
            try:
                given[number] = work()
            except _Ended:
                return
            except BaseException as error:
                raised[number] = error
                end()

    # The caller only waits, so that a Ctrl-C interrupts it immediately.
    threads = [threading.Thread(target=work_on, name="clew-together") for _ in range(count)]
    try:
        try:
            for thread in threads:
                thread.start()
        except RuntimeError:  # no memory for more threads: the started ones do the work, or the caller
            if not given and not any(thread.is_alive() for thread in threads):
                work_on()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except BaseException:
        end()
        raise
    finally:
        for thread in threads:
            if thread.is_alive():
                thread.join()
    if raised:
        # Earlier tasks had started, so this is the first exception in order.
        raise raised[min(raised)]
    return [given[number] for number in range(len(each))]


def both(one: Callable[[], T], other: Callable[[], U]) -> tuple[T, U]:
    """Return the results of two tasks; see `together`."""
    works: tuple[Callable[[], Any], ...] = (one, other)
    first, second = together(works)
    return first, second
