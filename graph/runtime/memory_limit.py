"""How much memory there is, and how much of it building a graph may take.

What would take more is built aside, in files (`aside`). Invariant: a limit that the system does not tell of is none.
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
from clew.records.run.directory import PACKED_SUFFIX

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
"""Of both versions of cgroups: controller, folder, and the names of the limit, of what is used, and of files in that."""

_A_RECORD, _SMALLEST = 110, 16
"""What building takes for a record, some 100 bytes and its text; and how many bytes it has at least."""
_A_FILE_BYTE, _A_PRESSED_BYTE = 7, 70
"""And for a byte of a foreign file, and of a compressed one."""


_SPARED = 1 << 29
"""The most that building may take in a process that stays and has other things to do."""


def outgrows(need: int, *, spare: bool = False) -> bool:
    """Does what takes so many bytes belong aside, and can it go there? With `spare` this process is one that stays. Raises
    `ClewError`, see `allowed`."""
    return need > min(allowed(), _SPARED if spare else _NO_LIMIT) and worker_process.is_possible()


def need_of_records(path: Path) -> int:
    """Of a trace file, or a packed one."""
    if path.suffix != PACKED_SUFFIX:
        return _size(path) // _SMALLEST * _A_RECORD
    found = 0
    with contextlib.suppress(OSError, ValueError):
        for _, frame in block.frames(path.read_bytes()):
            if frame and frame.kind == block.CHUNK:
                found += frame.extent()[0]
    return found * _A_RECORD


def need_of_file(path: Path) -> int:
    """Of a foreign file."""
    return _size(path) * (_A_PRESSED_BYTE if path.suffix in (".gz", ".zst") else _A_FILE_BYTE)


def _size(path: Path) -> int:
    """On the disk: files may have holes."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return min(status.st_size, status.st_blocks * 512)
    return 0


def no_room(folder: Path, need: int, why: str) -> str:
    """What is said where a graph cannot be made in files."""
    free = shutil.disk_usage(folder).free
    return (
        f"{folder}: building the graph there needs up to {need / 1e9:.3g} GB, {free / 1e9:.3g} GB are free ({why}); make "
        f"room, or set {LIMIT_VARIABLE} to what it may take of memory instead, as 16G"
    )


def no_memory(folder: Path, need: int) -> str:
    """What is said where it can't be made in memory, nor aside."""
    size = f"{need / 1e9:.3g} GB"
    return f"{folder}: not enough memory to build the graph, which may take {size}; free some, or use a larger machine"


def allowed() -> int:
    """The most that building may take: what the user says, else half of what is available. Raises `ClewError`."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return available() // 2
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", text.strip().upper())
    if not match:
        raise ClewError(f"{LIMIT_VARIABLE}={text}: no size; write 500M or 8G, or 0 to build in files always")
    return int(match[1]) * _UNITS[match[2]]


def available(root: Path = Path("/")) -> int:
    """Bytes that this process can still take, by the least of all limits. `root` is where the system is mounted."""
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
    """Of the control groups that we are in, and those around them."""
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
    # What it has no limit for says "max", or has no such file.
    with contextlib.suppress(OSError, ValueError):
        most, now = int((folder / limit).read_text()), int((folder / used).read_text())
        counted = _numbers(folder / "memory.stat")
        yield most - now + sum(counted.get(name, 0) for name in files)


def _numbers(file: Path) -> dict[str, int]:
    """Of lines that have a name and a number."""
    words = [line.split() for line in file.read_text().splitlines()]
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}
