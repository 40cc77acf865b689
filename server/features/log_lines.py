"""Log files in the editor: what led to each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument

from clew.graph.ops.moments import MAX_WIDTH
from clew.server import wording
from clew.server.codec import encode
from clew.server.panel.log_file import WrittenLine, find
from clew.server.positions import line_range
from clew.server.protocol import Location, SliceParams, Target
from clew.server.session import Session, Task

TROUBLE = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|WARNING|WARN)\b")
MAX_LENSES = 500
"""In one file; the last ones, as a log's end is what people look at."""


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
