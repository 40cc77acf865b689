"""The environment that makes a process, and every Python process that it starts, record into a run."""

from __future__ import annotations

import os
from pathlib import Path

from clew.instrument import startup
from clew.records.attach.registry import CONTROL_VARIABLE
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE


def environment(run_folder: Path | None) -> dict[str, str]:
    """This process's environment, with what starts the recording in every Python process of the run; without a run, with
    what makes every Python process ready to be attached to."""
    paths = os.environ.get("PYTHONPATH", "")
    if paths.split(os.pathsep)[0] != startup.FOLDER:
        paths = startup.before(paths)
    given = {**os.environ, "PYTHONPATH": paths}
    for name in (CAUSE_VARIABLE, RUN_VARIABLE):
        given.pop(name, None)
    given.update({RUN_VARIABLE: str(run_folder)} if run_folder else {CONTROL_VARIABLE: "1"})
    return given
