"""Causality of child processes: the start to the child's first step, and the child's end to the code that waits for it.

This module covers `subprocess`, and asyncio's subprocesses, which use `subprocess.Popen`. `os_calls` covers the calls of
`os`, and `adapters/multiprocessing` its processes and their messages. `child_environment` passes the cause to a child.
Channels: "process.start", "process.end".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import CellType
from typing import Any

from clew.instrument.adapters.multiprocessing import connections, locks, pool, process
from clew.instrument.adapters.patching import adapter_site, hook, hook_end, when_imported
from clew.instrument.adapters.processes import os_calls, process_waits, standard_streams
from clew.instrument.adapters.processes.child_environment import (
    announce,
    begin_inherited,
    end_inherited,
    ended,
    environment_for,
    forget,
    is_recording_python,
    note_flags,
    starting,
)
from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import will_exec

_ARGUMENTS, _EXECUTABLE, _PREEXEC, _ENV, _SHELL = 1, 2, 3, 7, 10
_STREAMS = slice(11, 17)
"""The indexes of these parameters of `Popen._execute_child`."""


def install() -> None:
    os_calls.install()
    when_imported("subprocess", _patch_subprocess)
    when_imported("asyncio.base_subprocess", _patch_asyncio)
    process.install()
    connections.install()
    locks.install()
    pool.install()


def join_hook(site: int) -> Callable[[Any, object], None]:
    """Return a hook that records the JOIN with the end of a child from `if_running`, if it has ended now."""

    def found(popen: Any, _result: object) -> None:
        if popen.returncode is not None:
            ended(popen._clew_start, site)

    return found


def if_running(popen: Any, *_others: object) -> Any:
    """Return a recorded child whose end is not known yet, otherwise None."""
    return popen if popen.returncode is None and hasattr(popen, "_clew_start") else None


def _patch_subprocess(module: Any) -> None:
    popen_class = module.Popen
    site = adapter_site(popen_class.__init__)

    def begin(popen: Any, *others: Any) -> tuple[Any, Any]:
        arguments = (popen, *others)
        env = arguments[_ENV]
        if not core.active():
            return None, env
        cause = announce(site)
        popen._clew_start = cause.key
        program = None if arguments[_SHELL] else _program(arguments[_ARGUMENTS], arguments[_EXECUTABLE])
        if arguments[_PREEXEC] is None:  # a preexec_fn could use the streams before the program starts
            read, _, _, write, _, errors = arguments[_STREAMS]
            direct = program is not None and is_recording_python(program, arguments[_ARGUMENTS])
            cause = cause._replace(streams=standard_streams.hand_over((read, write, errors), direct))
        if env is None:
            begin_inherited(cause, program)
        else:
            try:
                env = environment_for(env, program, cause)
            except Exception:
                # Popen reports the error in this environment itself.
                env = arguments[_ENV]
        if arguments[_PREEXEC] is not None:
            will_exec(True)
        starting.by_library = True
        return (popen, arguments[_ENV] is None, program, arguments[_ARGUMENTS]), env

    def over(token: tuple[Any, bool, Any, Any], _result: None) -> None:
        popen, inherited, program, arguments = token
        will_exec(False)
        starting.by_library = False
        standard_streams.hand_over((), False)
        if inherited:
            end_inherited()
        if getattr(popen, "pid", None):
            forget(popen.pid)
            note_flags(program, arguments, popen.pid)

    hook(popen_class._execute_child, begin, over, parameters=_STREAMS.stop, changes="env")
    hook(popen_class.poll, if_running, join_hook(adapter_site(popen_class.poll)))
    _patch_wait(popen_class)


def _patch_wait(popen_class: Any) -> None:
    joined = join_hook(adapter_site(popen_class.wait))

    def waits(popen: Any, limit: Any) -> Any:
        """Return the child and its wait; the child is None if its end is known or was not recorded."""
        found = if_running(popen)
        if found is None or popen.__dict__.get("_clew_waits"):  # `communicate` waits already
            return None if found is None else (found, None)
        name = popen.args[0] if isinstance(popen.args, (list, tuple)) and popen.args else popen.args
        name = os.path.basename(os.fsdecode(name)) if isinstance(name, (str, bytes)) else ""
        return found, process_waits.begin(popen, popen.pid, -1, popen._clew_start, name, limit)

    def waited(token: Any, result: Any) -> None:
        popen, wait = token
        if wait is not None:
            process_waits.over(wait, popen.returncode is not None)
        joined(popen, result)

    def communicates(popen: Any, _input: Any, limit: Any) -> Any:
        token = waits(popen, limit)
        if token is None or token[1] is None:
            return None
        popen._clew_waits = True
        return token

    def communicated(token: Any, _result: Any) -> None:
        popen, wait = token
        del popen._clew_waits
        process_waits.over(wait, popen.returncode is not None)

    hook(popen_class.wait, waits, waited, parameters=2)
    hook(popen_class.communicate, communicates, communicated, parameters=3)


def _program(arguments: Any, executable: Any) -> Any:
    if type(executable) is CellType:  # a nested function uses it, too
        executable = executable.cell_contents
    if executable is not None:
        return executable
    if isinstance(arguments, (list, tuple)):
        return arguments[0] if arguments else None
    return arguments


def _patch_asyncio(module: Any) -> None:
    """Hook the transport, because the event loop waits for its children itself and then calls the transport.

    The end of the child or the end of its last pipe wakes the waiter, whichever is later.
    """
    transport_class = module.BaseSubprocessTransport
    found = join_hook(adapter_site(transport_class._process_exited))
    wait_site = adapter_site(transport_class._wait)

    def exiting(transport: Any) -> Any:
        popen = if_running(transport._proc)
        if popen is not None:
            transport._clew_start = popen._clew_start
        return popen

    def waited(transport: Any, error: BaseException | None) -> None:
        if error is None and hasattr(transport, "_clew_start"):
            ended(transport._clew_start, wait_site)

    hook(transport_class._process_exited, exiting, found)
    hook_end(transport_class._wait, waited)
