"""Starts collectors, for whoever makes a run: `clew run`, the pytest plugin, `clew attach`.

Invariant: a run that gets no collector is recorded all the same; nothing here raises but a program's own Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clew.records.run import CAUSE_VARIABLE, RUN_VARIABLE, trace_files

if TYPE_CHECKING:
    import subprocess

Told = Callable[[int, int], None]

WORTH_BYTES = 4 << 20
"""From this on a run is collected while it goes on. What is smaller is packed at its end, by whoever waits for it."""


class RunningCollector:
    """A collector that works for us."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self.process = process

    def finish(self, told: Told | None = None) -> None:
        """The run is over: packs what has ended, and returns. A collector goes on with the rest.

        `told` is given how many chunks are packed, and of how many.
        """
        # It is nice to everyone, we are awaited: so we take over. It may be killed at any instant.
        self.process.kill()
        self.process.communicate()
        _finish(self._folder, told)


def start_collector(run_folder: Path | str) -> RunningCollector | None:
    """A collector for a run, in a process of its own that no key on the terminal reaches; None when there can't be one.

    It goes on for as long as it is not told to `finish` and we live, and after that until all that is recorded has ended.
    """
    if not hasattr(os, "pread"):
        return None
    import subprocess  # which a short run does without

    environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
    try:
        process = subprocess.Popen(
            # -P: a program's own folder is full of names that are modules' of ours.
            [sys.executable, "-P", "-m", "clew.records.collect", "--attached", str(run_folder)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    return RunningCollector(Path(run_folder), process)


def _finish(folder: Path, told: Told | None) -> None:
    from clew.records.collect import collect_now  # which not every command needs

    live = True
    try:
        live = collect_now(folder, told).live > 0
    finally:
        if live:  # or the user would not wait
            start_collector(folder)


class Attendant:
    """Looks after a run that goes on: starts a collector once there is enough for one."""

    def __init__(self, run_folder: Path, *, at_once: bool = False) -> None:
        self._folder = run_folder
        self._collector = start_collector(run_folder) if at_once else None
        self._started = at_once

    def look(self) -> bool:
        """To be called now and then. True while it may still be of use."""
        if not self._started:
            size = 0
            for path in trace_files(self._folder):
                with contextlib.suppress(OSError):
                    size += path.stat().st_size
            if size >= WORTH_BYTES:
                self._started = True
                self._collector = start_collector(self._folder)
        return not self._started

    def finish(self, told: Told | None = None) -> None:
        """The program has ended: packs what it and others have finished, and leaves those that go on to a collector."""
        if self._collector is None:
            _finish(self._folder, told)
        else:
            self._collector.finish(told)
