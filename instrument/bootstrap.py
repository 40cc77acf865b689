"""Start recording in this process as the environment requests: recorder, probes, adapters, log capture.

Invariant: the program runs even if a part fails. One line on stderr reports a process that is not recorded, or a note in
the trace names the missing part.
"""

from __future__ import annotations

import importlib
import os
import sys

from clew.instrument import adapters
from clew.instrument.attach import signal_handler
from clew.instrument.probes.sites import note
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.core import core
from clew.instrument.recorder.stderr_notice import complain
from clew.records.errors import ClewError
from clew.records.plan.match import may_wrap
from clew.records.plan.plan import Plan, load
from clew.records.run.directory import PLAN_FILE, RUN_VARIABLE

_HELPERS = ("from multiprocessing.resource_tracker import main",)
"""Helper programs of the standard library, whose own causality is not useful."""

_installed: set[str] = set()
"""Parts that stay installed, whether in use or not."""


def start_from_environment() -> bool:
    """Start recording if `CLEW_RUN` names a run. Return True if this process is recorded."""
    run = os.environ.get(RUN_VARIABLE)
    if any(word.startswith(_HELPERS) for word in sys.orig_argv):
        return False
    if run or signal_handler.is_requested():
        signal_handler.control()
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
    install("functions", "clew.instrument.probes.install.import_hook", plan)
    if any(map(may_wrap, plan.rules)):
        install("functions written in C", "clew.instrument.probes.install.wrap_c_functions", plan)
    install_causality(plan)
    lifecycle.take_streams()  # an adapter that is installed later would have missed the first bytes
    # This part inspects the start of every module until the script comes, so it is installed after all of our imports.
    install("the main script", "clew.instrument.probes.install.scripts")
    signal_handler.update_entry(run)
    return True


def read_plan(run: str) -> Plan:
    """Return the plan in the folder of a run. Raise `ClewError` or `OSError`."""
    name = os.path.join(run, PLAN_FILE)
    with open(name, encoding="utf-8") as file:
        return load(file.read(), name)


def install_causality(plan: Plan) -> None:
    """Install all parts except the functions' probes, each separately and once, so that one failure leaves the others."""
    roots = tuple({rule.target.root for rule in plan.rules if rule.target.root})
    install("lines of the program", "clew.instrument.probes.line_sites", roots)
    for name in plan.adapters:
        if name not in _installed:
            _installed.add(name)
            install(f"the causality of {name}", f"clew.instrument.adapters.{adapters.MODULES.get(name, name)}")
    if plan.writes or "stored" in _installed:
        _installed.add("stored")
        install("rows and keys", "clew.instrument.adapters.databases.stored_accesses", plan.writes)
    if "unfollowed" not in _installed:
        _installed.add("unfollowed")
        install("what is not followed", "clew.instrument.adapters.facts.unfollowed")
    if "end" not in _installed:
        _installed.add("end")
        install("an end by os._exit", "clew.instrument.exit_hook")
    if plan.logs is not None:
        install("log lines", "clew.instrument.logs", plan.logs)


def install(part: str, module: str, *arguments: object) -> None:
    """Call `install` of a module. If it fails, note in the trace that `part` is not recorded."""
    try:
        importlib.import_module(module).install(*arguments)
    except Exception as error:
        note(f"{part}: not recorded ({type(error).__name__}: {error})")


def _complain(why: str) -> None:
    complain(f"process {os.getpid()} is not recorded: {why}")
