"""Log files in the editor: which event wrote a line, and what led to it.

A file is a log file by its name, `.log`. The run of a line is the one that was recording at the line's time, whichever is
selected; a line without a time is looked for in the selected one.
"""

from __future__ import annotations

import calendar
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lsprotocol import types
from pygls.workspace import TextDocument

from clew.records.run import RunInfo, list_runs
from clew.server import wording
from clew.server.codec import encode
from clew.server.positions import line_range
from clew.server.protocol import Location, SliceParams, Target
from clew.server.session import Session, Task

if TYPE_CHECKING:
    from clew.graph.query import Run

TROUBLE = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|WARNING|WARN)\b")
MAX_LENSES = 500
"""In one file; the last ones, as a log's end is what people look at."""
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


def line_of(document: TextDocument, row: int) -> str:
    """The text of a document's line (from 0), "" behind its end."""
    lines = document.lines
    return str(lines[row]).rstrip("\r\n") if row < len(lines) else ""


def lenses(path: str, text: str) -> list[types.CodeLens]:
    """A lens without text on every line that tells of an error or a warning."""
    troubled = [(number, line) for number, line in enumerate(text.splitlines(), 1) if TROUBLE.search(line[:MAX_WIDTH])]
    return [
        types.CodeLens(range=line_range(number), data={"path": path, "line": number, "text": line[:MAX_WIDTH]})
        for number, line in troubled[-MAX_LENSES:]
    ]


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


def command(session: Session, data: dict[str, Any], task: Task) -> types.Command:
    """`why · 134 events · 3 processes`"""
    written = find(session, str(data["text"]), task)
    if written is None:
        return types.Command(title="not written by a recorded run", command="")
    place = Location(str(data["path"]), int(data["line"]))
    params = SliceParams(Target(location=place), run=written.run.info.id)
    return types.Command(title=f"why · {extent(written, task)}", command="clew.why", arguments=[encode(params)])


def extent(written: WrittenLine, task: Task) -> str:
    """How much led to an event."""
    import numpy as np

    from clew.graph.ops.slice import slice_events

    task.phase("slicing")
    graph = written.run.graph
    events = slice_events(graph, [written.event]).events()
    processes = len(np.unique(graph.event_process[events]))
    return f"{wording.count(len(events), 'event')} · {wording.count(processes, 'process')}"


def hover(session: Session, line: str, task: Task) -> str:
    """Markdown about the event that wrote a line, with the head of its chain; "" when none did."""
    from clew.graph.ops.walk import why
    from clew.server.panel.chain import chain_of
    from clew.server.panel.titles import lane

    written = find(session, line, task)
    if written is None:
        return ""
    graph = written.run.graph
    task.phase("walking back")
    steps = chain_of(graph, why(graph, written.event))
    place = graph.location(written.event)
    head = [
        f"**{lane(graph, written.event)}** at {wording.offset(int(graph.ts[written.event]))} in run {written.run.info.name}"
        + (f", {Path(place[0]).name}:{place[1]}" if place else "")
    ]
    because = [f"{number}. {_markdown(step.title)}" for number, step in enumerate(steps[1:6], 1)]
    if len(steps) > 6:
        because.append(f"\nand {wording.count(len(steps) - 6, 'more step')} to the root: {_markdown(steps[-1].title)}")
    return "\n\n".join(
        [*head, f"{extent(written, task)} led to it" + (":" if because else "."), "\n".join(because)]
    ).strip()


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)
