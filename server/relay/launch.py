"""One relay per workspace: the first client that needs it starts it, and the others find it through a file in the
workspace's folder.

Invariant: only the relay that holds the lock writes the file, and only the user can read it. The file of a relay that
is gone is never used, because nothing holds its lock.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, NamedTuple

from clew.records.errors import ClewError
from clew.records.run.directory import CAUSE_VARIABLE, FOLDER, RUN_VARIABLE, make_folder, write_private

ADDRESS_FILE = "relay.json"
LOCK_FILE = "relay.lock"
LOG_FILE = "relay.log"
MOST_LOG = 1 << 20
"""Maximum bytes of the log; a longer one is truncated by the next relay."""
START_SECONDS = 60.0
"""Generous, because the machine may be busy."""
_LOCK_SECONDS = 1.0
"""A process that checks for a relay holds the lock for an instant."""


class RelayError(ClewError):
    """No relay is running, and none can be started."""


class Address(NamedTuple):
    url: str
    token: str
    pid: int = 0
    certificate: str = ""
    """The PEM file to check the relay's certificate with; "" for the system's certificates."""

    def __repr__(self) -> str:
        return f"Address({self.url!r})"  # the token must not appear in logs


class Place:
    """The workspace's place for its only relay; exclusive until `leave`."""

    def __init__(self, workspace: Path) -> None:
        """Raises `RelayError` if a relay is running."""
        try:
            self._folder = make_folder(workspace)
            self._lock = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RelayError(f"{workspace / FOLDER}: cannot be written ({error.strerror})") from None
        deadline = time.monotonic() + _LOCK_SECONDS
        while not self._locked():
            if time.monotonic() > deadline:
                os.close(self._lock)
                raise RelayError(f"{workspace}: a relay is already running; it exits when it has nothing left to do")
            time.sleep(0.01)

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def write(self, address: Address) -> None:
        write_private(self._folder / ADDRESS_FILE, json.dumps(address._asdict()))

    def leave(self) -> None:
        (self._folder / ADDRESS_FILE).unlink(missing_ok=True)
        os.close(self._lock)


def running(workspace: Path) -> Address | None:
    """Return the address of the workspace's relay, if one is running."""
    folder = workspace / FOLDER
    if not _is_taken(workspace):
        return None
    try:
        data = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return Address(**{name: data[name] for name in Address._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it has just begun


def ensure_relay(workspace: Path, *, grace: float | None = None) -> Address:
    """Return the address of the workspace's relay; start one if necessary. Raises `RelayError` if it cannot be started."""
    deadline = time.monotonic() + START_SECONDS
    process: subprocess.Popen[bytes] | None = None
    other = False
    found = running(workspace)
    if found is not None:
        return found
    log, begin = _log(workspace)
    with log:
        while time.monotonic() < deadline:
            found = running(workspace)
            if found is not None:
                return found
            ended = process.poll() if process else 0
            if ended is not None and _is_taken(workspace):
                other = True  # it was started at the same time, so that the one from here has ended
            elif ended == 0 or (ended is not None and other):
                process, other = _started(workspace, grace, log), False
            elif ended is not None:
                raise RelayError(f"{workspace}: cannot start a relay: {_said(log, begin) or f'it exited with {ended}'}")
            time.sleep(0.02)
    raise RelayError(
        f"{workspace}: the relay did not start within {START_SECONDS:.0f} s; see {workspace / FOLDER / LOG_FILE}, "
        "or run `clew relay` in the foreground"
    )


def _log(workspace: Path) -> tuple[IO[bytes], int]:
    """Open the log file of a relay that is started here; return it with its current end. Raises `RelayError`."""
    path = workspace / FOLDER / LOG_FILE
    try:
        if not workspace.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        make_folder(workspace)
        # The caller closes it, and shows its name in errors.
        log = open(path, "ab+", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except OSError as error:
        raise RelayError(
            f"{workspace}: cannot start a relay: {workspace / FOLDER} is not writable ({error.strerror}); make the folder "
            "writable, or name another with --workspace"
        ) from None
    if log.seek(0, os.SEEK_END) > MOST_LOG:
        log.truncate(0)
    return log, log.seek(0, os.SEEK_END)


def _started(workspace: Path, grace: float | None, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a relay process. Raises `RelayError`."""
    environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
    words = ["relay", "--workspace", str(workspace), "--quiet"]
    words += ["--grace", str(grace)] if grace is not None else []
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", "from clew.cli.main import main; main()", *words],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise RelayError(f"{workspace}: cannot start a relay: {sys.executable}: {error.strerror}") from None


def _said(log: IO[bytes], begin: int) -> str:
    """Return the reason of a failure: the last line of the log, and the log's name if it has further lines."""
    log.seek(begin)
    lines = log.read(MOST_LOG).decode("utf-8", "replace").strip().splitlines()
    more = f" (full output in {log.name})" if len(lines) > 1 else ""
    return lines[-1].removeprefix("clew: ") + more if lines else ""


def _is_taken(workspace: Path) -> bool:
    """Return whether there is a relay, which may not have written its address yet."""
    try:
        lock = os.open(workspace / FOLDER / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False
