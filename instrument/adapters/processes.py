"""Causality of child processes: whoever starts one to the child's first step.

Channel: "process.start". The key travels in the environment variable CLEW_CAUSE, from which the child's recording starts; a
child that was given an environment without clew's variables is left alone, and the trace says so. asyncio's subprocesses
go through `subprocess.Popen`; `os.fork` is the recorder's.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
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


class _Announcing:
    """Which thread has its child's cause in the environment that all threads share."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        # Re-entrant, for a `preexec_fn` that starts a process itself.
        self.lock = threading.RLock()
        self.thread = 0


_announcing = _Announcing()


def _after_fork_in_child() -> None:
    # Forked while another thread, which is not here, was starting a child: its lock and its cause are not ours.
    if _announcing.thread not in (0, threading.get_ident()):
        os.environ.pop(CAUSE_VARIABLE, None)
        _announcing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def install() -> None:
    when_imported("subprocess", _patch_subprocess)
    when_imported("multiprocessing.util", _patch_multiprocessing)


def _announce(site: int) -> str:
    """Records the SEND that starts a process; the value of CLEW_CAUSE for it."""
    key = fresh_key()
    core.emit(Kind.SEND, site, key, intern("process.start"))
    return f"{key:x}-{core.uid():x}"


@contextlib.contextmanager
def _inherited_cause(site: int) -> Iterator[None]:
    """Around the start of a child that inherits this process's environment, with what C code put into it, too."""
    with _announcing.lock:
        outer, _announcing.thread = _announcing.thread, threading.get_ident()
        os.environ[CAUSE_VARIABLE] = _announce(site)
        try:
            yield
        finally:
            os.environ.pop(CAUSE_VARIABLE, None)
            _announcing.thread = outer


def _patch_subprocess(module: Any) -> None:
    site = adapter_site(module.Popen.__init__)

    def execute_child(original: Callable[..., None]) -> Callable[..., None]:
        def hook(self: Any, *arguments: Any) -> None:
            env = arguments[_ENV]
            if not core.active():
                original(self, *arguments)
            elif env is None:
                with _inherited_cause(site):
                    original(self, *arguments)
            else:
                original(self, *arguments[:_ENV], _with_cause(env, site), *arguments[_ENV + 1 :])

        return hook

    replace(module.Popen, "_execute_child", execute_child)


def _with_cause(env: Mapping[Any, Any], site: int) -> Mapping[Any, Any]:
    try:
        if env.get(RUN_VARIABLE) == os.environ.get(RUN_VARIABLE):
            return {**env, CAUSE_VARIABLE: _announce(site)}
        note("a child process has an environment without clew's variables (env=…): it is not recorded")
    except Exception:
        # What is wrong with this environment is for Popen to say.
        return env
    return env


def _patch_multiprocessing(module: Any) -> None:
    site = adapter_site(module.spawnv_passfds)

    def spawnv_passfds(original: Callable[..., int]) -> Callable[..., int]:
        def hook(path: Any, args: Any, passfds: Any) -> int:
            with _inherited_cause(site) if core.active() else contextlib.nullcontext():
                return original(path, args, passfds)

        return hook

    replace(module, "spawnv_passfds", spawnv_passfds)
