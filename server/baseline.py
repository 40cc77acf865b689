"""What runs are compared with: chosen by the user and remembered with the workspace, else as the settings say.

Invariant: nothing is compared unless somebody chose a baseline or set one.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from clew.records.errors import RunError
from clew.records.revision import RevisionError
from clew.records.run import FOLDER, find_run, load_run
from clew.records.sessions import find_sessions, session_runs

FILE = "baseline"
"""In `.clew`: a run's id, or a revision; one line."""
MOST = 3
"""Test sessions of a revision that count, the newest; with the run that is compared they stay open."""


@dataclass(frozen=True)
class Baseline:
    name: str
    """For people."""
    runs: tuple[str, ...]
    """By id, one of another workspace by its folder; the newest first."""
    key: str
    """What it is remembered by."""


def find(workspace: Path, which: str, without: str = "") -> Baseline:
    """A run by id, name or folder, else the test sessions of a revision (a branch, a tag, the beginning of a commit) but for
    the run `without`. Raises `RunError`."""
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
    """What was chosen, "" when nothing was."""
    try:
        return (workspace / FOLDER / FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def remember(workspace: Path, which: str) -> None:
    """ "" forgets the choice. Raises `RunError` when it cannot be written."""
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
        raise RunError(f"{file}: the baseline cannot be remembered there ({error.strerror})") from None
