"""Starts recording in this process as the environment says: recorder, probes, adapters, log capture.

Invariant: whatever fails, the program runs; one line on stderr says that it is not recorded, or a note in the trace what
part is missing.
"""

from __future__ import annotations

import importlib
import os
import sys

from clew.instrument import control
from clew.instrument.probes.sites import note
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.complaint import complain
from clew.instrument.recorder.select import core
from clew.records.errors import ClewError
from clew.records.match import may_wrap
from clew.records.plan import Plan, load
from clew.records.run import PLAN_FILE, RUN_VARIABLE

_HELPERS = ("from multiprocessing.resource_tracker import main",)
"""Programs of the standard library that only serve others: their own causality is of no use to anyone."""

_installed: set[str] = set()
"""Parts that are there to stay, in use or not."""


def start_from_environment() -> bool:
    """Starts recording if `CLEW_RUN` names a run. True when this process is recorded."""
    run = os.environ.get(RUN_VARIABLE)
    if any(word.startswith(_HELPERS) for word in sys.orig_argv):
        return False
    if run or control.wanted():
        control.control()
    if not run or core.active():
        return core.active()
    try:
        plan = read_plan(run)
        if not lifecycle.start(run, plan):
            return False
    except ClewError as error:
        _complain(str(error))
        return False
    except Exception as error:
        _complain(f"{type(error).__name__}: {error}")
        return False
    install("functions", "clew.instrument.probes.import_hook", plan)
    if any(map(may_wrap, plan.rules)):
        install("functions written in C", "clew.instrument.probes.wrapper", plan)
    install_causality(plan)
    lifecycle.given_streams()  # whoever would ask for them later has missed the first bytes
    # What waits for the script looks at the start of every module, so it comes after all of ours.
    install("the main script", "clew.instrument.probes.entry")
    control.update_entry(run)
    return True


def read_plan(run: str) -> Plan:
    """The plan of a run, from its folder. Raises `ClewError` and `OSError`."""
    name = os.path.join(run, PLAN_FILE)
    with open(name, encoding="utf-8") as file:
        return load(file.read(), name)


def install_causality(plan: Plan) -> None:
    """All but the functions' probes, each part by itself and once: without one of them the others still record."""
    for name in plan.adapters:
        if name not in _installed:
            _installed.add(name)
            install(f"the causality of {name}", f"clew.instrument.adapters.{name}")
    if "end" not in _installed:
        _installed.add("end")
        install("an end by os._exit", "clew.instrument.ending")
    if plan.logs is not None:
        install("log lines", "clew.instrument.logs", plan.logs)


def install(what: str, module: str, *arguments: object) -> None:
    try:
        importlib.import_module(module).install(*arguments)
    except Exception as error:
        note(f"{what}: not recorded ({type(error).__name__}: {error})")


def _complain(why: str) -> None:
    complain(f"process {os.getpid()} is not recorded: {why}")
