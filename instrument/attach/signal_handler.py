"""Let `clew attach` start and end the recording of this process at run time.

`records/attach/registry.py` describes the protocol.

Invariant: while no command is attached, there is only an entry in the user's private folder and a handler for one
real-time signal: no thread, no descriptor, no timer. The handler runs in the main thread, between two of its
instructions, or when a blocking call is interrupted; the program's own calls continue as after any signal.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import sys
from typing import Any

from clew.instrument.probes.install.hidden_calls import Quiet
from clew.records.attach.registry import (
    CONTROL_VARIABLE,
    ENTRY_SUFFIX,
    MAX_MESSAGE,
    SOCKET_SUFFIX,
    Entry,
    began,
    is_private,
    peer,
    register,
)

_TIMEOUT_SECONDS = 5.0
"""Maximum seconds that the program waits for a `clew attach` that has called it and stays silent."""
_ARGUMENTS, _ARGUMENT = 20, 200

_signal_number = 0
_entry_file: str | None = None


def control() -> bool:
    """Allow `clew attach` to start and end the recording of this process. Call this in the main thread.

    Return False when this is impossible: real-time signals are missing or all in use, or no private folder is available
    for the entry.
    """
    global _signal_number
    if _signal_number:
        return True
    try:
        _signal_number = _take_signal()
        if _signal_number and not update_entry():
            _give_back_signal()
    except Exception:
        _give_back_signal()
    if _signal_number:
        from clew.instrument.recorder.core import core

        atexit.register(core.to_the_end(_remove_entry))
        os.register_at_fork(after_in_child=_forked)
    return bool(_signal_number)


def is_requested() -> bool:
    """Return whether the environment makes every process of this program attachable."""
    return os.environ.get(CONTROL_VARIABLE, "") not in ("", "0")


def update_entry(run: str = "") -> bool:
    """Write the run that records this process to its entry, if it is attachable."""
    global _entry_file
    if not _signal_number:
        return False
    version = ".".join(map(str, sys.version_info[:3]))
    argv = [argument[:_ARGUMENT] for argument in sys.orig_argv[:_ARGUMENTS]]
    _entry_file = register(Entry(os.getpid(), began(os.getpid()), _signal_number, version, argv, run))
    return _entry_file is not None


def _take_signal() -> int:
    """Install a handler for the highest unused real-time signal. Raises `ValueError` outside of the main thread."""
    _signal = _signals()
    first, last = getattr(_signal, "SIGRTMIN", 1), getattr(_signal, "SIGRTMAX", 0)
    for number in range(last - 1, first, -1):
        if _signal.getsignal(number) == _signal.SIG_DFL:
            _signal.signal(number, Quiet(_called))
            return int(number)
    return 0


def _signals() -> Any:
    """Return the module `signal` without creating its enumerations, for a program that may never import it."""
    return importlib.import_module("_signal")


def _give_back_signal() -> None:
    global _signal_number
    if _signal_number:
        number, _signal_number = _signal_number, 0
        with contextlib.suppress(Exception):
            _signal = _signals()
            _signal.signal(number, _signal.SIG_DFL)


def _remove_entry() -> None:
    if _entry_file is not None and _signal_number:
        with contextlib.suppress(OSError):
            os.unlink(_next_to_entry(_entry_file, ENTRY_SUFFIX))


def _next_to_entry(entry_file: str, suffix: str) -> str:
    """Return a path next to this process's entry, even if the entry is still that of its parent."""
    return os.path.join(os.path.dirname(entry_file), f"{os.getpid()}{suffix}")


def _forked() -> None:
    # The handler is inherited, the entry is the parent's.
    with contextlib.suppress(Exception):
        from clew.instrument.recorder.core import core

        update_entry(os.environ.get("CLEW_RUN", "") if core.active() else "")


def _called(_number: int, _frame: object) -> None:
    """Answer a listening command; a signal of another origin has no listener to connect to."""
    if _entry_file is not None:
        answer(_next_to_entry(_entry_file, SOCKET_SUFFIX))


def answer(address: str) -> None:
    """Fulfil the request of the process that listens at `address`, in a private folder of the user."""
    try:
        import _socket

        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    except (ImportError, AttributeError, OSError):
        return
    try:
        connection.settimeout(_TIMEOUT_SECONDS)
        if is_private(os.path.dirname(address)):
            connection.connect(address)
            _, user = peer(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))
            if user == os.getuid():
                connection.sendall(json.dumps(_answer(_read_line(connection))).encode() + b"\n")
    except OSError:
        return
    finally:
        connection.close()


def _read_line(connection: Any) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_MESSAGE:
        part = connection.recv(65536)
        if not part:
            break
        line += part
    return line


def _answer(request: bytes) -> dict[str, Any]:
    from clew.instrument.attach import session

    try:
        fields = json.loads(request)
        match fields["do"]:
            case "start":
                return {"ok": True, **session.start(fields["run"])}
            case "stop":
                return {"ok": True, **session.stop()}
            case "change":
                return {"ok": True, **session.change()}
            case "stacks":
                from clew.instrument.attach import stacks

                return {"ok": True, **stacks.snapshot()}
        return {"ok": False, "why": f"unknown request {fields['do']!r}; the process uses another version of clew"}
    except Exception as error:
        return {
            "ok": False,
            "why": f"{error}" if isinstance(error, session.LiveError) else f"{type(error).__name__}: {error}",
        }
