"""Register processes that can be attached to: the contract between `clew attach` and a running program.

An attachable process writes an entry to a folder that is private to the user. It needs no thread, descriptor or socket
for that. `clew attach` listens on a socket in that folder and sends the signal that the entry names. The process
connects, reads one request and answers it. Both are one line of JSON.

Invariant: the folder, entries and sockets belong to the user and are not accessible to others, and both sides check the
identity of the other.
"""

import contextlib
import json
import os
import stat
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.records.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

CONTROL_VARIABLE = "CLEW_CONTROL"
"""Environment variable that makes every Python process of a program attachable without recording it from the start."""
ENTRY_SUFFIX, SOCKET_SUFFIX = ".json", ".sock"
MAX_MESSAGE = 1 << 20
_LONGEST_SOCKET = 100
"""Maximum bytes of a socket's path on every system."""
_PEER = struct.Struct("iII")
_START = 19
"""Index of the start time in `/proc/PID/stat`, counted after the command's name."""


class Entry(NamedTuple):
    """A process that can be attached to."""

    pid: int
    began: int
    """Start time in the kernel's ticks; a process with the same PID and another start time is a different process."""
    signal: int
    python: str
    argv: list[str]
    run: str = ""
    """Folder of the run that records the process; "" if it is not recorded."""


def began(pid: int) -> int:
    """Return when a process started, in the kernel's ticks; 0 when it does not exist or the time is unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[_START])
    except (OSError, ValueError, IndexError):
        return 0


def owner(pid: int) -> int | None:
    """Return the user of a process; None when it does not exist or the user is unknown."""
    try:
        return int(_status(pid, "Uid:").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _status(pid: int, name: str) -> str:
    """Return a field of the kernel's status of a process, or ""."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return next((line.removeprefix(name) for line in file if line.startswith(name)), "")


def folders() -> list[str]:
    """Return the possible folders of entries, the preferred one first.

    A service and a shell can have different environments.
    """
    user = os.getuid()
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    found = [os.path.join(given, "clew")] if given.startswith("/") else []
    found += [f"/run/user/{user}/clew", f"/tmp/clew-{user}"]
    return [
        folder for folder in dict.fromkeys(found) if len(os.fsencode(folder)) < _LONGEST_SOCKET - len("/1234567.sock")
    ]


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to the user, is not a link, and is not accessible to others."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def register(entry: Entry) -> str | None:
    """Write the entry of this process atomically; return None when no private folder is available."""
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
    """Yield every process that can be attached to now, with its entry's file. Entries of exited processes are removed."""
    from pathlib import Path  # not needed by attachable processes

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
    """Read an entry; return None when it is damaged or was removed."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        entry = Entry(**{name: data[name] for name in Entry._fields})
        return entry if type(entry.pid) is int and f"{entry.pid}{ENTRY_SUFFIX}" == path.name else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def catches(pid: int, number: int) -> bool:
    """Return whether a process handles a signal; without a handler, the signal would kill it."""
    try:
        return bool(int(_status(pid, "SigCgt:"), 16) >> (number - 1) & 1)
    except (OSError, ValueError):
        return False


def peer(credentials: bytes) -> tuple[int, int]:
    """Return PID and user of the process at a Unix socket's other end, from the 12 bytes of SO_PEERCRED."""
    pid, user, _group = _PEER.unpack(credentials)
    return pid, user
