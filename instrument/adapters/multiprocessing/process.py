"""Causality of multiprocessing's processes: `start` to the child's first step, and the child's end to its joiners.

Forked and spawned children are recorded like other children. A child of a fork server is caused by the call that requested
it: the cause travels with the preparation data, and the child begins to record when it has received them. Channels:
"process.start", "process.end".
"""

from __future__ import annotations

import threading
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.adapters.processes import process_waits
from clew.instrument.adapters.processes.child_environment import (
    announce,
    begin_inherited,
    end_inherited,
    ended,
    remember,
    started,
)
from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import Cause, begin_again, children_deferred, defer_children, parse_cause

_CAUSE = "clew_cause"
"""The name in the preparation data; a child that is not recorded ignores unknown names."""


class _Requested(threading.local):
    """The cause of the process that the calling thread requests from a fork server."""

    cause: Cause | None = None


_requested = _Requested()


def install() -> None:
    when_imported("multiprocessing.process", _patch_join)
    when_imported("multiprocessing.util", _patch_util)
    when_imported("multiprocessing.spawn", _patch_spawn)
    when_imported("multiprocessing.forkserver", _patch_server)
    when_imported("multiprocessing.popen_forkserver", _patch_popen)


def _patch_join(module: Any) -> None:
    def joins(process: Any, limit: Any) -> Any:
        popen = process._popen
        if popen is None or popen.returncode is not None:
            return None
        start = getattr(popen, "_clew_start", 0) or started(popen.pid)
        wait = process_waits.begin(process, popen.pid, popen.sentinel, start, process._name, limit)
        return None if wait is None else (popen, wait)

    def joined(token: Any, _result: None) -> None:
        popen, wait = token
        process_waits.over(wait, popen.returncode is not None)

    hook(module.BaseProcess.join, joins, joined, parameters=2)


def _patch_util(module: Any) -> None:
    site = adapter_site(module.spawnv_passfds)

    def begin(path: Any) -> int | None:
        if not core.active():
            return None
        cause = announce(site)
        begin_inherited(cause, path)
        return cause.key

    def over(key: int, pid: int | None) -> None:
        end_inherited()
        if pid:
            remember(pid, key)

    hook(module.spawnv_passfds, begin, over)


def _patch_spawn(module: Any) -> None:
    def prepared(cause: Cause, data: dict[str, Any] | None) -> None:
        if data is not None:
            data[_CAUSE] = str(cause)

    def prepare(data: dict[str, Any]) -> None:
        cause = data.pop(_CAUSE, None)
        if children_deferred():
            begin_again(parse_cause(cause) if cause else None)

    hook(module.get_preparation_data, lambda _name: _requested.cause, prepared)
    hook(module.prepare, prepare)


def _patch_server(module: Any) -> None:
    hook(module.main, lambda _descriptor: defer_children())


def _patch_popen(module: Any) -> None:
    popen_class = module.Popen
    start_site, end_site = adapter_site(popen_class._launch), adapter_site(popen_class.poll)

    def begin(popen: Any) -> bool | None:
        if not core.active():
            return None
        _requested.cause = announce(start_site)
        popen._clew_start = _requested.cause.key
        return True

    def requested(_token: bool, _result: None) -> None:
        _requested.cause = None

    def running(popen: Any) -> Any:
        return popen if popen.returncode is None and hasattr(popen, "_clew_start") else None

    def found(popen: Any, _result: object) -> None:
        if popen.returncode is not None:
            ended(popen._clew_start, end_site)

    hook(popen_class._launch, begin, requested)
    hook(popen_class.poll, running, found)
