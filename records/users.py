"""Whose something is: runs and recorded processes are private to the user who made them. Without Unix's users, nobody's."""

from __future__ import annotations

import os
from pathlib import Path

from clew.records.run import FOLDER


def user_name(user: int | None) -> str:
    """As `sudo -u` takes it; "" when it is not known."""
    if user is None:
        return ""
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
        return f"#{user}"


def another_users(name: str) -> tuple[Path, str] | None:
    """Of a path within a folder of runs what can be looked at and is nearest to its end, and whose it is, if another user's."""
    path = Path(name).absolute()
    for part in (path, *path.parents):
        if FOLDER not in part.parts or not hasattr(os, "getuid"):
            return None
        try:
            user = part.stat().st_uid
        except OSError:
            continue  # it is not there, or in a folder that is private
        return None if user == os.getuid() else (part, user_name(user))
    return None
