"""Asks a running process to begin, change or end its recording: the other side of `records/control.py`.

Invariant: a signal is sent only to a process whose entry fits it and that handles the signal, and an answer is taken only
from that process; no socket stays behind.
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

from clew.records import control
from clew.records.control import Entry
from clew.records.errors import ClewError
from clew.records.users import user_name

PATIENCE = 10.0
"""Seconds that a process is given to notice."""
_HOW = (
    'start it with `clew run --off -- python …`, or in a shell after `eval "$(clew attach --env)"`, or let it call '
    "`clew.control()`"
)


class AskError(ClewError):
    """A process cannot be asked, or said no."""


def entry_of(pid: int) -> tuple[Path, Entry]:
    """The entry of a process. Raises `AskError` when it cannot be attached to."""
    for path, entry in control.entries():
        if entry.pid == pid:
            return path, entry
    user = control.owner(pid)
    if user is None and not _is_there(pid):
        raise AskError(f"there is no process {pid}; `clew attach --list` shows those that can be attached to")
    if user != os.getuid():
        name = user_name(user)
        raise AskError(
            f"process {pid} is {f'user {name}' if name else 'another user'}'s, and only that user can attach to it: "
            f"`sudo -u {name or 'USER'} clew attach {pid}`"
        )
    raise AskError(f"process {pid} cannot be attached to: it was not made ready for it; {_HOW}")


def _is_there(pid: int) -> bool:
    """Also where /proc shows a user only the user's own."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def ask(pid: int, request: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
    """What process `pid` answers. Raises `AskError` when it cannot, will not, or does not answer in time."""
    path, entry = entry_of(pid)
    return _ask_at(path.with_suffix(control.SOCKET_SUFFIX), pid, lambda: os.kill(pid, entry.signal), request, patience)


def ask_by_interpreter(pid: int, request: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
    """The same of a process that was not made ready, through `sys.remote_exec` of Python 3.14: both must be of that version,
    and clew be installed for it."""
    import sys

    remote_exec = getattr(sys, "remote_exec", None)
    folder = next((folder for folder in control.folders() if _made_private(folder)), None)
    if remote_exec is None or folder is None:
        return ask(pid, request, patience)
    address = Path(folder, f"{pid}{control.SOCKET_SUFFIX}")
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".py", encoding="utf-8") as script:
        script.write(f"from clew.instrument import control as c\nc.answer({str(address)!r})\ndel c\n")
        script.flush()
        return _ask_at(address, pid, lambda: remote_exec(pid, script.name), request, patience)


def _made_private(folder: str) -> bool:
    with contextlib.suppress(OSError):
        Path(folder).mkdir(mode=0o700, exist_ok=True)
    return control.is_private(folder)


def _ask_at(address: Path, pid: int, call: Any, request: dict[str, Any], patience: float) -> dict[str, Any]:
    """Listens at `address`, calls the process, and takes what it answers."""
    with contextlib.closing(_listening(address, pid)) as listener:
        try:
            call()
            deadline = time.monotonic() + patience
            while True:
                listener.settimeout(max(deadline - time.monotonic(), 0.001))
                connection, _ = listener.accept()
                with connection:
                    caller, user = control.peer(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                    if (caller, user) != (pid, os.getuid()):
                        continue
                    connection.settimeout(max(patience, PATIENCE))
                    connection.sendall(json.dumps(request).encode() + b"\n")
                    return _checked(pid, _read_all(connection))
        except TimeoutError:
            raise AskError(
                f"process {pid} does not answer: its main thread is in a call that does not return, or blocks signals; it was "
                "left as it is"
            ) from None
        except ProcessLookupError:
            raise AskError(f"process {pid} is gone") from None
        except OSError as error:
            raise AskError(f"process {pid} cannot be spoken to ({error.strerror or error})") from None
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
                    raise AskError(f"another clew is speaking to process {pid}; try again") from None
                with contextlib.suppress(FileNotFoundError):
                    address.unlink()  # left behind by one that was killed
    except OSError as error:
        listener.close()
        raise AskError(f"{address}: cannot listen there ({error.strerror})") from None
    except AskError:
        listener.close()
        raise
    listener.close()
    raise AskError(f"{address}: cannot listen there")


def _is_served(address: Path) -> bool:
    """Does somebody listen there? The one who does takes us for nobody it waits for."""
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
        raise AskError(f"process {pid} ended before it answered") from None
    raise AskError(f"process {pid}: {why}")
