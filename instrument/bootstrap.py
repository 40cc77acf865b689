"""Starts recording in this process as the environment says: recorder, probes, adapters, log capture.

Invariant: whatever fails, the program runs; one line on stderr says that it is not recorded, or a note in the trace what
part is missing.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from clew.instrument.probes.sites import note
from clew.instrument.recorder import lifecycle
from clew.instrument.recorder.complaint import complain
from clew.instrument.recorder.select import core
from clew.records.errors import ClewError
from clew.records.plan import Plan, load
from clew.records.run import PLAN_FILE, RUN_VARIABLE

_HELPERS = ("from multiprocessing.resource_tracker import main",)
"""Programs of the standard library that only serve others: their own causality is of no use to anyone."""


def start_from_environment() -> bool:
    """Starts recording if `CLEW_RUN` names a run. True when this process is recorded."""
    run = os.environ.get(RUN_VARIABLE)
    if not run or core.active() or any(word.startswith(_HELPERS) for word in sys.orig_argv):
        return core.active()
    try:
        file = Path(run) / PLAN_FILE
        plan = load(file.read_text(encoding="utf-8"), str(file))
        if not lifecycle.start(Path(run), plan):
            return False
    except ClewError as error:
        _complain(str(error))
        return False
    except Exception as error:
        _complain(f"{type(error).__name__}: {error}")
        return False
    _install(plan)
    return True


def _install(plan: Plan) -> None:
    """Each part by itself: without one of them the others still record."""
    parts: list[tuple[str, str, tuple[object, ...]]] = [
        ("functions", "clew.instrument.probes.import_hook", (plan,)),
        ("the main script", "clew.instrument.probes.entry", ()),
        ("an end by os._exit", "clew.instrument.ending", ()),
    ]
    parts += [(f"the causality of {name}", f"clew.instrument.adapters.{name}", ()) for name in plan.adapters]
    if plan.logs is not None:
        parts.append(("log lines", "clew.instrument.logs", (plan.logs,)))
    for what, module, arguments in parts:
        try:
            importlib.import_module(module).install(*arguments)
        except Exception as error:
            note(f"{what}: not recorded ({type(error).__name__}: {error})")


def _complain(why: str) -> None:
    complain(f"process {os.getpid()} is not recorded: {why}")
