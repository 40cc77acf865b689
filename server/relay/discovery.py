"""Finds the live runs of the given workspaces, or of all of the user's processes on this machine.

No registration is needed: a run's folder shows whether it is over, and a recorded process has its trace file mapped.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from clew.records.attach import registry
from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER, RUN_FILE, TRACE_SUFFIX, RunInfo, load_run
from clew.records.run.liveness import is_abandoned
from clew.server.protocol.shared import RunRef
from clew.server.relay.journal import FOLDER as JOURNAL
from clew.server.session.session import run_ref

EVERYWHERE_EVERY = 2.0
"""Seconds between two scans of all processes."""
JUST_NOW = 5.0
"""A run that ended up to this many seconds before the relay began is forwarded too, because the user who started both
waits for it."""


class Finder:
    def __init__(self, workspaces: Sequence[Path], *, everywhere: bool) -> None:
        self._workspaces = list(workspaces)
        self._everywhere = everywhere
        self._began = time.time_ns()
        self._known: dict[Path, tuple[int, bool]] = {}
        """For each folder the time of its `run.json`, and whether nothing is left to forward."""
        self._elsewhere: set[Path] = set()
        self._looked = -EVERYWHERE_EVERY

    def runs(self) -> list[Path]:
        """Return the folders of runs that are live, were live since this began, or were forwarded by a relay that was
        killed."""
        found = [folder for workspace in self._workspaces for folder in _folders(workspace)]
        if self._everywhere:
            now = time.monotonic()
            if now - self._looked >= EVERYWHERE_EVERY:
                self._looked = now
                self._elsewhere = set(_mapped())
                self._elsewhere |= {Path(entry.run) for _, entry in registry.entries() if entry.run}
            found += self._elsewhere
        return [folder for folder in dict.fromkeys(found) if self._is_live(folder)]

    def _is_live(self, folder: Path) -> bool:
        try:
            changed = (folder / RUN_FILE).stat().st_mtime_ns
            known, nothing = self._known.get(folder, (-1, False))
            if known == changed and nothing:
                return False
            info = load_run(folder)
            nothing = not self._wanted(folder, info)
            self._known[folder] = (changed, nothing)
            return not nothing
        except (ClewError, OSError):
            return False

    def _wanted(self, folder: Path, info: RunInfo) -> bool:
        if (folder / JOURNAL).is_dir():
            return True  # also a run that was received over OTLP and imported meanwhile
        if info.imported:
            return False
        if info.finished is not None:
            return info.finished > self._began - JUST_NOW * 1e9
        return not is_abandoned(folder, info)

    def done(self, folder: Path) -> None:
        """Mark a run as completely forwarded."""
        with contextlib.suppress(OSError):
            self._known[folder] = ((folder / RUN_FILE).stat().st_mtime_ns, True)


def elsewhere(workspace: Path) -> list[RunRef]:
    """Return the live runs in other workspaces of the machine, in the form of `RunsResult`."""
    here, found = (workspace / FOLDER / "runs").resolve(), []
    for folder in Finder([], everywhere=True).runs():
        with contextlib.suppress(ClewError, OSError):
            info = load_run(folder)
            run = run_ref(folder, info)
            if folder.resolve().parent != here and not run.finished:
                found.append(replace(run, id=str(folder), name=f"{info.name} in {info.workspace}"))
    return sorted(found, key=lambda run: -run.started)


def _folders(workspace: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(workspace / FOLDER / "runs") as entries:
        for entry in entries:
            yield Path(entry.path)


def _mapped() -> Iterator[Path]:
    """Yield the folders of the trace files that the user's processes have mapped."""
    me = os.getuid()
    with contextlib.suppress(OSError), os.scandir("/proc") as processes:
        for process in processes:
            if not process.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                if process.stat().st_uid != me:
                    continue
                maps = Path(process.path, "maps").read_bytes()
                for line in maps.splitlines():
                    if line.endswith(TRACE_SUFFIX.encode()):
                        path = Path(os.fsdecode(line.split(None, 5)[5]))
                        if (path.parent / RUN_FILE).is_file():
                            yield path.parent
