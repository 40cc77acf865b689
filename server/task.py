"""One piece of work for a request: what it does now, and whether it is still wanted.

Work looks whether it is wanted between its phases. Sections that only calculate are interrupted where they are: what takes
seconds ends with the call of C that it is in. Invariant: nothing but `Cancelled` comes out of a section that was interrupted,
nothing is thrown after its end, and never into what an import does.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator

from clew.records.errors import ClewError

LOOK_SECONDS = 0.05
"""Between two looks at whether the work is still wanted, while it waits for a lock."""
JUMPS = 1000


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
        self._thrown = False
        self._waiting: set[Callable[[], None]] = set()
        """Whom to tell when it is cancelled."""

    def cancel(self) -> None:
        with self._lock:
            first = not self._cancelled.is_set()
            self._cancelled.set()
            # Once: a second one might arrive behind the section's end.
            if first:
                self._interrupt()
            waiting, self._waiting = self._waiting, set()
        for tell in waiting:
            tell()

    def _interrupt(self) -> None:
        """Under the lock. What is imported at the moment is imported first: the import system does not bear it otherwise."""
        if self._thread is None:
            return
        if _is_importing(self._thread):
            timer = threading.Timer(LOOK_SECONDS, self._interrupt_later)
            timer.daemon = True
            timer.start()
        else:
            self._thrown = True
            _throw(self._thread, _Interrupted)

    def _interrupt_later(self) -> None:
        with self._lock:
            self._interrupt()

    def phase(self, what: str) -> None:
        """Between two phases of the work. Raises `Cancelled` when nobody waits any more."""
        self.check()
        if self._report is not None:
            self._report(what)

    def check(self) -> None:
        """Raises `Cancelled` when nobody waits any more."""
        if self._cancelled.is_set():
            raise Cancelled

    @contextlib.contextmanager
    def when_unwanted(self, tell: Callable[[], None]) -> Iterator[None]:
        """A section that waits for what others do: `tell` is called when nobody waits for the work any more, by the thread that
        cancels it. Raises `Cancelled`."""
        with self._lock:
            self._waiting.add(tell)
        try:
            # It may have been cancelled just before.
            self.check()
            yield
        finally:
            with self._lock:
                self._waiting.discard(tell)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """A section that calculates and does nothing else: it takes no lock and writes no file. Raises `Cancelled` out of its
        middle when nobody waits any more."""
        self.check()
        try:
            with self._interrupted_from_others():
                yield
        except _Interrupted:
            raise Cancelled from None

    @contextlib.contextmanager
    def _interrupted_from_others(self) -> Iterator[None]:
        with self._lock:
            self._thread = threading.get_ident()
        arrived = False
        try:
            yield
        except _Interrupted:
            arrived = True
            raise
        finally:
            with self._lock:
                # From here on nothing is thrown.
                self._thread = None
            if self._thrown and not arrived:
                # What was thrown arrives at one of the next jumps. It cannot be taken back: the interpreter would look for it
                # for ever.
                for _ in range(JUMPS):
                    pass
            self.check()

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


def _is_importing(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _throw(thread: int, what: type[BaseException]) -> None:
    if hasattr(ctypes, "pythonapi"):  # CPython's; elsewhere work ends at its next phase
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))
