"""Which event wrote a line of a log file.

A file is a log file for an editor by its name, `.log`; a target in anything that is no Python source is a line of a log. The
run of a line is the one that was recording at the line's time, whichever is selected; a line without a time is looked for in
the selected one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from clew.graph.ops.moments import NEAR_NS, Moment, moments
from clew.records.run import RunInfo, list_runs
from clew.server.session import Session, Task

if TYPE_CHECKING:
    from clew.graph.query import Run


class WrittenLine(NamedTuple):
    run: Run
    event: int


def is_log(path: str) -> bool:
    """Is this surely a log, of which an editor shows what wrote it?"""
    return path.endswith(".log")


def is_source(path: str) -> bool:
    return path.endswith((".py", ".pyw", ".pyi"))


def find(session: Session, line: str, task: Task, which: str = "") -> WrittenLine | None:
    """The event that wrote a line: of the run `which`, else of one that was recording at the line's time, the selected one
    first; of the selected one when the line has no time."""
    from clew.graph.ops.find import find_log_line

    if not line.strip() or not session.has_runs():
        return None
    possible = moments(line)
    for folder in [which] if which else _runs_at(session, possible):
        run = session.open(folder, task)
        event = find_log_line(run.graph, line)
        # Another run of the same program has written the same words at another time.
        if event is not None and (not possible or any(moment.near(run.graph.wall_ns(event)) for moment in possible)):
            return WrittenLine(run, int(event))
    return None


def _runs_at(session: Session, possible: list[Moment]) -> list[str]:
    """Folders of the runs that may have written a line: the selected one first, but for those that surely recorded then."""
    selected = session.folder()
    runs = [(folder, info) for folder, info in list_runs(session.workspace) if isinstance(info, RunInfo)]
    runs.sort(key=lambda run: run[0] != selected)

    def recorded(info: RunInfo, margin: int) -> bool:
        end = info.finished or time.time_ns()
        return any(info.started - margin <= moment.last and moment.first <= end + margin for moment in possible)

    surely = [folder for folder, info in runs if recorded(info, 0)]
    perhaps = [folder for folder, info in runs if recorded(info, NEAR_NS)]
    return [str(folder) for folder in dict.fromkeys([*surely, selected, *perhaps])]
