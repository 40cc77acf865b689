"""Where the files of a run are now, if its workspace was moved or copied since: runs name files by absolute paths.

Invariant: only a file below the workspace's folder of then is looked for, at the same place below its folder of now, and only
what is there is named anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from clew.records.run import FOLDER, RunInfo


def moved(folder: Path, info: RunInfo) -> Callable[[str], str] | None:
    """Gives the present path of a file that the run in `folder` names; None where its workspace is where it was."""
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
    """In whose `.clew` folder it is."""
    runs = folder.resolve().parent
    return runs.parent.parent if (runs.name, runs.parent.name) == ("runs", FOLDER) else None
