"""Ask a running process to start, change or end its recording: the counterpart of `records/attach/registry.py`.

Invariant: a signal is sent only to a process that matches its entry and handles the signal. An answer is accepted only
from that process. Sockets are always removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from clew.records.attach import registry
from clew.records.attach.registry import Entry
from clew.records.errors import ClewError
from clew.records.run.ownership import user_name

TIMEOUT_SECONDS = 10.0
"""Seconds that a process has to answer."""
HOW_TO_PREPARE = (
    'start it with `clew run --off -- python …`, or in a shell after `eval "$(clew attach --env)"`, or make it call '
    "`clew.control()`"
)


class AskError(ClewError):
    """A process cannot be asked, or refused."""


class NotPreparedError(AskError):
    """A process of this user was not prepared for `clew attach`."""


class NoAnswerError(AskError):
    """A process did not answer in time."""


def entry_of(pid: int) -> tuple[Path, Entry]:
    """Return the entry of a process. Raise `AskError` if clew cannot attach to it."""
    for path, entry in registry.entries():
        if entry.pid == pid:
            return path, entry
    user = registry.owner(pid)
    if user is None and not _is_there(pid):
        raise AskError(
            f"process {pid} does not exist; run `clew attach --list` to see the processes that can be attached to"
        )
    if user != os.getuid():
        name = user_name(user)
        raise AskError(
            f"process {pid} belongs to {f'user {name}' if name else 'another user'}, and only that user can attach to it: run "
            f"`sudo -u {name or 'USER'} clew attach {pid}`"
        )
    raise NotPreparedError(f"process {pid} cannot be attached to: it was not prepared; {HOW_TO_PREPARE}")


def _is_there(pid: int) -> bool:
    """Return whether a process exists, also where /proc shows users only their own processes."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def ask(pid: int, request: dict[str, Any], timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """Return the answer of process `pid`. Raises `AskError` when it cannot answer, refuses, or does not answer in time."""
    path, entry = entry_of(pid)
    return _ask_at(path.with_suffix(registry.SOCKET_SUFFIX), pid, lambda: os.kill(pid, entry.signal), request, timeout)


def ask_by_interpreter(pid: int, request: dict[str, Any], timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """Ask an unprepared process through `sys.remote_exec` of Python 3.14.

    Both processes must use that version, and clew must be installed for it.
    """
    import sys

    remote_exec = getattr(sys, "remote_exec", None)
    folder = next((folder for folder in registry.folders() if _made_private(folder)), None)
    if remote_exec is None or folder is None:
        return ask(pid, request, timeout)
    address = Path(folder, f"{pid}{registry.SOCKET_SUFFIX}")
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".py", encoding="utf-8") as script:
        script.write(f"from clew.instrument.attach import signal_handler as c\nc.answer({str(address)!r})\ndel c\n")
        script.flush()
        return _ask_at(address, pid, lambda: remote_exec(pid, script.name), request, timeout)


def _made_private(folder: str) -> bool:
    with contextlib.suppress(OSError):
        Path(folder).mkdir(mode=0o700, exist_ok=True)
    return registry.is_private(folder)


def _ask_at(address: Path, pid: int, call: Any, request: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Listen at `address`, call the process, and return its answer."""
    with contextlib.closing(_listening(address, pid)) as listener:
        try:
            call()
            deadline = time.monotonic() + timeout
            while True:
                listener.settimeout(max(deadline - time.monotonic(), 0.001))
                connection, _ = listener.accept()
                with connection:
                    caller, user = registry.peer(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                    if (caller, user) != (pid, os.getuid()):
                        continue
                    connection.settimeout(max(timeout, TIMEOUT_SECONDS))
                    connection.sendall(json.dumps(request).encode() + b"\n")
                    return _checked(pid, _read_all(connection))
        except TimeoutError:
            raise NoAnswerError(
                f"process {pid} does not answer: its main thread is in a call that does not return, or blocks signals; "
                "the process is unchanged"
            ) from None
        except ProcessLookupError:
            raise AskError(f"process {pid} has exited") from None
        except OSError as error:
            raise AskError(f"cannot connect to process {pid} ({error.strerror or error})") from None
        finally:
            with contextlib.suppress(OSError):
                address.unlink()


def _listening(address: Path, pid: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        for _ in range(2):
            try:
                before = os.umask(0o077)
                try:
                    listener.bind(str(address))
                finally:
                    os.umask(before)
                listener.listen(1)
                return listener
            except OSError:
                if _is_served(address):
                    raise AskError(f"another `clew attach` is connected to process {pid}; try again") from None
                with contextlib.suppress(FileNotFoundError):
                    address.unlink()  # left by a killed process
    except OSError as error:
        listener.close()
        raise AskError(f"{address}: cannot listen ({error.strerror})") from None
    except AskError:
        listener.close()
        raise
    listener.close()
    raise AskError(f"{address}: cannot listen")


def _is_served(address: Path) -> bool:
    """Return whether another process listens there; it ignores our connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(address))
        except OSError:
            return False
    return True


def _read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def _checked(pid: int, text: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(text)
        if answer["ok"]:
            return answer
        why = str(answer["why"])
    except (ValueError, TypeError, KeyError):
        raise AskError(f"process {pid} exited before it answered") from None
    raise AskError(f"process {pid}: {why}")
