"""The environment that makes a process, and every Python process that it starts, record into a run."""

from __future__ import annotations

import os
from pathlib import Path

from clew.instrument import startup
from clew.records.attach.registry import CONTROL_VARIABLE
from clew.records.run.directory import CAUSE_VARIABLE, RUN_VARIABLE


def environment(run_folder: Path | None) -> dict[str, str]:
    """Return this process's environment with the variables that make every Python process record into the run.

    Without a run, the variables make every Python process ready for `clew attach`.
    """
    paths = os.environ.get("PYTHONPATH", "")
    if paths.split(os.pathsep)[0] != startup.FOLDER:
        paths = startup.before(paths)
    variables = {**os.environ, "PYTHONPATH": paths}
    for name in (CAUSE_VARIABLE, RUN_VARIABLE):
        variables.pop(name, None)
    variables.update({RUN_VARIABLE: str(run_folder)} if run_folder else {CONTROL_VARIABLE: "1"})
    return variables
