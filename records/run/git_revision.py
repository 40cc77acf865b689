"""Ask git for the source revision of a folder, and resolve names of revisions.

Invariant: git only reads; it takes no lock and writes nothing, including its index.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple

_TIMEOUT_SECONDS = 20.0
"""Timeout of one git command in seconds."""
MAX_DISTANCE = 200
"""Maximum number of commits between a revision and its baseline."""


class RevisionError(ClewError):
    """The revision does not exist, or git is missing."""


class Revision(NamedTuple):
    commit: str
    """Full hash of the commit."""
    dirty: bool
    """True if files of the commit were modified; untracked files do not count."""


def current(folder: Path) -> Revision | None:
    """Return the checked-out revision; None outside of a repository, before its first commit, and without git."""
    try:
        commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return Revision(commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no")))
    except RevisionError:
        return None


def resolve(folder: Path, name: str) -> str:
    """Return the full hash of a branch, a tag, `HEAD~3`, an abbreviated hash, … Raise `RevisionError` if it is unknown."""
    try:
        # A name with a leading minus would be an option.
        return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except RevisionError as error:
        why = str(error) or "a clone without its history, as CI makes them, does not have every branch"
        raise RevisionError(f"git cannot find the revision {name!r} in {folder} ({why})") from None


def ancestors(folder: Path, commit: str) -> list[str]:
    """Return the commit and up to `MAX_DISTANCE` predecessors along the first parents, the latest first."""
    try:
        return _git(folder, "rev-list", "--first-parent", f"--max-count={MAX_DISTANCE + 1}", commit).split()
    except RevisionError:
        return [commit]


def committed(folder: Path, commit: str, path: str) -> bytes | None:
    """Return a file of a commit, as git would check it out; None when it is not in the commit, or outside of `folder`."""
    try:
        # The prefix ./ makes the path relative to git's working directory.
        where = f"{commit}:./{Path(path).relative_to(folder).as_posix()}"
        return _output(folder, "cat-file", "--filters", where)
    except (RevisionError, ValueError):
        return None


def changed(file: Path) -> int | None:
    """Return when the checked-out version of a file was committed, in seconds since 1970.

    Return None if it is not the latest of all branches, was modified since, or git does not know it.
    """
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
    """Return the output of git as text. Raise `RevisionError` with git's error message."""
    return _output(folder, *words).decode("utf-8", "replace").strip()


def _output(folder: Path, *words: str) -> bytes:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise RevisionError("git is not installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RevisionError(f"git does not answer: {error}") from None
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise RevisionError(message.removeprefix("fatal: ").partition("\n")[0])
    return done.stdout
