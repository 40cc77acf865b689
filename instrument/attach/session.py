"""Start, change and end the recording of a running program, for `signal_handler`.

Invariants: probes are in place before the first record and idle after the last one, so a recording starts and ends at
one instant for all functions. After its end, functions have their own code again and the run is readable.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew.instrument import bootstrap, startup
from clew.instrument.adapters.patching import is_placed, resume_hooks, suspend_hooks
from clew.instrument.attach import signal_handler
from clew.instrument.probes.install import import_hook
from clew.instrument.probes.install.switch_live import Switched
from clew.instrument.probes.sites import note
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.core import core
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan
from clew.records.run.directory import RUN_VARIABLE, finish_run, load_run
from clew.records.run.liveness import others_record

_SHOWN = 5
_before: dict[str, str | None] = {}
"""Values of environment variables before the recording started."""
_finishes = False
_ending: str | None = None
"""The run that ends with the process."""


class LiveError(Exception):
    """A request cannot be fulfilled now; the message is for the requesting user."""


def start(run: str) -> dict[str, Any]:
    """Record this process by the plan in the run's folder. Raises `LiveError`."""
    global _finishes
    if core.active():
        raise LiveError(f"it is already recorded into {lifecycle.run_folder()}")
    began = time.perf_counter()
    plan = _plan_of(run)
    switched = import_hook.switch(plan, is_placed)
    resume_hooks()
    bootstrap.install_causality(plan)
    try:
        lifecycle.begin(run, plan)
    except Exception as error:
        _remove_probes()
        raise LiveError(f"it cannot record into {run}: {error}") from None
    _enter_environment(run)
    _note_calls_under_way(switched.under_way, "recording began")
    signal_handler.update_entry(run)
    if not _finishes:
        _finishes = True
        atexit.register(core.to_the_end(_finish_at_exit))
    return _summary(switched, began)


def stop() -> dict[str, Any]:
    """End the recording of this process, which continues. Raises `LiveError`."""
    if not core.active():
        raise LiveError("it is not recorded")
    began = time.perf_counter()
    note("recording ended while the process was running; later events are not recorded")
    run = lifecycle.run_folder()
    lifecycle.stop()
    switched = _remove_probes()
    _leave_environment()
    signal_handler.update_entry()
    if run is not None:
        _finish(run)
    return {**_summary(switched, began), "run": run}


def change() -> dict[str, Any]:
    """Switch to the current plan in the run's folder. Raises `LiveError`."""
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
    note(f"plan changed to {plan.spec or 'another one'} while the process was running")
    _note_calls_under_way(switched.under_way, "the plan was changed")
    return {**_summary(switched, began), "run": run}


def _plan_of(run: str) -> Plan:
    try:
        return bootstrap.read_plan(run)
    except (ClewError, OSError) as error:
        raise LiveError(str(error)) from None


def _remove_probes() -> Switched:
    suspend_hooks()
    return import_hook.switch(None, is_placed)


def _summary(switched: Switched, began: float) -> dict[str, Any]:
    return {
        "functions": switched.functions,
        "under_way": list(switched.under_way),
        "seconds": round(time.perf_counter() - began, 6),
    }


def _note_calls_under_way(functions: Sequence[str], when: str) -> None:
    if functions:
        more = f" and {len(functions) - _SHOWN} more" if len(functions) > _SHOWN else ""
        note(
            f"calls running when {when} keep their old probes: {', '.join(functions[:_SHOWN])}{more}; their next calls follow "
            "the plan"
        )


def _enter_environment(run: str) -> None:
    """Make children that start from now on part of the run."""
    paths = os.environ.get("PYTHONPATH", "")
    variables = {RUN_VARIABLE: run}
    if startup.FOLDER not in paths.split(os.pathsep):
        variables["PYTHONPATH"] = startup.before(paths)
    for name, value in variables.items():
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
    _ending = _ending or (lifecycle.run_folder() if core.active() else None)  # it may be started again
    if _ending is not None:
        lifecycle.end()
        _finish(_ending)


def _finish(run_folder: str) -> None:
    """Write the end of a run that no other process will end: the attaching command has exited by now."""
    with contextlib.suppress(ClewError, OSError):
        run = Path(run_folder)
        info = load_run(run)
        if info.attached and info.finished is None and not others_record(run):
            finish_run(run, info, None, [])
