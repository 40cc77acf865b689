"""The work for one request: its current phase, and its cancellation.

Work checks for cancellation between its phases. Sections that only compute are interrupted in the middle, at the end of
the current call into C. Invariant: an interrupted section raises only `Cancelled`; no exception is thrown after the
section's end, or into an import.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator

from clew.records.errors import ClewError

LOOK_SECONDS = 0.05
"""Seconds between two checks for cancellation while the work waits for a lock."""
JUMPS = 1000


class Cancelled(ClewError):
    """The client cancelled the request."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class _Interrupted(BaseException):
    """Thrown into a thread whose work was cancelled. It is not an `Exception`, so that error handlers do not catch it."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class Task:
    """The work for one request: its current phase, for the progress bar, and its cancellation."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._thread: int | None = None
        """The thread that does the work, while it may be interrupted."""
        self._thrown = False
        self._waiting: set[Callable[[], None]] = set()
        """Callbacks for the cancellation."""

    def cancel(self) -> None:
        with self._lock:
            first = not self._cancelled.is_set()
            self._cancelled.set()
            # Interrupt only once: a second exception might arrive after the section's end.
            if first:
                self._interrupt()
            waiting, self._waiting = self._waiting, set()
        for callback in waiting:
            callback()

    def _interrupt(self) -> None:
        """Interrupt the thread; the caller holds the lock. A running import finishes first, because the import system
        does not support interruption."""
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
        """Start a phase of the work. Raises `Cancelled` when the task was cancelled."""
        self.check()
        if self._report is not None:
            self._report(what)

    def check(self) -> None:
        """Raises `Cancelled` when the task was cancelled."""
        if self._cancelled.is_set():
            raise Cancelled

    @contextlib.contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """A section that waits for others. If the task is cancelled, the cancelling thread calls `callback`. Raises
        `Cancelled`."""
        with self._lock:
            self._waiting.add(callback)
        try:
            # It may have been cancelled just before.
            self.check()
            yield
        finally:
            with self._lock:
                self._waiting.discard(callback)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """A section that only computes: it takes no lock and writes no file. Raises `Cancelled` in the middle of the
        section when the task is cancelled."""
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
                # No exception is thrown from here on.
                self._thread = None
            if self._thrown and not arrived:
                # A thrown exception arrives at one of the next jumps. It cannot be taken back: the interpreter would
                # look for it for ever.
                for _ in range(JUMPS):
                    pass
            self.check()

    def hold(self, lock: threading.Lock) -> contextlib.AbstractContextManager[None]:
        """Hold the lock for the duration of the `with` block. Raises `Cancelled` when the task is cancelled."""
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
    if hasattr(ctypes, "pythonapi"):  # CPython only; elsewhere work ends at its next phase
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))
