"""Prepare the start of child processes for all ways to start them: causes, environment variables, ends.

Channels: "process.start", "process.end". The key of the start travels in the environment variable CLEW_CAUSE, and the key
of the end is derived from it. A child that is not recorded or was killed emits no end; the JOIN still records that this
process waited for it.

Invariants: an environment that the program passes to a child is not changed. A Python child gets a copy with clew's
variables, and removes them at its start; other children get the original. If a child cannot be recorded, a note in the
trace gives the reason.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from clew.instrument import startup
from clew.instrument.probes.sites import note
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.instrument.recorder.lifecycle import Cause, cause_by, run_folder
from clew.records.format.event import Kind
from clew.records.format.keys import process_end
from clew.records.run.directory import CAUSE_VARIABLE, HIDE_VARIABLE, RUN_VARIABLE

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)
_PATHS = "PYTHONPATH"
_MOST_CHILDREN = 10_000
"""The maximum number of keys that are kept for children that the program has not waited for."""


class _Inherited:
    """The thread whose child's cause is in the process's environment, which all threads share."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        # Re-entrant, for a `preexec_fn` that starts a process itself.
        self.lock = threading.RLock()
        self.thread = 0
        self.outer: list[tuple[int, dict[str, str | None]]] = []
        """The previous thread and the previous values of the variables, for each start in progress, the innermost last."""


class _Starting(threading.local):
    """The calling thread's state of the child that it is about to start."""

    by_library = False
    """Whether a library function passes the cause to the child, so that hooks of its system calls must not."""


starting = _Starting()
_inherited = _Inherited()
_keys: dict[int, int] = {}
"""The keys that started children which the program knows only by their pid, by pid."""
_noted: set[str] = set()


def _after_fork_in_child() -> None:
    _keys.clear()
    # Another thread of the parent was starting a child during the fork. That thread is missing here, so drop its state.
    if _inherited.thread not in (0, threading.get_ident()):
        for _, before in reversed(_inherited.outer):
            _put(before)
        _inherited.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def announce(site: int) -> Cause:
    """Record the SEND that starts a process, and return the cause to pass to the process."""
    key = fresh_key()
    core.emit(_SEND, site, key, intern("process.start"))
    return cause_by(key)


def ended(key: int, site: int) -> None:
    """Record the JOIN with the end of the process that `key` started."""
    core.emit(_JOIN, site, process_end(key), intern("process.end"))


def remember(pid: int, key: int) -> None:
    """Store the key that started a child, for `ended_pid`."""
    if key and pid > 0:
        if len(_keys) >= _MOST_CHILDREN:
            _keys.pop(next(iter(_keys)), None)
        _keys[pid] = key


def started(pid: int) -> int:
    """Return the key that started a child, 0 when it is not known."""
    return _keys.get(pid, 0)


def forget(pid: int) -> None:
    """Drop the key of a pid that a new child has reused; the earlier child's end was not seen."""
    _keys.pop(pid, None)


def ended_pid(pid: int, site: int) -> None:
    """Record the JOIN with the end of a child, if `remember` has stored its key."""
    key = _keys.pop(pid, 0)
    if key and core.active():
        ended(key, site)


def begin_inherited(cause: Cause, program: object) -> None:
    """Put the cause and clew's variables into this process's environment, for a child that inherits it.

    The process's own environment is used, because it also contains variables that C code has set. `end_inherited` must
    follow. `program` is the executable, or None for a shell.
    """
    added = _missing(os.environ, program)
    changes: dict[str, str | None] = {} if added is None else {**added, CAUSE_VARIABLE: str(cause)}
    before = {name: os.environ.get(name) for name in changes}
    _inherited.lock.acquire()
    _inherited.outer.append((_inherited.thread, before))
    try:
        _inherited.thread = threading.get_ident()
        _put(changes)
    except BaseException:  # an interrupt must not leave the lock acquired
        end_inherited()
        raise


def end_inherited() -> None:
    _inherited.thread, before = _inherited.outer.pop()
    _put(before)
    _inherited.lock.release()


def environment_for(env: Mapping[Any, Any], program: object, cause: Cause) -> Mapping[Any, Any]:
    """Return a copy of `env` with the cause and clew's variables; `env` itself if the child will not be recorded."""
    added = _missing(env, program)
    if added is None:
        return env
    extended = dict(env)
    for name, value in {**added, CAUSE_VARIABLE: str(cause)}.items():
        if os.fsencode(name) in extended:
            extended[os.fsencode(name)] = os.fsencode(value)
        else:
            extended[name] = value
    return extended


def note_flags(program: object, arguments: object, pid: int) -> None:
    """Note in the trace if a Python process was started with a flag that disables clew's start-up."""
    if not isinstance(arguments, (list, tuple)) or not _is_interpreter(program):
        return
    letters = _flags(arguments)
    found = next((letter for letter in "ISE" if letter in letters), "")
    if found:
        _note_once(
            found,
            f"process {pid} ({os.path.basename(_text(program))} -{found}) was not recorded: that flag disables clew",
        )


def is_recording_python(program: object, arguments: object) -> bool:
    """Return whether the program is an interpreter whose flags allow clew's start-up."""
    if not isinstance(arguments, (list, tuple)) or not _is_interpreter(program):
        return False
    return not set("ISE") & set(_flags(arguments))


def _missing(env: Mapping[Any, Any], program: object) -> dict[str, str] | None:
    """Return the variables that `env` lacks for recording a Python program, or None if the child will not be recorded."""
    folder = run_folder()
    if folder is None:
        return None
    run, paths = _value(env, RUN_VARIABLE), _value(env, _PATHS)
    if run is not None and run != folder:
        return None  # the program chose another run, or disabled recording by an empty value
    if run is not None and paths is not None and startup.FOLDER in paths.split(os.pathsep):
        return {}
    if not _is_python(program, env):
        name = "a shell" if program is None else os.path.basename(_text(program))
        _note_once(
            name,
            f"{name} was started with an environment without clew's variables (env=…): its Python child processes are "
            "not recorded",
        )
        return None
    added = {RUN_VARIABLE: folder, _PATHS: startup.FOLDER, HIDE_VARIABLE: "added"}
    if paths is not None:
        added.update({_PATHS: startup.before(paths), HIDE_VARIABLE: "kept"})
    return added


def _value(env: Mapping[Any, Any], name: str) -> str | None:
    value = env.get(name)
    if value is None and env is not os.environ:
        value = env.get(os.fsencode(name))
    return None if value is None else os.fsdecode(value)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _text(program: object) -> str:
    return os.fsdecode(program) if isinstance(program, (str, bytes, os.PathLike)) else str(program)


def _is_interpreter(program: object) -> bool:
    if not isinstance(program, (str, bytes, os.PathLike)):
        return False
    path = os.fsdecode(program)
    name = os.path.basename(path).removesuffix(".exe").rstrip("0123456789.td")
    return name in {"python", "pypy"} or path == sys.executable


def _is_python(program: object, env: Mapping[Any, Any]) -> bool:
    """Return whether the program is a Python interpreter, or a script that one runs."""
    if program is None or _is_interpreter(program):
        return program is not None
    if isinstance(program, int):  # a descriptor
        return False
    path = _text(program)
    places = [path]
    if not os.path.dirname(path):
        search = _value(env, "PATH") or os.environ.get("PATH", os.defpath)
        places = [os.path.join(folder, path) for folder in search.split(os.pathsep)]
    for place in filter(os.path.isfile, places):
        try:
            with open(place, "rb", buffering=0) as file:
                first = (file.read(256) or b"").split(b"\n", 1)[0]
        except OSError:
            continue
        return first.startswith(b"#!") and b"python" in first
    return False


def _flags(arguments: Sequence[Any]) -> str:
    """Return the letters of the interpreter's options, up to the program to run."""
    letters = ""
    words = iter(arguments[1:])
    for word in words:
        text = _text(word)
        if not text.startswith("-") or text in ("-", "--") or text.startswith("--"):
            break
        for place, letter in enumerate(text[1:], 2):
            if letter in "cm":
                return letters
            if letter in "WX":
                if place == len(text):
                    next(words, None)
                break
            letters += letter
    return letters


def _note_once(about: str, text: str) -> None:
    if about not in _noted:
        _noted.add(about)
        note(text)
