"""Requests about the session itself: its runs, the selected run and the baseline."""

from __future__ import annotations

from dataclasses import replace

from clew.server.protocol.session import ChooseBaselineParams, RunsParams, RunsResult, SelectRunParams
from clew.server.session.session import Session, Task


def runs(session: Session, params: RunsParams, _task: Task) -> RunsResult:
    """List the runs of the workspace, and on request those that other workspaces record now."""
    from clew.server.relay.discovery import elsewhere

    found = session.runs()
    return replace(found, elsewhere=elsewhere(session.workspace)) if params.elsewhere else found


def select_run(session: Session, params: SelectRunParams, _task: Task) -> RunsResult:
    """Select the run that questions without a run mean."""
    return session.select(params.run)


def choose_baseline(session: Session, params: ChooseBaselineParams, _task: Task) -> RunsResult:
    """Choose the run or revision that lenses and diagnostics compare with."""
    return session.choose_baseline(params.run)
