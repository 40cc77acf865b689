"""The baseline of comparisons: the user's choice, saved in the workspace, else the value of the settings.

Invariant: nothing is compared without a chosen or configured baseline.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from clew.records.errors import RunError
from clew.records.run.directory import FOLDER, find_run, load_run
from clew.records.run.git_revision import RevisionError
from clew.records.run.test_sessions import find_sessions, session_runs

FILE = "baseline"
"""The file in `.clew` with one line: the id of a run, or a revision."""
MOST = 3
"""Maximum number of test sessions of a revision that count, the newest ones; they stay open together with the compared
run."""


@dataclass(frozen=True)
class Baseline:
    name: str
    """The name for display."""
    runs: tuple[str, ...]
    """Run ids, newest first; a run of another workspace is given by its folder."""
    key: str
    """The text under which the choice is saved."""


def find(workspace: Path, which: str, without: str = "") -> Baseline:
    """Find a run by id, name or folder, else the test sessions of a revision (a branch, a tag, or a prefix of a commit)
    except the run `without`. Raises `RunError`."""
    try:
        folder = find_run(workspace, which)
    except RunError as error:
        if not session_runs(workspace):
            raise
        try:
            chosen = find_sessions(workspace, which, without=[without])
        except RevisionError as other:
            raise RunError(f"{error}; as a revision: {other}") from None
        return Baseline(which, tuple(info.id for _, info in chosen.runs[:MOST]), which)
    run = folder.name if folder.parent == workspace / FOLDER / "runs" else str(folder)
    return Baseline(load_run(folder).name, (run,), run)


def remembered(workspace: Path) -> str:
    """Return the saved choice, or ""."""
    try:
        return (workspace / FOLDER / FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def remember(workspace: Path, which: str) -> None:
    """Save the choice; "" removes it. Raises `RunError` if the file cannot be written."""
    file = workspace / FOLDER / FILE
    try:
        if which:
            half = file.with_name(f"{FILE}.{os.getpid()}")
            half.write_text(which + "\n", encoding="utf-8")
            half.replace(file)
        else:
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
    except OSError as error:
        raise RunError(f"{file}: the baseline cannot be saved there ({error.strerror})") from None
