"""The run that others are compared with: chosen by the user and remembered with the workspace, else as the setting says.

Invariant: nothing is compared unless somebody chose a baseline or set one.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from clew.records.errors import RunError
from clew.records.run import FOLDER

FILE = "baseline"
"""In `.clew`: the id of the run, one line."""


def remembered(workspace: Path) -> str:
    """The id of the run that was chosen, "" when none was."""
    try:
        return (workspace / FOLDER / FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def remember(workspace: Path, run: str) -> None:
    """ "" forgets the choice. Raises `RunError` when it cannot be written."""
    file = workspace / FOLDER / FILE
    try:
        if run:
            half = file.with_name(f"{FILE}.{os.getpid()}")
            half.write_text(run + "\n", encoding="utf-8")
            half.replace(file)
        else:
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
    except OSError as error:
        raise RunError(f"{file}: the baseline cannot be remembered there ({error.strerror})") from None
