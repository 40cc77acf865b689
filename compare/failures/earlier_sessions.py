"""Choose earlier sessions of the workspace: the last one in which a test passed, and the one to compare with."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from clew.compare.sessions.test_units import PASSED
from clew.records.run import test_outcomes
from clew.records.run.directory import RunInfo, disk_bytes, list_runs
from clew.records.run.test_sessions import SHORT

MOST_SESSIONS = 50
"""The most earlier sessions that are searched."""
ABOUT = 0.8
"""The share of passing tests from which one session has about as many as another."""
MOST_BYTES = 256 << 20
"""The size of a run's records beyond which it is not read for its passing tests."""


class Session(NamedTuple):
    """An earlier session."""

    folder: Path
    info: RunInfo

    @property
    def title(self) -> str:
        return title(self.info)


def title(info: RunInfo) -> str:
    """Return the commit of a session, else its run."""
    if info.commit:
        return f"commit {info.commit[:SHORT]}{', with changes' if info.dirty else ''}"
    return f"run {info.id}"


def last_passed(folder: Path, info: RunInfo, node: str) -> Session | None:
    """Return the newest earlier session of the workspace in which a test passed, None if none is known."""
    for session, outcomes in _earlier(folder, info):
        if outcomes.get(node) == PASSED:
            return session
    return None


def comparable(folder: Path, info: RunInfo, failed: Collection[str]) -> Session | None:
    """Return the earlier session whose passing tests tell most about some failed ones: in which most of those passed, and of
    such ones the newest that has about as many passing tests as any. None if no session of a sensible size has any.
    """
    found = []
    for session, outcomes in _earlier(folder, info):
        passed = {node for node, outcome in outcomes.items() if outcome == PASSED}
        if passed and disk_bytes(session.folder) <= MOST_BYTES:
            found.append((len(passed.intersection(failed)), len(passed), session))
    most = max((shared for shared, _, _ in found), default=0)
    found = [each for each in found if each[0] == most]
    size = max((passed for _, passed, _ in found), default=0)
    return next((session for _, passed, session in found if passed >= ABOUT * size), None)


def _earlier(folder: Path, info: RunInfo) -> Iterator[tuple[Session, dict[str, str]]]:
    """Yield the finished earlier sessions whose outcomes are known, newest first."""
    sessions = (
        Session(other, its)
        for other, its in list_runs(Path(info.workspace))
        if isinstance(its, RunInfo) and its.tests and its.finished is not None and other != folder
        and its.started < info.started
    )  # fmt: skip
    for session in islice(sessions, MOST_SESSIONS):
        outcomes = test_outcomes.load(session.folder)
        if outcomes is not None:
            yield session, outcomes
