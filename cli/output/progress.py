"""Show a progress bar on a terminal when reading foreign files or building graphs takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from clew.cli.output.stderr import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY_SECONDS = 1.0
"""Seconds before the bar appears."""


class ImportBar:
    """A progress callback: takes the name of the item, the amount done and the total; an empty name means that all is
    done."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, name: str, done: int, size: int) -> None:
        if not name:
            self.close()
            return
        if not self._shown or (self._bar is None and time.monotonic() - self._began < DELAY_SECONDS):
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(f"clew: reading {name}", total=size)
        self._bar.update(self._tasks[name], completed=done)

    def close(self) -> None:
        """Remove the bar; permanently when no item is left to read."""
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._tasks = None, {}


def say_phase(what: str) -> None:
    """Tell a phase of long work on stderr, if that is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        say(f"{what} …")
