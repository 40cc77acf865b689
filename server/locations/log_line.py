"""Finds the event that wrote a log line.

A text is a log by its name, by its editor language, or by its lines; a target in a file without Python source is a log
line. The run of a line is the one that was recording at the line's time, whichever is selected. A line without a time
is searched in the selected run.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

from clew.graph.logs.timestamps import NEAR_NS, stamps
from clew.records.run.directory import RunInfo, list_runs
from clew.server.session.session import Session, Task

if TYPE_CHECKING:
    from clew.graph.logs.lines import Lines
    from clew.graph.logs.match_line import Found
    from clew.query.api import Run

SURELY = re.compile(r"\.log(?:[.-][\w-]+)?$", re.IGNORECASE)
"""Matches `server.log`, `server.log.1`, `server.log-20261121`."""
PERHAPS = re.compile(r"\.(?:out|err|txt)(?:\.\d+)?$", re.IGNORECASE)
"""Matches files that are logs if their lines look like log lines."""
SAMPLE, LEAST_SHARE = 60, 0.3
"""The number of lines to inspect, and the share of them that must have a time, a level or an id."""
TRACEBACK = 200
"""Maximum number of traceback lines between a line and the log line that it belongs to."""
_LEVEL = re.compile(r"\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|\[clew [0-9a-f]{16}\.")
_OF_TRACEBACK = re.compile(
    r"\s+\S|Traceback \(most recent call last\):|[\w.]+(?:Error|Exception|Warning|Interrupt|Exit|Group)\b|"
    r"During handling of the above|The above exception was|\s*$"
)


class WrittenLine(NamedTuple):
    run: Run
    event: int
    found: Found
    """All candidates, the selected event first."""
    line: str
    """The text that was searched. For a line of a traceback it is the log line that the traceback belongs to."""


def is_log_name(path: str) -> bool:
    """Return whether the file is certainly a log, for which an editor shows the writing events."""
    return SURELY.search(path) is not None


def is_source(path: str) -> bool:
    return path.endswith((".py", ".pyw", ".pyi"))


def looks_like_log(lines: Lines) -> bool:
    """Return whether enough of the first lines have a time and a level."""
    seen = matching = 0
    for row in range(min(len(lines), 4 * SAMPLE)):
        text = lines.line(row)
        if not text.strip():
            continue
        seen += 1
        matching += bool(_LEVEL.search(text) and (stamps(text) or "[clew " in text))
        if seen == SAMPLE:
            break
    return matching > 0 and matching >= LEAST_SHARE * seen


def find_in(session: Session, lines: Lines, row: int, task: Task, which: str = "") -> WrittenLine | None:
    """Return the event that wrote a line (from 0). For a line of a traceback, return the event of its log line."""
    text = lines.line(row)
    written = find(session, text, task, which)
    if written is not None or not _OF_TRACEBACK.match(text):
        return written
    began = False
    for above in range(row, max(-1, row - TRACEBACK), -1):
        text = lines.line(above)
        if began and not _OF_TRACEBACK.match(text):
            return find(session, text, task, which)
        began = began or text.startswith("Traceback (most recent call last):")
        if not _OF_TRACEBACK.match(text):
            return None
    return None


def find(session: Session, line: str, task: Task, which: str = "") -> WrittenLine | None:
    """Return the event that wrote a line. Search the run `which`, else the runs that were recording at the line's time,
    the selected run first. Without a time, search the selected run."""
    from clew.graph.logs.match_line import find_line

    if not line.strip() or not session.has_runs():
        return None
    for folder in [which] if which else _runs_at(session, line):
        run = session.open(folder, task)
        task.phase("looking for the event")
        found = find_line(run.graph, line)
        if found.events:
            return WrittenLine(run, found.events[0].event, found, line)
    return None


def _runs_at(session: Session, line: str) -> list[str]:
    """Return the folders of the runs that may have written a line: the selected run first, but after runs that were
    certainly recording then."""
    selected = session.folder()
    runs = [(folder, info) for folder, info in list_runs(session.workspace) if isinstance(info, RunInfo)]
    runs.sort(key=lambda run: run[0] != selected)
    found = stamps(line)

    def recorded(info: RunInfo, margin: int, *, guessed: bool) -> bool:
        span = (info.started, info.finished or time.time_ns())
        return any(
            moment.guessed <= guessed and span[0] - margin <= moment.last and moment.first <= span[1] + margin
            for stamp in found
            for moment in stamp.moments(span)
        )

    surely = [folder for folder, info in runs if recorded(info, 0, guessed=False)]
    perhaps = [folder for folder, info in runs if recorded(info, NEAR_NS, guessed=True)]
    return [str(folder) for folder in dict.fromkeys([*surely, selected, *perhaps])]
