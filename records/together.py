"""Independent pieces of work on all processors that there are.

For work that leaves the GIL to others most of the time: walks in C, numpy on large arrays, Arrow, files. Invariants: what is
given, and what is raised, is what one thread would give and raise that does one after the other; no thread works on when it is
over, however it ends.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def cores() -> int:
    """The processors that this process may use."""
    # macOS does not tell of which.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Ended(BaseException):
    pass


class Ending:
    """Tells pieces of work that the others have come to an early end."""

    def __init__(self) -> None:
        self.is_near = False

    def look(self) -> None:
        """To be called now and then by long ones, whose end it then is."""
        if self.is_near:
            raise _Ended


def together(works: Iterable[Callable[[], T]], ending: Ending | None = None) -> list[T]:
    """What each of them gives. One that raises ends it: none is begun after that, and those under way are waited for, or learn
    of it by `ending`. So does a Ctrl-C."""
    each = list(works)
    count = min(cores(), len(each))
    if count < 2:
        return [work() for work in each]
    import threading  # not for what a short program's user waits for

    todo, given, raised = deque(enumerate(each)), dict[int, T](), dict[int, BaseException]()
    ending = ending or Ending()

    def end() -> None:
        todo.clear()
        ending.is_near = True

    def work_on() -> None:
        while todo:
            try:
                number, work = todo.popleft()
            except IndexError:  # another took it
                return
            try:
                given[number] = work()
            except _Ended:
                return
            except BaseException as error:
                raised[number] = error
                end()

    # The caller only waits, so that a Ctrl-C finds it at once.
    threads = [threading.Thread(target=work_on, name="clew-together") for _ in range(count)]
    try:
        try:
            for thread in threads:
                thread.start()
        except RuntimeError:  # no memory for so many: those that there are do it, or the caller
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
        # What came before was under way, so this is the first that anyone would have met.
        raise raised[min(raised)]
    return [given[number] for number in range(len(each))]


def both(one: Callable[[], T], other: Callable[[], U]) -> tuple[T, U]:
    """What two pieces of work give, see `together`."""
    works: tuple[Callable[[], Any], ...] = (one, other)
    first, second = together(works)
    return first, second
