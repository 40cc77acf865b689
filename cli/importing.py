"""A progress bar for reading foreign files and building graphs, on a terminal, when it takes a while."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds before anything is shown."""


class ImportBar:
    """Called with what is read or made, how much of it is done and how much there is; with an empty name when all is done."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, name: str, done: int, size: int) -> None:
        if not name:
            self.close()
            return
        if not self._shown or (self._bar is None and time.monotonic() - self._began < PATIENCE):
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
        """Takes the bar away; for good when nothing is left to read."""
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._tasks = None, {}
