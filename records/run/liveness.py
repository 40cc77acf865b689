"""Determine whether a recorded process still runs, for runs without an end because their launcher was killed.

Invariant: if this is uncertain, and for a run of another machine, a process counts as running.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

from clew.records.errors import RunError
from clew.records.format import header
from clew.records.run import directory
from clew.records.run.directory import RunInfo

_SLACK_NS = 60_000_000_000
"""Maximum adjustment of the wall clock since a process began; a larger difference means another process."""
_STATE, _START = 0, 19
"""Indices in `/proc/PID/stat`, counted after the command's name."""


STAYS_AWAY = 60.0
"""Seconds without updates after which a run of another machine counts as finished, until updates continue."""


def is_abandoned(folder: Path, info: RunInfo) -> bool:
    """Return whether the run has no end, and no process that could still write it or record more."""
    if info.finished is not None:
        return False
    heard = _heard(folder)
    if heard is not None:
        return time.time() - heard > STAYS_AWAY
    return (
        info.launcher > 0
        and info.host == directory.host_name()
        and not is_running(info.launcher, info.started)
        and not any(_still_records(path) for path in directory.trace_files(folder))
    )


def has_all(folder: Path, info: RunInfo) -> bool:
    """Return whether the data read together with `info` is complete; it is not if the run has ended since."""
    if info.finished is not None:
        return True
    try:
        return is_abandoned(folder, directory.load_run(folder))
    except RunError:
        return False  # it was removed


def silence(folder: Path, info: RunInfo) -> str:
    """Describe since when an abandoned run of another machine is silent; "" for all other runs."""
    heard = _heard(folder) if is_abandoned(folder, info) else None
    if heard is None:
        return ""
    return f"stopped: no word from {info.host} since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(heard))}"


def _heard(folder: Path) -> float | None:
    """Return when a run of another machine was last updated; None for one that was recorded here."""
    try:
        return (folder / directory.ORIGIN_FILE).stat().st_mtime
    except OSError:
        return None


def is_running(pid: int, since_wall_ns: int) -> bool:
    """Return whether a process with this PID runs that began at a wall-clock time or earlier.

    A later one is another process.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # owned by another user, or a PID that does not exist here
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if fields[_STATE] in b"ZX":
            return False
        began_ns = int(fields[_START]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began_ns
    except (OSError, AttributeError, ValueError, IndexError):
        return True  # no /proc here, or the process has just ended
    return time.time_ns() - age_ns <= since_wall_ns + _SLACK_NS


def died(folder: Path) -> list[int]:
    """Return the PIDs of recorded processes that left their file open and no longer run: they were killed.

    For another machine this is unknown.
    """
    if _heard(folder) is not None:
        return []
    newest: dict[int, dict[str, int]] = {}
    for path in directory.trace_files(folder):
        values = _header(path)
        # A process that executed another program leaves its file open, and continues in a new one with the same PID.
        if values and values["start_wall_ns"] >= newest.get(values["pid"], values)["start_wall_ns"]:
            newest[values["pid"]] = values
    return sorted(
        pid
        for pid, values in newest.items()
        if values["state"] == header.State.RECORDING and not is_running(pid, values["start_wall_ns"])
    )


def others_record(folder: Path) -> bool:
    """Return whether another process records into the run now."""
    return any(
        _still_records(path)
        for path in directory.trace_files(folder)
        if (_header(path) or {}).get("pid") != os.getpid()
    )


def _still_records(path: Path) -> bool:
    values = _header(path)
    return (
        bool(values) and values["state"] != header.State.CLOSED and is_running(values["pid"], values["start_wall_ns"])
    )


def _header(path: Path) -> dict[str, int]:
    """Return the header; empty when the file has none because its process never started to record."""
    try:
        with path.open("rb") as file:
            page = file.read(header.HEADER.size)
        values = dict(zip(header.HEADER_FIELDS, header.HEADER.unpack(page), strict=True))
    except (OSError, ValueError, struct.error):
        return {}
    return values if values["magic"] == header.MAGIC and values["pid"] else {}
