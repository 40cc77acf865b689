"""Locate the files of a run after its workspace was moved or copied, because runs contain absolute paths.

Invariant: only a file below the original workspace folder is relocated, to the same place below the current one, and
only if it exists there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from clew.records.run.directory import FOLDER, RunInfo


def moved(folder: Path, info: RunInfo) -> Callable[[str], str] | None:
    """Return a function from paths of the run in `folder` to current paths; None if the workspace was not moved."""
    now = _workspace(folder)
    if now is None or not os.path.isabs(info.workspace) or os.path.realpath(info.workspace) == str(now):
        return None
    roots = {info.workspace.rstrip(os.sep) + os.sep, os.path.realpath(info.workspace) + os.sep}

    @lru_cache(maxsize=4096)
    def place(path: str) -> str:
        for root in roots:
            if path.startswith(root) and (now / path[len(root) :]).is_file():
                return str(now / path[len(root) :])
        return path

    return place


def _workspace(folder: Path) -> Path | None:
    """Return the workspace whose `.clew` folder contains the run."""
    runs = folder.resolve().parent
    return runs.parent.parent if (runs.name, runs.parent.name) == ("runs", FOLDER) else None
