"""One piece of work for a request: what it does now, and whether it is still wanted.

Work looks whether it is wanted between its phases, and is interrupted within them: what takes seconds ends with the call of C
that it is in. Invariant: nothing but `Cancelled` comes out of work that was interrupted, and nothing is thrown after its end.
What it keeps for others must hold wherever it stops, as it must when the process is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from clew.records.errors import ClewError

T = TypeVar("T")

LOOK_SECONDS = 0.05
"""Between two looks at whether the work is still wanted, while it waits for a lock."""


class Cancelled(ClewError):
    """The client no longer wants the answer."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class _Interrupted(BaseException):
    """Thrown into a thread that works for nobody. It is no error, so that nobody who handles errors catches it."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class Task:
    """One piece of work: what it does now, for the user's progress bar, and whether it is still wanted."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._thread: int | None = None
        """Of the work, while it may be interrupted."""

    def cancel(self) -> None:
        with self._lock:
            # Once: a second one might arrive behind the work's end.
            if self._thread is not None and not self._cancelled.is_set():
                _throw(self._thread, _Interrupted)
            self._cancelled.set()

    def phase(self, what: str) -> None:
        """Between two phases of the work. Raises `Cancelled` when nobody waits any more."""
        self.check()
        if self._report is not None:
            self._report(what)

    def check(self) -> None:
        """Raises `Cancelled` when nobody waits any more."""
        if self._cancelled.is_set():
            raise Cancelled

    def run(self, work: Callable[[Task], T]) -> T:
        """`work(self)` in this thread, to its end or until it is cancelled: then it raises `Cancelled`."""
        try:
            with self._interruptible():
                self.check()
                return work(self)
        except _Interrupted:
            raise Cancelled from None

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        with self._lock:
            self._thread = threading.get_ident()
        try:
            yield
        finally:
            with self._lock:
                # From here on nothing is thrown, and what was thrown and has not arrived is taken back.
                _throw(threading.get_ident(), None)
                self._thread = None

    def hold(self, lock: threading.Lock) -> contextlib.AbstractContextManager[None]:
        """The lock, for as long as the `with` lasts. Raises `Cancelled` when nobody waits for the work any more."""
        return _held(lock, self)


@contextlib.contextmanager
def _held(lock: threading.Lock, task: Task) -> Iterator[None]:
    while not lock.acquire(timeout=LOOK_SECONDS):
        task.check()
    try:
        yield
    finally:
        lock.release()


def _throw(thread: int, what: type[BaseException] | None) -> None:
    if hasattr(ctypes, "pythonapi"):  # CPython's; elsewhere work ends at its next phase
        thrown = None if what is None else ctypes.py_object(what)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), thrown)
