"""The runs of test sessions, by the commit whose tests they ran: which there are, what one is compared with, which are kept.

Invariant: only runs of test sessions are ever removed here, and none that may still be recorded.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from clew.records import revision
from clew.records.alive import is_abandoned
from clew.records.run import FOLDER, RunInfo, list_runs, remove_run
from clew.records.tuples import NamedTuple

SHORT = 9
"""Digits of a commit that are shown."""
NAMED = 5
_WHOLE = (0, 1)
"""Exit codes of pytest when the tests ran, whether they passed or not."""

SessionRun = tuple[Path, RunInfo]


class Chosen(NamedTuple):
    """Sessions that a name stands for."""

    name: str
    runs: list[SessionRun]
    """The newest first."""
    behind: int = 0
    """So many commits before the one that was asked for, which has no runs."""

    @property
    def commit(self) -> str:
        return self.runs[0][1].commit

    @property
    def title(self) -> str:
        """`main (1a2b3c4d5)`; with how far back that is, if it is."""
        info = self.runs[0][1]
        if not info.commit:
            return self.name
        at = info.commit[:SHORT] + (", changed" if info.dirty else "")
        if self.behind:
            at += f", {self.behind} commit{'s' * (self.behind > 1)} before: it has no run itself"
        return at if self.name in ("", info.commit) else f"{self.name} ({at})"


def session_runs(workspace: Path) -> list[SessionRun]:
    """Sessions that went to their end, the newest first."""
    return [
        (folder, info)
        for folder, info in list_runs(workspace)
        if isinstance(info, RunInfo) and info.tests and info.exit_code in _WHOLE
    ]


def find_sessions(workspace: Path, name: str, *, without: Collection[str] = ()) -> Chosen:
    """The sessions of a revision, or the one of an id. Of a revision those without changes; if it has none, those of the
    nearest one before it. "" stands for the newest session. Runs of the ids `without` do not count. Raises `RevisionError`."""
    runs = [run for run in session_runs(workspace) if run[1].id not in without]
    if not name:
        if not runs:
            raise revision.RevisionError(
                f"no test session is kept in {workspace / FOLDER}; record one: `pytest --clew`"
            )
        return Chosen("", runs[:1])
    for run in runs:
        if run[1].id == name:
            return Chosen(name, [run])
    commit = revision.resolve(workspace, name)
    clean = [run for run in runs if not run[1].dirty and run[1].commit]
    known = {info.commit for _, info in clean}
    for behind, candidate in enumerate(revision.ancestors(workspace, commit)):
        if candidate in known:
            return Chosen(name, [run for run in clean if run[1].commit == candidate], behind)
    commits = list(dict.fromkeys(info.commit[:SHORT] for _, info in clean))
    there = f"; there are sessions of {', '.join(commits[:NAMED])}{', …' if len(commits) > NAMED else ''}" * bool(
        commits
    )
    raise revision.RevisionError(
        f"no test session of {name} ({commit[:SHORT]}) without changes is kept in {workspace / FOLDER}, nor of the "
        f"{revision.BEHIND} commits before it{there}; check it out and record one: `pytest --clew`"
    )


def keep_sessions(workspace: Path, most: int) -> list[str]:
    """Removes all sessions but the newest `most` without changes and the newest `most` with; the ids of those removed."""
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
        from clew.records import sources  # which the beginning of a session does without

        sources.prune(workspace)
    return removed
