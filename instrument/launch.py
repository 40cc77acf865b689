"""What a process is given so that it, and every Python process that it starts, records into a run."""

from __future__ import annotations

import os
from pathlib import Path

from clew.instrument import startup
from clew.records.run import CAUSE_VARIABLE, RUN_VARIABLE


def environment(run_folder: Path) -> dict[str, str]:
    """This process's environment, with what starts the recording in every Python process of the run."""
    paths = [str(Path(startup.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    given = {**os.environ, RUN_VARIABLE: str(run_folder), "PYTHONPATH": os.pathsep.join(paths)}
    given.pop(CAUSE_VARIABLE, None)
    return given
