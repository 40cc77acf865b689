"""Causality of child processes: whoever starts one to the child's first step, the child's end to whoever waits for it.

Channels: "process.start", "process.end". The key of the start travels in the environment variable CLEW_CAUSE, from which the
child's recording starts; a child that was given an environment without clew's variables is left alone, and the trace says so.
The key of the end is made of it. A child that is not recorded, or was killed, has no end that could be joined: the JOIN says
all the same that it was waited for. asyncio's subprocesses start as `subprocess.Popen`; `os.fork` is the recorder's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.context import fresh_key
from clew.instrument.probes.sites import note
from clew.instrument.recorder.lifecycle import forked, will_exec
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind
from clew.records.keys import process_end
from clew.records.run import CAUSE_VARIABLE, RUN_VARIABLE

_PREEXEC, _ENV = 3, 7
"""Which parameters of `Popen._execute_child` are `preexec_fn` and the environment."""


class _Announcing:
    """Which thread has its child's cause in the environment that all threads share."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        # Re-entrant, for a `preexec_fn` that starts a process itself.
        self.lock = threading.RLock()
        self.thread = 0
        self.outer: list[int] = []


class _Spawned(threading.local):
    """The key of the process that the calling thread had multiprocessing spawn last."""

    key = 0


_announcing = _Announcing()
_spawned = _Spawned()


def _after_fork_in_child() -> None:
    # Forked while another thread, which is not here, was starting a child: its lock and its cause are not ours.
    if _announcing.thread not in (0, threading.get_ident()):
        os.environ.pop(CAUSE_VARIABLE, None)
        _announcing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def install() -> None:
    when_imported("subprocess", _patch_subprocess)
    when_imported("asyncio.base_subprocess", _patch_asyncio)
    when_imported("multiprocessing.util", _patch_spawn)
    when_imported("multiprocessing.popen_fork", _patch_multiprocessing)


def _announce(site: int) -> tuple[int, str]:
    """Records the SEND that starts a process; its key, and the value of CLEW_CAUSE for the process."""
    key = fresh_key()
    core.emit(Kind.SEND, site, key, intern("process.start"))
    return key, f"{key:x}-{core.uid():x}"


def _begin_inherited(site: int) -> int:
    """Before a child starts that inherits this process's environment, with what C code put into it, too. Gives its key.

    `_end_inherited` has to follow.
    """
    key, cause = _announce(site)
    _announcing.lock.acquire()
    _announcing.outer.append(_announcing.thread)
    try:
        _announcing.thread = threading.get_ident()
        os.environ[CAUSE_VARIABLE] = cause
    except BaseException:  # an interrupt: nobody else would let go of the lock
        _end_inherited()
        raise
    return key


def _end_inherited() -> None:
    os.environ.pop(CAUSE_VARIABLE, None)
    _announcing.thread = _announcing.outer.pop()
    _announcing.lock.release()


def _joining(site: int) -> Callable[[Any, object], None]:
    """Records, after a look at a child that was running before, that its end is known now."""
    emit, channel = core.emit, intern("process.end")

    def ended(popen: Any, _result: object) -> None:
        if popen.returncode is not None:
            emit(Kind.JOIN, site, process_end(popen._clew_start), channel)

    return ended


def _running(popen: Any, *_others: object) -> Any:
    return popen if popen.returncode is None and hasattr(popen, "_clew_start") else None


def _patch_subprocess(module: Any) -> None:
    popen_class = module.Popen
    site = adapter_site(popen_class.__init__)

    def starting(popen: Any, *arguments: Any) -> tuple[bool | None, Any]:
        env, preexec = arguments[_ENV - 1], arguments[_PREEXEC - 1]
        if not core.active():
            return None, env
        if preexec is not None:
            will_exec(True)
        if env is None:
            popen._clew_start = _begin_inherited(site)
            return True, env
        popen._clew_start, env = _with_cause(env, site)
        return False, env

    def started(inherited: bool, _result: None) -> None:
        will_exec(False)
        if inherited:
            _end_inherited()

    hook(popen_class._execute_child, starting, started, parameters=_ENV + 1, changes="env")
    for function in (popen_class.wait, popen_class.poll):
        hook(function, _running, _joining(adapter_site(function)))


def _with_cause(env: Mapping[Any, Any], site: int) -> tuple[int, Mapping[Any, Any]]:
    """The child's key, and its environment."""
    try:
        if env.get(RUN_VARIABLE) == os.environ.get(RUN_VARIABLE):
            key, cause = _announce(site)
            return key, {**env, CAUSE_VARIABLE: cause}
        note("a child process has an environment without clew's variables (env=…): it is not recorded")
    except Exception:
        # What is wrong with this environment is for Popen to say.
        return fresh_key(), env
    return fresh_key(), env


def _patch_asyncio(module: Any) -> None:
    """The event loop waits for its children itself, and tells the transport."""
    transport_class = module.BaseSubprocessTransport
    ended = _joining(adapter_site(transport_class._process_exited))
    hook(
        transport_class._process_exited,
        lambda transport: _running(transport._proc),
        ended,
    )


def _patch_spawn(module: Any) -> None:
    site = adapter_site(module.spawnv_passfds)

    def starting(*_arguments: Any) -> bool | None:
        if not core.active():
            return None
        _spawned.key = _begin_inherited(site)
        return True

    hook(module.spawnv_passfds, starting, lambda _token, _result: _end_inherited())


def _patch_multiprocessing(module: Any) -> None:
    """The classes for the other ways to start a process derive from the one that forks."""
    popen_class = module.Popen

    def started(popen: Any, _result: None) -> None:
        key = {"fork": forked(), "spawn": _spawned.key}.get(popen.method, 0)
        if key:
            popen._clew_start = key

    hook(popen_class.__init__, lambda popen: popen, started)
    hook(popen_class.poll, _running, _joining(adapter_site(popen_class.poll)))
