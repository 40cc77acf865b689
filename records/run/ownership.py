"""Determine the owner of runs and recorded processes, which are private to the user who created them.

Without Unix users there is no owner.
"""

from __future__ import annotations

import os
from pathlib import Path

from clew.records.run.directory import FOLDER


def user_name(user: int | None) -> str:
    """Return the name for `sudo -u`; "" when it is unknown."""
    if user is None:
        return ""
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
        return f"#{user}"


def another_users(name: str) -> tuple[Path, str] | None:
    """Return the deepest accessible part of a path in a folder of runs, and its owner, if that is another user."""
    path = Path(name).absolute()
    for part in (path, *path.parents):
        if FOLDER not in part.parts or not hasattr(os, "getuid"):
            return None
        try:
            user = part.stat().st_uid
        except OSError:
            continue  # missing, or in a private folder
        return None if user == os.getuid() else (part, user_name(user))
    return None
