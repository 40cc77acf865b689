"""Manage the runs of test sessions by commit: list them, choose the baseline of a comparison, and remove old ones.

Invariant: only runs of test sessions are ever removed, and none that may still be recorded.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from clew.records.fast_namedtuple import NamedTuple
from clew.records.run import git_revision
from clew.records.run.directory import FOLDER, RunInfo, list_runs, remove_run
from clew.records.run.liveness import is_abandoned

SHORT = 9
"""Displayed digits of a commit."""
NAMED = 5
_WHOLE = (0, 1)
"""Exit codes of pytest when the tests ran, whether they passed or not."""

SessionRun = tuple[Path, RunInfo]


class Chosen(NamedTuple):
    """The sessions that a name resolves to."""

    name: str
    runs: list[SessionRun]
    """Runs, newest first."""
    distance: int = 0
    """Number of commits from these runs to the requested commit, which has no runs."""

    @property
    def commit(self) -> str:
        return self.runs[0][1].commit

    @property
    def title(self) -> str:
        """Return `main (1a2b3c4d5)`, with the distance in commits if it is not 0."""
        info = self.runs[0][1]
        if not info.commit:
            return self.name
        at = info.commit[:SHORT] + (", changed" if info.dirty else "")
        if self.distance:
            at += f", {self.distance} commit{'s' * (self.distance > 1)} earlier, the nearest one with a session"
        return at if self.name in ("", info.commit) else f"{self.name} ({at})"


def session_runs(workspace: Path) -> list[SessionRun]:
    """Return completed sessions, newest first."""
    return [
        (folder, info)
        for folder, info in list_runs(workspace)
        if isinstance(info, RunInfo) and info.tests and info.exit_code in _WHOLE
    ]


def find_sessions(workspace: Path, name: str, *, without: Collection[str] = ()) -> Chosen:
    """Return the sessions of a revision, the session with an id, or for "" the newest session.

    For a revision, only sessions without uncommitted changes count; if it has none, return those of the nearest earlier
    commit. Runs with ids in `without` are excluded. Raise `RevisionError` if no session is found.
    """
    runs = [run for run in session_runs(workspace) if run[1].id not in without]
    if not name:
        if not runs:
            raise git_revision.RevisionError(
                f"no test session found in {workspace / FOLDER}; record one with `pytest --clew`"
            )
        return Chosen("", runs[:1])
    for run in runs:
        if run[1].id == name:
            return Chosen(name, [run])
    commit = git_revision.resolve(workspace, name)
    clean = [run for run in runs if not run[1].dirty and run[1].commit]
    known = {info.commit for _, info in clean}
    for distance, candidate in enumerate(git_revision.ancestors(workspace, commit)):
        if candidate in known:
            return Chosen(name, [run for run in clean if run[1].commit == candidate], distance)
    commits = list(dict.fromkeys(info.commit[:SHORT] for _, info in clean))
    there = f"; known sessions: {', '.join(commits[:NAMED])}{', …' if len(commits) > NAMED else ''}" * bool(commits)
    raise git_revision.RevisionError(
        f"no test session of {name} ({commit[:SHORT]}) without changes found in {workspace / FOLDER}, nor of the "
        f"{git_revision.MAX_DISTANCE} commits before it{there}; check it out and record one with `pytest --clew`"
    )


def keep_sessions(workspace: Path, most: int) -> list[str]:
    """Remove old sessions: keep the newest `most` without and the newest `most` with uncommitted changes.

    Return the ids of the removed runs.
    """
    seen = {True: 0, False: 0}
    removed = []
    for folder, info in list_runs(workspace):
        if not isinstance(info, RunInfo) or not info.tests:
            continue
        seen[info.dirty] += 1
        if seen[info.dirty] > most and (info.finished is not None or is_abandoned(folder, info)):
            remove_run(folder)
            removed.append(info.id)
    if removed:
        from clew.records.run import source_snapshots  # not needed to start a session

        source_snapshots.prune(workspace)
    return removed
