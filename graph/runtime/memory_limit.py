"""Estimates the memory that building a graph takes, and the memory that it may take.

A larger graph is built by a worker process in files (`worker_process`). Invariant: a limit that the system does not report is
ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from clew.graph.runtime import worker_process
from clew.records.compress import block
from clew.records.errors import ClewError
from clew.records.run.directory import COMPRESSED_SUFFIX

LIMIT_VARIABLE = "CLEW_BUILD_MEMORY"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NO_LIMIT = 1 << 62
_GROUPS = (
    ("", "", ("memory.max", "memory.current", "inactive_file", "active_file")),
    (
        "memory",
        "memory",
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"),
    ),
)
"""For both versions of cgroups: the controller, its folder, and the names of the limit, the usage, and the page cache in it."""

_A_RECORD, _SMALLEST = 110, 16
"""The bytes of memory that building takes for a record (about 100 and its text), and the smallest size of a record in bytes."""
_A_FILE_BYTE, _A_PRESSED_BYTE = 7, 70
"""The bytes of memory that building takes for a byte of a foreign file, and of a compressed one."""


_SPARED = 1 << 29
"""The maximum memory for building in a long-lived process."""


def outgrows(need: int, *, spare: bool = False) -> bool:
    """Return whether work that needs so many bytes should run in a worker process, and can.

    Pass `spare` if this process is long-lived. Raises `ClewError`, see `allowed`.
    """
    return need > min(allowed(), _SPARED if spare else _NO_LIMIT) and worker_process.is_possible()


def need_of_records(path: Path) -> int:
    """Return the memory that building takes for a trace file, which may be compressed, in bytes."""
    if path.suffix != COMPRESSED_SUFFIX:
        return _size(path) // _SMALLEST * _A_RECORD
    found = 0
    with contextlib.suppress(OSError, ValueError):
        for _, each in block.blocks(path.read_bytes()):
            if each and each.kind == block.CHUNK:
                found += each.extent()[0]
    return found * _A_RECORD


def need_of_file(path: Path) -> int:
    """Return the memory that building takes for a foreign file, in bytes."""
    return _size(path) * (_A_PRESSED_BYTE if path.suffix in (".gz", ".zst") else _A_FILE_BYTE)


def _size(path: Path) -> int:
    """Return the file's size on disk, because files may have holes; 0 if it is missing."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return min(status.st_size, status.st_blocks * 512)
    return 0


def no_room(folder: Path, need: int, why: str) -> str:
    """Return the error message for a graph that cannot be built in files."""
    free = shutil.disk_usage(folder).free
    return (
        f"{folder}: building the graph there needs up to {need / 1e9:.3g} GB, {free / 1e9:.3g} GB are free ({why}); make "
        f"room, or set {LIMIT_VARIABLE} to the memory that it may take instead, e.g. 16G"
    )


def no_memory(folder: Path, need: int) -> str:
    """Return the error message for a graph that can be built neither in memory nor in a worker process."""
    size = f"{need / 1e9:.3g} GB"
    return f"{folder}: not enough memory to build the graph, which may take {size}; free some, or use a larger machine"


def allowed() -> int:
    """Return the memory that building may take in bytes: the user's setting, else half of `available`. Raises `ClewError`."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return available() // 2
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", text.strip().upper())
    if not match:
        raise ClewError(f"{LIMIT_VARIABLE}={text}: not a size; write 500M or 8G, or 0 to build in files always")
    return int(match[1]) * _UNITS[match[2]]


def available(root: Path = Path("/")) -> int:
    """Return the bytes that this process can still allocate under all limits. `root` is the root of the file system."""
    return max(0, min([_NO_LIMIT, *_of_system(root), *_of_groups(root), *_of_process(root)]))


def _of_system(root: Path) -> Iterator[int]:
    with contextlib.suppress(OSError, KeyError):
        yield _numbers(root / "proc/meminfo")["MemAvailable:"] << 10


def _of_process(root: Path) -> Iterator[int]:
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if soft != resource.RLIM_INFINITY:
        with contextlib.suppress(OSError, KeyError):
            yield soft - (_numbers(root / "proc/self/status")["VmData:"] << 10)


def _of_groups(root: Path) -> Iterator[int]:
    """Yield the free memory of the control groups of this process, and of their parents."""
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller, mounted, names in _GROUPS:
                if controller not in controllers.split(","):
                    continue
                base = root / "sys/fs/cgroup" / mounted
                inner = base / path.lstrip("/")
                for folder in (inner, *inner.parents):
                    yield from _of_group(folder, names)
                    if folder == base:
                        break


def _of_group(folder: Path, names: tuple[str, str, str, str]) -> Iterator[int]:
    limit, used, *files = names
    # A group without a limit has "max" in the file, or no such file.
    with contextlib.suppress(OSError, ValueError):
        most, now = int((folder / limit).read_text()), int((folder / used).read_text())
        counted = _numbers(folder / "memory.stat")
        yield most - now + sum(counted.get(name, 0) for name in files)


def _numbers(file: Path) -> dict[str, int]:
    """Return the numbers by name from the lines of a file that have a name and a number."""
    words = [line.split() for line in file.read_text().splitlines()]
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}
