"""Start collectors for the creators of runs: `clew run`, the pytest plugin, `clew attach`.

Invariant: a run without a collector is still recorded. This module raises only the program's own Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE, trace_files

if TYPE_CHECKING:
    import subprocess

ReportProgress = Callable[[int, int], None]

WORTH_BYTES = 4 << 20
"""Minimum size of a run that is compressed while it is live. Smaller runs are compressed at the end, by the process
that waits for it."""


class RunningCollector:
    """A collector that works for this process."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self.process = process

    def finish(self, report: ReportProgress | None = None) -> None:
        """Compress the ended processes of a finished run, and return; a collector continues with the rest.

        `report` receives the number of compressed chunks, and the total.
        """
        # The collector runs at low priority, but a user waits for this process, so it takes over. The collector may be
        # killed at any instant.
        self.process.kill()
        self.process.communicate()
        _finish(self._folder, report)


def start_collector(run_folder: Path | str) -> RunningCollector | None:
    """Start a collector for a run in a worker process of its own terminal session; return None if that is impossible.

    The collector runs until all recorded processes have ended, and not before `finish` or the end of this process.
    """
    if not hasattr(os, "pread"):
        return None
    import subprocess  # not needed by a short run

    environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
    try:
        process = subprocess.Popen(
            # -P: the program's own folder may contain modules with the same names as clew's.
            [sys.executable, "-P", "-m", "clew.records.collector.main", "--attached", str(run_folder)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    return RunningCollector(Path(run_folder), process)


def _finish(folder: Path, report: ReportProgress | None) -> None:
    from clew.records.collector.main import collect_now  # not needed by every command

    live = True
    try:
        live = collect_now(folder, report).live > 0
    finally:
        if live:  # a worker process collects the rest, so that the user need not wait
            start_collector(folder)


class Attendant:
    """A watcher of a live run, which starts a collector once the run is large enough."""

    def __init__(self, run_folder: Path, *, at_once: bool = False) -> None:
        self._folder = run_folder
        self._collector = start_collector(run_folder) if at_once else None
        self._started = at_once

    def check(self) -> bool:
        """Check the run; call this periodically. Return True while further calls can help."""
        if not self._started:
            size = 0
            for path in trace_files(self._folder):
                with contextlib.suppress(OSError):
                    size += path.stat().st_size
            if size >= WORTH_BYTES:
                self._started = True
                self._collector = start_collector(self._folder)
        return not self._started

    def finish(self, report: ReportProgress | None = None) -> None:
        """After the program's end, compress all finished processes; a collector handles those that still run."""
        if self._collector is None:
            _finish(self._folder, report)
        else:
            self._collector.finish(report)
