"""Whether a process that was recorded still runs, for runs that nobody ended: their launcher was killed.

Invariant: in doubt, and on another machine than the run's, a process is taken to run.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

from clew.records import header, run
from clew.records.errors import RunError
from clew.records.run import RunInfo

_SLACK_NS = 60_000_000_000
"""By so much the wall clock may have been set since a process began, without it being taken for another one."""
_STATE, _START = 0, 19
"""Places in `/proc/PID/stat`, counted from behind the command's name."""


STAYS_AWAY = 60.0
"""Seconds after which a run of another machine is over if nobody passes it on any more, until somebody does again."""


def is_abandoned(folder: Path, info: RunInfo) -> bool:
    """Has the run no end, and nobody who could still write it or record more?"""
    if info.finished is not None:
        return False
    heard = _heard(folder)
    if heard is not None:
        return time.time() - heard > STAYS_AWAY
    return (
        info.launcher > 0
        and info.host == run.host_name()
        and not is_running(info.launcher, info.started)
        and not any(_still_records(path) for path in run.trace_files(folder))
    )


def has_all(folder: Path, info: RunInfo) -> bool:
    """Does what was read together with `info` have all that will ever be recorded? It has not where the run has ended since."""
    if info.finished is not None:
        return True
    try:
        return is_abandoned(folder, run.load_run(folder))
    except RunError:
        return False  # it was removed


def silence(folder: Path, info: RunInfo) -> str:
    """That a run of another machine was abandoned, and since when nothing is heard of it; "" for all others."""
    heard = _heard(folder) if is_abandoned(folder, info) else None
    if heard is None:
        return ""
    return f"stopped: no word from {info.host} since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(heard))}"


def _heard(folder: Path) -> float | None:
    """When somebody who passes the run on was last there; None for one that was recorded here."""
    try:
        return (folder / run.ORIGIN_FILE).stat().st_mtime
    except OSError:
        return None


def is_running(pid: int, since_wall_ns: int) -> bool:
    """Does a process of this number run that began at a wall-clock time or earlier? A later one is another process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's, or a number that no process here has
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if fields[_STATE] in b"ZX":
            return False
        began_ns = int(fields[_START]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began_ns
    except (OSError, AttributeError, ValueError, IndexError):
        return True  # there is no such file system here, or the process has just ended
    return time.time_ns() - age_ns <= since_wall_ns + _SLACK_NS


def died(folder: Path) -> list[int]:
    """Pids of the recorded processes that left their file open and run no more: they were killed. Of another machine's it is
    not known."""
    if _heard(folder) is not None:
        return []
    newest: dict[int, dict[str, int]] = {}
    for path in run.trace_files(folder):
        values = _header(path)
        # One that executed another program leaves its file open, and goes on in a new one under the same number.
        if values and values["start_wall_ns"] >= newest.get(values["pid"], values)["start_wall_ns"]:
            newest[values["pid"]] = values
    return sorted(
        pid
        for pid, values in newest.items()
        if values["state"] == header.State.RECORDING and not is_running(pid, values["start_wall_ns"])
    )


def others_record(folder: Path) -> bool:
    """Does another process than this one record into the run now?"""
    return any(
        _still_records(path) for path in run.trace_files(folder) if (_header(path) or {}).get("pid") != os.getpid()
    )


def _still_records(path: Path) -> bool:
    values = _header(path)
    return (
        bool(values) and values["state"] != header.State.CLOSED and is_running(values["pid"], values["start_wall_ns"])
    )


def _header(path: Path) -> dict[str, int]:
    """Empty when the file holds none: its process never began to record."""
    try:
        with path.open("rb") as file:
            page = file.read(header.HEADER.size)
        values = dict(zip(header.HEADER_FIELDS, header.HEADER.unpack(page), strict=True))
    except (OSError, ValueError, struct.error):
        return {}
    return values if values["magic"] == header.MAGIC and values["pid"] else {}
