"""How far a piece of work is, for whoever shows it.

Invariant: work that hears of nobody's wish to stop goes on; whoever has one raises it from the callback, and nothing is left.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from clew.records.read.parallel import Ending

Progress = Callable[[str, int, int], None]
"""Called with what is read or made (a file's name, say), how much of it is done, and how much there is, by any thread, one at a
time. The name is "" when all is done. What it raises ends the work."""


def nobody(_name: str, _done: int, _size: int) -> None:
    """A progress that nobody looks at."""


class Wanted(Protocol):
    """Whether work is still wanted, asked by who only waits for it and is to hear at once when it is not."""

    def check(self) -> None:
        """Raises when it is not."""

    def when_unwanted(self, tell: Callable[[], None], /) -> contextlib.AbstractContextManager[None]:
        """Inside of the `with` `tell` is called once, by any thread, when it is not wanted any more. Raises as `check`."""


class Always:
    """Nobody changes their mind."""

    def check(self) -> None:
        pass

    def when_unwanted(self, _tell: Callable[[], None], /) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


ALWAYS = Always()


class Meter:
    """Tells how much of a piece of work is done that several threads do parts of."""

    def __init__(self, progress: Progress, name: str, size: int) -> None:
        self._progress, self._name, self._size = progress, name, size
        self._done = 0
        self._telling = threading.Lock()
        self.ending = Ending()
        """Of those threads."""

    def next(self, size: int) -> None:
        """So much of it comes next."""
        with self._telling:
            self.ending.look()
            self._progress(self._name, self._done, self._size)
            self._done += size

    def over(self) -> None:
        self._progress(self._name, self._size, self._size)
