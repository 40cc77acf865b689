"""Which revision of its source a folder is at, and what a name of one stands for, as git says.

Invariant: git is only asked; it takes no lock and writes nothing, its index neither.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.tuples import NamedTuple

_PATIENCE = 20.0
"""Seconds that one question to git may take."""
BEHIND = 200
"""So many commits a baseline may lie behind the one that is asked for."""


class RevisionError(ClewError):
    """There is no such revision, or no git to ask."""


class Revision(NamedTuple):
    commit: str
    """Its full hash."""
    dirty: bool
    """Files that the commit has were changed since; files that git does not know do not count."""


def current(folder: Path) -> Revision | None:
    """What is checked out; None outside of a repository, before its first commit, and without git."""
    try:
        commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return Revision(commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no")))
    except RevisionError:
        return None


def resolve(folder: Path, name: str) -> str:
    """The full hash of a branch, a tag, `HEAD~3`, the beginning of a hash, … Raises `RevisionError`."""
    try:
        # What begins with a minus would be an option.
        return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except RevisionError as error:
        why = str(error) or "a clone without its history, as CI makes them, does not have every branch"
        raise RevisionError(f"{name!r} is no revision that git knows in {folder} ({why})") from None


def ancestors(folder: Path, commit: str) -> list[str]:
    """The commit and those before it, the latest first, along the first parents; at most `BEHIND` and one."""
    try:
        return _git(folder, "rev-list", "--first-parent", f"--max-count={BEHIND + 1}", commit).split()
    except RevisionError:
        return [commit]


def committed(folder: Path, commit: str, path: str) -> bytes | None:
    """A file as a commit has it, as git would check it out; None when it is not in the commit, or outside of `folder`."""
    try:
        # As ./path it is looked for below the folder that git works in.
        where = f"{commit}:./{Path(path).relative_to(folder).as_posix()}"
        return _asked(folder, "cat-file", "--filters", where)
    except (RevisionError, ValueError):
        return None


def changed(file: Path) -> int | None:
    """When the version of a file that is checked out was committed, in seconds since 1970; None where it is not the last of all
    branches, was changed since, or git does not know it."""
    try:
        if _git(file.parent, "status", "--porcelain", "--ignored", "--", file.name):
            return None
        here, anywhere = (
            _git(file.parent, "log", "-1", *which, "--format=%ct %H", "--", file.name) for which in ((), ("--all",))
        )
    except RevisionError:
        return None
    return int(here.split()[0]) if here and here == anywhere else None


def _git(folder: Path, *words: str) -> str:
    """What git prints. Raises `RevisionError` with what it says against it."""
    return _asked(folder, *words).decode("utf-8", "replace").strip()


def _asked(folder: Path, *words: str) -> bytes:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise RevisionError("git is not installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RevisionError(f"git does not answer: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise RevisionError(said.removeprefix("fatal: ").partition("\n")[0])
    return done.stdout
