"""Causality of children that `os` itself starts and waits for: fork, forkpty, posix_spawn, spawn, system, wait.

An exec is followed, too: the process's file ends, and the call causes the first step of the new program. The recorder
itself records the edge from `os.fork` to the child. Channels: "process.start", "process.end".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from clew.instrument.adapters.os_wrappers import Arguments, wrap_os_function
from clew.instrument.adapters.patching import Tokens, adapter_site, hook
from clew.instrument.adapters.processes.child_environment import (
    announce,
    begin_inherited,
    end_inherited,
    ended,
    ended_pid,
    environment_for,
    note_flags,
    remember,
    starting,
)
from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import (
    Cause,
    begin_again,
    cause_after_exec,
    forked_child_key,
    pause,
    will_exec,
)

_Before = tuple[Any, Arguments | None] | None


class _Spawn(Tokens):
    """The cause of the child that the calling thread forks to run another program."""

    cause: Cause | None = None


_spawn = _Spawn()


def install() -> None:
    for name in ("fork", "forkpty"):
        wrap_os_function(name, _forking, _forked)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            _hook_posix_spawn(name)
    for name in ("execv", "execve"):
        if hasattr(os, name):
            _hook_exec(name)
    if hasattr(os, "_spawnvef"):
        _hook_spawn(os._spawnvef)
    _hook_system()
    for name in ("wait", "wait3", "wait4", "waitpid"):
        if hasattr(os, name):
            _hook_wait(name)
    if hasattr(os, "waitid"):
        _hook_waitid()


def _forking() -> _Before:
    return True, None


def _forked(_token: bool, result: Any) -> None:
    pid = result[0] if isinstance(result, tuple) else result
    if pid:
        remember(pid, _spawn.cause.key if _spawn.cause else forked_child_key())


def _hook_spawn(function: Any) -> None:
    """Hook `os.spawn*` in Python: a fork whose child immediately runs another program, and needs no trace file."""
    site = adapter_site(function)

    def begin(_mode: int, _file: Any) -> bool | None:
        if not core.active():
            return None
        _spawn.cause = announce(site)
        will_exec(True)
        return True

    def over(_token: bool, _result: Any) -> None:
        _spawn.cause = None
        will_exec(False)

    hook(function, begin, over, parameters=2)


def _hook_exec(name: str) -> None:
    site = adapter_site(getattr(os, name))

    def before(path: Any, argv: Any, env: Mapping[Any, Any] | None = None) -> _Before:
        cause = _spawn.cause
        if cause is None:
            # A search along PATH tries files that do not exist; recording continues until one does.
            if not core.active() or not _can_run(path):
                return None
            cause = cause_after_exec(announce(site))
        changed: Arguments | None = None
        if env is None:
            begin_inherited(cause, path)
        else:
            changed = (path, argv, environment_for(env, path, cause)), {}
        pause()
        return (cause, env is None), changed

    def failed(token: tuple[Cause, bool], _result: None) -> None:
        cause, inherited = token
        if inherited:
            end_inherited()
        if _spawn.cause is None:
            begin_again(cause)

    wrap_os_function(name, before, failed)


def _can_run(path: Any) -> bool:
    return isinstance(path, int) or (os.path.isfile(path) and os.access(path, os.X_OK))


def _hook_posix_spawn(name: str) -> None:
    site = adapter_site(getattr(os, name))

    def before(path: Any, argv: Any, env: Any, **options: Any) -> _Before:
        if starting.by_library or not core.active():
            return None
        cause = announce(site)
        if env is None:
            begin_inherited(cause, path)
            return (cause.key, True, path, argv), None
        return (cause.key, False, path, argv), ((path, argv, environment_for(env, path, cause)), options)

    def after(token: tuple[int, bool, Any, Any], pid: int | None) -> None:
        key, inherited, path, argv = token
        if inherited:
            end_inherited()
        if pid:
            remember(pid, key)
            note_flags(path, argv, pid)

    wrap_os_function(name, before, after)


def _hook_system() -> None:
    site = adapter_site(os.system)

    def before(_command: Any) -> _Before:
        if not core.active():
            return None
        cause = announce(site)
        begin_inherited(cause, None)
        return cause.key, None

    def after(key: int, _result: int | None) -> None:
        end_inherited()
        ended(key, site)

    wrap_os_function("system", before, after)


def _hook_wait(name: str) -> None:
    site = adapter_site(getattr(os, name))

    def after(_token: bool, result: tuple[Any, ...] | None) -> None:
        if result is not None and (os.WIFEXITED(result[1]) or os.WIFSIGNALED(result[1])):
            ended_pid(result[0], site)

    wrap_os_function(name, lambda *_arguments, **_options: (True, None), after)


def _hook_waitid() -> None:
    site = adapter_site(os.waitid)

    def after(_token: bool, result: Any) -> None:
        if result is not None and result.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
            ended_pid(result.si_pid, site)

    wrap_os_function("waitid", lambda *_arguments, **_options: (True, None), after)
