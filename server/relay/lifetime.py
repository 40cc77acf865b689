"""One relay a workspace, started by whoever needs it first, found by everyone else through a file in the workspace's folder.

Invariant: only the relay that has the lock writes the file, and it is the user's alone; a file of a relay that is gone is never
believed, since nobody has the lock then.
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
from clew.records.run import CAUSE_VARIABLE, FOLDER, RUN_VARIABLE, make_folder, write_private

ADDRESS_FILE = "relay.json"
LOCK_FILE = "relay.lock"
LOG_FILE = "relay.log"
MOST_LOG = 1 << 20
"""Bytes; a longer one begins anew with the next relay."""
START_SECONDS = 60.0
"""A machine may be busy."""
_LOCK_SECONDS = 1.0
"""Whoever asks whether there is a relay has the lock for an instant."""


class RelayError(ClewError):
    """There is no relay, and none can be started."""


class Address(NamedTuple):
    url: str
    token: str
    pid: int = 0
    certificate: str = ""
    """PEM file that its certificate is checked by; "" for the system's."""

    def __repr__(self) -> str:
        return f"Address({self.url!r})"  # the token is in no log


class Place:
    """A workspace's only relay; nobody else's until `leave`."""

    def __init__(self, workspace: Path) -> None:
        """Raises `RelayError` when there is one."""
        try:
            self._folder = make_folder(workspace)
            self._lock = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RelayError(f"{workspace / FOLDER}: cannot be written ({error.strerror})") from None
        deadline = time.monotonic() + _LOCK_SECONDS
        while not self._locked():
            if time.monotonic() > deadline:
                os.close(self._lock)
                raise RelayError(f"{workspace}: there is a relay already; it ends by itself when nothing is left to do")
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
    """Of the relay that a workspace has now."""
    folder = workspace / FOLDER
    if not _is_taken(workspace):
        return None
    try:
        data = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return Address(**{name: data[name] for name in Address._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it has just begun


def ensure_relay(workspace: Path, *, grace: float | None = None) -> Address:
    """The workspace's relay, which is started if there is none. Raises `RelayError` once it is clear that none will be."""
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
                other = True  # it was started at the same time, and ours has ended for that
            elif ended == 0 or (ended is not None and other):
                process, other = _started(workspace, grace, log), False
            elif ended is not None:
                raise RelayError(
                    f"{workspace}: no relay could be started: {_said(log, begin) or f'it ended with {ended}'}"
                )
            time.sleep(0.02)
    raise RelayError(
        f"{workspace}: no relay has begun in {START_SECONDS:.0f} seconds; {workspace / FOLDER / LOG_FILE} may say why, and "
        "`clew relay` tries it where you see it"
    )


def _log(workspace: Path) -> tuple[IO[bytes], int]:
    """Where a relay that is started here says what is wrong, and where in it that begins. Raises `RelayError`."""
    path = workspace / FOLDER / LOG_FILE
    try:
        if not workspace.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder")
        make_folder(workspace)
        # Whoever asks closes it, and says by its name where it is.
        log = open(path, "ab+", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except OSError as error:
        raise RelayError(
            f"{workspace}: no relay can be started, {workspace / FOLDER} cannot be written ({error.strerror}); make the folder "
            "writable, or name another with --workspace"
        ) from None
    if log.seek(0, os.SEEK_END) > MOST_LOG:
        log.truncate(0)
    return log, log.seek(0, os.SEEK_END)


def _started(workspace: Path, grace: float | None, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Raises `RelayError`."""
    environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
    words = ["relay", "--workspace", str(workspace), "--quiet"]
    words += ["--grace", str(grace)] if grace is not None else []
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", "from clew.cli.main import main; main()", *words],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise RelayError(f"{workspace}: no relay could be started: {sys.executable}: {error.strerror}") from None


def _said(log: IO[bytes], begin: int) -> str:
    """What was wrong: the last line, and where the others are if there are any."""
    log.seek(begin)
    lines = log.read(MOST_LOG).decode("utf-8", "replace").strip().splitlines()
    more = f" (all of it is in {log.name})" if len(lines) > 1 else ""
    return lines[-1].removeprefix("clew: ") + more if lines else ""


def _is_taken(workspace: Path) -> bool:
    """Is there a relay, which may not have written its address yet?"""
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
