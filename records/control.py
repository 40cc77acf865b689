"""Which processes can be attached to, and how one is spoken to: the contract between `clew attach` and a running program.

A process that lets itself be attached leaves an entry in a folder that is private to the user, and does nothing more: it
has no thread, no descriptor and no socket for it. Whoever attaches listens on a socket in that folder and sends the signal
that the entry names; the process connects, reads one request, answers it and goes on. Both are one line of JSON.

Invariant: folder, entries and sockets belong to the user and are open to nobody else, and both sides check who the other is.
"""

import contextlib
import json
import os
import stat
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.records.tuples import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

CONTROL_VARIABLE = "CLEW_CONTROL"
"""Environment variable that lets every Python process of a program be attached to, without recording it from the start."""
ENTRY_SUFFIX, SOCKET_SUFFIX = ".json", ".sock"
MAX_MESSAGE = 1 << 20
_LONGEST_SOCKET = 100
"""Bytes that the path of a socket may have everywhere."""
_PEER = struct.Struct("iII")
_START = 19
"""Place of the start in `/proc/PID/stat`, counted from behind the command's name."""


class Entry(NamedTuple):
    """A process that can be attached to."""

    pid: int
    began: int
    """When, in the kernel's ticks: a process with the same number and another beginning is another one."""
    signal: int
    python: str
    argv: list[str]
    run: str = ""
    """The folder of the run that records it; empty while nothing does."""


def began(pid: int) -> int:
    """When a process began, in the kernel's ticks; 0 when there is no such process, or no way to know."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[_START])
    except (OSError, ValueError, IndexError):
        return 0


def owner(pid: int) -> int | None:
    """The user whose process it is; None when there is no such process, or no way to know."""
    try:
        return int(_status(pid, "Uid:").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _status(pid: int, name: str) -> str:
    """What the kernel says of a process under a name; "" when it says nothing."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return next((line.removeprefix(name) for line in file if line.startswith(name)), "")


def folders() -> list[str]:
    """Where entries may lie, the best place first. A service and a shell need not have the same environment."""
    user = os.getuid()
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    found = [os.path.join(given, "clew")] if given.startswith("/") else []
    found += [f"/run/user/{user}/clew", f"/tmp/clew-{user}"]
    return [
        folder for folder in dict.fromkeys(found) if len(os.fsencode(folder)) < _LONGEST_SOCKET - len("/1234567.sock")
    ]


def is_private(folder: str) -> bool:
    """Is it the user's own folder, no link, and nobody else's business?"""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def register(entry: Entry) -> str | None:
    """Writes an entry, whole, over the one that this process may have; None when there is no private place for it."""
    for folder in folders():
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not is_private(folder):
                continue
            path = os.path.join(folder, f"{entry.pid}{ENTRY_SUFFIX}")
            part = os.path.join(folder, f"{entry.pid}.part")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
            try:
                os.write(file, json.dumps(entry._asdict()).encode())
            finally:
                os.close(file)
            os.replace(part, path)
            return path
        except OSError:
            continue
    return None


def entries() -> "Iterator[tuple[Path, Entry]]":
    """Every process that can be attached to now, with its entry's file; entries of processes that are gone are removed."""
    from pathlib import Path  # which a process that can be attached to does without

    for folder in filter(is_private, folders()):
        for path in sorted(Path(folder).glob(f"*{ENTRY_SUFFIX}")):
            entry = read(path)
            if entry is None:
                continue
            if began(entry.pid) == entry.began and catches(entry.pid, entry.signal):
                yield path, entry
            elif began(entry.pid) != entry.began:
                for left in (path, path.with_suffix(SOCKET_SUFFIX)):
                    with contextlib.suppress(OSError):
                        left.unlink()


def read(path: "Path") -> Entry | None:
    """None when the file is damaged, or was removed meanwhile."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        entry = Entry(**{name: data[name] for name in Entry._fields})
        return entry if type(entry.pid) is int and f"{entry.pid}{ENTRY_SUFFIX}" == path.name else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def catches(pid: int, number: int) -> bool:
    """Does a process handle a signal? One that does not would be killed by it."""
    try:
        return bool(int(_status(pid, "SigCgt:"), 16) >> (number - 1) & 1)
    except (OSError, ValueError):
        return False


def peer(credentials: bytes) -> tuple[int, int]:
    """Pid and user of the process at a Unix socket's other end, from SO_PEERCRED's 12 bytes."""
    pid, user, _group = _PEER.unpack(credentials)
    return pid, user
