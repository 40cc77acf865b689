"""Begins, changes and ends the recording of a program that runs, for `control`.

Invariants: probes are in place before the first record and idle after the last one, so what is recorded begins and ends at
one instant for all functions; ended, functions have their own code again and the run can be read.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew.instrument import bootstrap, control, startup
from clew.instrument.adapters.patching import is_placed, resume_hooks, suspend_hooks
from clew.instrument.probes import import_hook
from clew.instrument.probes.running import Switched
from clew.instrument.probes.sites import note
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.select import core
from clew.records.alive import others_record
from clew.records.errors import ClewError
from clew.records.event import Kind
from clew.records.plan import Plan
from clew.records.run import RUN_VARIABLE, finish_run, load_run

_SHOWN = 5
_before: dict[str, str | None] = {}
"""What environment variables were before recording began."""
_finishes = False
_ending: str | None = None
"""The run that ends with the process."""


class LiveError(Exception):
    """What is asked cannot be done now; the message is for whoever asked."""


def start(run: str) -> dict[str, Any]:
    """Records this process, by the plan in the run's folder. Raises `LiveError`."""
    global _finishes
    if core.active():
        raise LiveError(f"it is recorded already, into {lifecycle.run_folder()}")
    began = time.perf_counter()
    plan = _plan_of(run)
    switched = import_hook.switch(plan, is_placed)
    resume_hooks()
    bootstrap.install_causality(plan)
    try:
        lifecycle.begin(run, plan)
    except Exception as error:
        _take_out()
        raise LiveError(f"it cannot record into {run}: {error}") from None
    _enter_environment(run)
    _note_calls_under_way(switched.under_way, "recording began")
    control.update_entry(run)
    if not _finishes:
        _finishes = True
        atexit.register(core.to_the_end(_finish_at_exit))
    return _told(switched, began)


def stop() -> dict[str, Any]:
    """Ends the recording of this process, which goes on. Raises `LiveError`."""
    if not core.active():
        raise LiveError("it is not recorded")
    began = time.perf_counter()
    note("recording was switched off while the process ran; what it did later is not here")
    run = lifecycle.run_folder()
    lifecycle.stop()
    switched = _take_out()
    _leave_environment()
    control.update_entry()
    if run is not None:
        _finish(run)
    return {**_told(switched, began), "run": run}


def change() -> dict[str, Any]:
    """Goes by the plan that lies in the run's folder now. Raises `LiveError`."""
    run = lifecycle.run_folder()
    if not core.active() or run is None:
        raise LiveError("it is not recorded")
    began = time.perf_counter()
    plan = _plan_of(run)
    switched = import_hook.switch(plan, is_placed)
    for site in switched.gone:
        core.emit(Kind.GAP, site, 0, 0, b"the plan was changed: from here on calls of this function are not recorded")
    bootstrap.install_causality(plan)
    lifecycle.use_plan(plan)
    note(f"the plan was changed while the process ran, to {plan.spec or 'another one'}; it recorded by another before")
    _note_calls_under_way(switched.under_way, "the plan was changed")
    return {**_told(switched, began), "run": run}


def _plan_of(run: str) -> Plan:
    try:
        return bootstrap.read_plan(run)
    except (ClewError, OSError) as error:
        raise LiveError(str(error)) from None


def _take_out() -> Switched:
    suspend_hooks()
    return import_hook.switch(None, is_placed)


def _told(switched: Switched, began: float) -> dict[str, Any]:
    return {
        "functions": switched.functions,
        "under_way": list(switched.under_way),
        "seconds": round(time.perf_counter() - began, 6),
    }


def _note_calls_under_way(functions: Sequence[str], when: str) -> None:
    if functions:
        more = f" and {len(functions) - _SHOWN} more" if len(functions) > _SHOWN else ""
        note(
            f"calls under way when {when} go on as they were: {', '.join(functions[:_SHOWN])}{more}; their next calls are "
            "as the plan says"
        )


def _enter_environment(run: str) -> None:
    """Children that are started from here on belong to the run."""
    paths = os.environ.get("PYTHONPATH", "")
    given = {RUN_VARIABLE: run}
    if startup.FOLDER not in paths.split(os.pathsep):
        given["PYTHONPATH"] = startup.before(paths)
    for name, value in given.items():
        _before[name] = os.environ.get(name)
        os.environ[name] = value


def _leave_environment() -> None:
    _before.setdefault(RUN_VARIABLE, None)  # recorded from its start
    for name, value in _before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _before.clear()


def _finish_at_exit() -> None:
    global _ending
    _ending = _ending or (lifecycle.run_folder() if core.active() else None)  # it may be begun anew
    if _ending is not None:
        lifecycle.end()
        _finish(_ending)


def _finish(run_folder: str) -> None:
    """Writes the end of a run that nobody else will end: a command that attached is gone by now."""
    with contextlib.suppress(ClewError, OSError):
        run = Path(run_folder)
        info = load_run(run)
        if info.attached and info.finished is None and not others_record(run):
            finish_run(run, info, None, [])
