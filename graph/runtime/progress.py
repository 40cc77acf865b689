"""Reports the progress of work, and cancels it.

Invariant: work continues until the progress callback raises. Then it stops and leaves no unfinished results.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from clew.records.read.parallel import Ending

Progress = Callable[[str, int, int], None]
"""A callback with the name of the current work (e.g. of a file), the amount done, and the total. Any thread may call it, one at
a time. The name is "" when all work is done. An exception that it raises stops the work."""


def no_progress(_name: str, _done: int, _size: int) -> None:
    """Ignore progress."""


class Cancellation(Protocol):
    """A cancellation of work, for a caller that waits for the work and has to react at once."""

    def check(self) -> None:
        """Raises when the work was cancelled."""

    def on_cancel(self, notify: Callable[[], None], /) -> contextlib.AbstractContextManager[None]:
        """Return a context in which any thread calls `notify` once if the work is cancelled. Raises the same as `check`."""


class _NeverCancelled:
    def check(self) -> None:
        pass

    def on_cancel(self, _notify: Callable[[], None], /) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


NEVER_CANCELLED = _NeverCancelled()


class Meter:
    """Reports the progress of work that several threads share."""

    def __init__(self, progress: Progress, name: str, size: int) -> None:
        self._progress, self._name, self._size = progress, name, size
        self._done = 0
        self._reporting = threading.Lock()
        self.ending = Ending()
        """The signal that ends those threads."""

    def next(self, size: int) -> None:
        """Report the progress before work on the next `size` units."""
        with self._reporting:
            self.ending.look()
            self._progress(self._name, self._done, self._size)
            self._done += size

    def over(self) -> None:
        """Report that all work is done."""
        self._progress(self._name, self._size, self._size)
