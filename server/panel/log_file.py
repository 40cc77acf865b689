"""Which event wrote a line of a log file.

A file is a log file by its name, `.log`. The run of a line is the one that was recording at the line's time, whichever is
selected; a line without a time is looked for in the selected one.
"""

from __future__ import annotations

import calendar
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from clew.records.run import RunInfo, list_runs
from clew.server.session import Session, Task

if TYPE_CHECKING:
    from clew.graph.query import Run

MAX_WIDTH = 2000
"""Characters of a line that are looked at."""
TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
MARGIN_NS = 2_000_000_000
"""A handler may take the time of a line later than the event was recorded."""


class WrittenLine(NamedTuple):
    run: Run
    event: int


def is_log(path: str) -> bool:
    return path.endswith(".log")


def find(session: Session, line: str, task: Task, which: str = "") -> WrittenLine | None:
    """The event that wrote a line: of the run `which`, else of one that was recording at the line's time, the selected one
    first; of the selected one when the line has no time."""
    from clew.graph.ops.find import find_log_line

    if not line.strip() or not session.has_runs():
        return None
    moments = _moments(line)
    for folder in [which] if which else _runs_at(session, moments):
        run = session.open(folder, task)
        event = find_log_line(run.graph, line)
        # Another run of the same program has written the same words at another time.
        if event is not None and (not moments or any(moment.near(run.graph.wall_ns(event)) for moment in moments)):
            return WrittenLine(run, int(event))
    return None


class _Moment(NamedTuple):
    """What the time at a line's beginning can mean: from `first` up to `last`, in wall-clock nanoseconds."""

    first: int
    last: int

    def near(self, at: int) -> bool:
        return self.first - MARGIN_NS <= at <= self.last + MARGIN_NS


def _moments(line: str) -> list[_Moment]:
    """In local time, as `logging` writes it unless told otherwise, and in UTC; none for a line without a time."""
    stamp = TIMESTAMP.search(line[:MAX_WIDTH])
    if stamp is None:
        return []
    fraction = stamp[3] or ""
    try:
        moment = time.strptime(f"{stamp[1]} {stamp[2]}", "%Y-%m-%d %H:%M:%S")
        seconds = dict.fromkeys((int(time.mktime(moment)), calendar.timegm(moment)))
    except (ValueError, OverflowError):
        return []
    begin = int(fraction.ljust(9, "0"))
    return [_Moment(at * 10**9 + begin, at * 10**9 + begin + 10 ** (9 - len(fraction)) - 1) for at in seconds]


def _runs_at(session: Session, moments: list[_Moment]) -> list[str]:
    """Folders of the runs that may have written a line: the selected one first, but for those that surely recorded then."""
    selected = session.folder()
    runs = [(folder, info) for folder, info in list_runs(session.workspace) if isinstance(info, RunInfo)]
    runs.sort(key=lambda run: run[0] != selected)

    def recorded(info: RunInfo, margin: int) -> bool:
        end = info.finished or time.time_ns()
        return any(info.started - margin <= moment.last and moment.first <= end + margin for moment in moments)

    surely = [folder for folder, info in runs if recorded(info, 0)]
    perhaps = [folder for folder, info in runs if recorded(info, MARGIN_NS)]
    return [str(folder) for folder in dict.fromkeys([*surely, selected, *perhaps])]
