"""Causality of child processes: whoever starts one to the child's first step.

Channel: "process.start". The key travels in the environment variable CLEW_CAUSE, from which the child's recording starts; a
child that was given an environment without clew's variables is left alone, and the trace says so. asyncio's subprocesses
go through `subprocess.Popen`; `os.fork` is the recorder's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from clew.instrument.adapters.patching import adapter_site, replace, when_imported
from clew.instrument.context import fresh_key
from clew.instrument.probes.sites import note
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind
from clew.records.run import CAUSE_VARIABLE, RUN_VARIABLE

_ENV = 6
"""Which argument of `Popen._execute_child` is the environment."""
_environment_lock = threading.Lock()


def install() -> None:
    when_imported("subprocess", _patch_subprocess)
    when_imported("multiprocessing.util", _patch_multiprocessing)


def _announce(site: int) -> str:
    """Records the SEND that starts a process; the value of CLEW_CAUSE for it."""
    key = fresh_key()
    core.emit(Kind.SEND, site, key, intern("process.start"))
    return f"{key:x}-{core.uid():x}"


def _patch_subprocess(module: Any) -> None:
    site = adapter_site(module.Popen.__init__)

    def execute_child(original: Callable[..., None]) -> Callable[..., None]:
        def hook(self: Any, *arguments: Any) -> None:
            before, env, after = arguments[:_ENV], arguments[_ENV], arguments[_ENV + 1 :]
            original(self, *before, _with_cause(env, site), *after)

        return hook

    replace(module.Popen, "_execute_child", execute_child)


def _with_cause(env: Mapping[Any, Any] | None, site: int) -> Mapping[Any, Any] | None:
    if not core.active():
        return env
    try:
        given = os.environ if env is None else env
        if given.get(RUN_VARIABLE) == os.environ.get(RUN_VARIABLE):
            return {**given, CAUSE_VARIABLE: _announce(site)}
        note("a child process has an environment without clew's variables (env=…): it is not recorded")
    except Exception:
        # What is wrong with this environment is for Popen to say.
        return env
    return env


def _patch_multiprocessing(module: Any) -> None:
    site = adapter_site(module.spawnv_passfds)

    def spawnv_passfds(original: Callable[..., int]) -> Callable[..., int]:
        def hook(path: Any, args: Any, passfds: Any) -> int:
            # It takes no environment: the child inherits this process's.
            if not core.active():
                return original(path, args, passfds)
            with _environment_lock:
                os.environ[CAUSE_VARIABLE] = _announce(site)
                try:
                    return original(path, args, passfds)
                finally:
                    os.environ.pop(CAUSE_VARIABLE, None)

        return hook

    replace(module, "spawnv_passfds", spawnv_passfds)
