"""One relay a workspace, started by whoever needs it first, found by everyone else through a file in the workspace's folder.

Invariant: only the relay that has the lock writes the file, and it is the user's alone; a file of a relay that is gone is never
believed, since nobody has the lock then.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from clew.records.errors import ClewError
from clew.records.run import CAUSE_VARIABLE, FOLDER, RUN_VARIABLE, make_folder, write_private

ADDRESS_FILE = "relay.json"
LOCK_FILE = "relay.lock"
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
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        pass
    finally:
        os.close(lock)
    try:
        data = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return Address(**{name: data[name] for name in Address._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it has just begun


def ensure_relay(workspace: Path, *, grace: float | None = None) -> Address:
    """The workspace's relay, which is started if there is none. Raises `RelayError`."""
    found = running(workspace)
    if found is not None:
        return found
    environment = {name: value for name, value in os.environ.items() if name not in {RUN_VARIABLE, CAUSE_VARIABLE}}
    words = ["relay", "--workspace", str(workspace), "--quiet"]
    words += ["--grace", str(grace)] if grace is not None else []
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", "from clew.cli.main import main; main()", *words],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    try:
        while time.monotonic() < deadline:
            # Another may have been started at the same time: then ours ends, and the other one is there.
            found = running(workspace)
            if found is not None:
                return found
            if process.poll() not in (None, 0, RelayError.exit_code):
                break
            time.sleep(0.02)
    finally:
        if process.stderr is not None and process.poll() is not None:
            said = process.stderr.read().decode("utf-8", "replace").strip()
        else:
            said = ""
        if process.stderr is not None:
            process.stderr.close()
    raise RelayError(f"{workspace}: no relay could be started{f': {said}' if said else ''}; `clew relay` shows why")
