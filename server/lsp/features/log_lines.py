"""Log files, output channels and other logs in the editor: the causes of each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.server.locations.log_line import PERHAPS, WrittenLine, find, find_in, is_log_name, looks_like_log
from clew.server.lsp.positions import line_range, path_of
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.protocol.views.walk import WalkParams
from clew.server.session.session import Session, Task
from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.logs.lines import Lines
    from clew.graph.model.graph import ExecutionGraph
    from clew.query.api import Run
    from clew.server.lsp.server import ClewServer

MAX_LENSES = 500
"""Maximum number of lenses in one text; the last ones are used, because the end of a log matters most."""
SAME_MOMENT_NS = 1_000_000
SHOWN_STEPS, SHOWN_OTHERS, SHOWN_CANDIDATES = 5, 3, 4
MAX_MESSAGE = 2000
WALKED_STEPS = 100
"""A hover shows the root only of chains up to this length."""


def may_be_log(server: ClewServer, uri: str) -> bool:
    """Return whether it is a log by its name or language, or may be one by its lines. Cheap enough to call for any
    document."""
    path = path_of(uri)
    document = server.open_document(uri)
    if not path:
        return document is not None and not (document.language_id or "").startswith(("python", "esl"))
    return is_log_name(path) or PERHAPS.search(path) is not None or _is_language(document)


def log_of(server: ClewServer, uri: str, task: Task) -> Lines | None:
    """Return the lines of an open log, else of the file; None if it is not a log."""
    path = path_of(uri)
    document = server.open_document(uri)
    if document is None and not path:
        return None
    try:
        lines = (
            server.session.logs.of_text(uri, document.version, str(document.source))
            if document is not None
            else server.session.logs.of_file(path, task)
        )
    except OSError:
        return None
    surely = uri.startswith("output:") or is_log_name(path) or _is_language(document)
    return lines if surely or looks_like_log(lines) else None


def _is_language(document: object) -> bool:
    return (getattr(document, "language_id", None) or "").lower() == "log"


def lenses(lines: Lines, *, walks: bool = False) -> list[types.CodeLens]:
    """Return a lens without text for every line with an error or a warning, with `walks` also one that starts a walk
    there. The first line gets a lens with the number of omitted lines."""
    troubled = lines.troubled
    shown = troubled[-MAX_LENSES:].tolist()
    made = []
    if len(shown) < len(troubled):
        left = units.count(len(troubled) - len(shown), "earlier line")
        title = f"{left} with errors or warnings: run Clew: Why"
        made.append(types.CodeLens(range=line_range(1), command=types.Command(title=title, command="")))
    for row in shown:
        text = lines.line(row)
        kinds: list[dict[str, object]] = [{"text": text}, {"text": text, "walk": True}] if walks else [{"text": text}]
        made += [types.CodeLens(range=line_range(row + 1), data=data) for data in kinds]
    return made


def command(session: Session, data: dict[str, Any], task: Task) -> types.Command | None:
    """Return `why · 134 events · 3 processes`, or `walk`; None for a walk without a start event."""
    line = str(data["text"])
    written = find(session, line, task)
    if data.get("walk"):
        if written is None:
            return None
        return types.Command(title="walk", command="clew.walk.start", arguments=[encode(_walk(written))])
    if written is None:
        return types.Command(title="not written by a recorded run", command="")
    title = f"why · {extent(written, task)}"
    if not written.found.certain:
        title += f" · the likeliest of {written.found.count:,}"
    params = SliceParams(Target(line=line), run=written.run.info.id)
    return types.Command(title=title, command="clew.why", arguments=[encode(params)])


def _walk(written: WrittenLine) -> WalkParams:
    """Return parameters that name the line, because the event's number changes when more is recorded."""
    return WalkParams(Target(line=written.line), run=written.run.info.id)


def actions(server: ClewServer, uri: str, row: int, task: Task) -> list[types.Command]:
    """Return the action that asks why a line (from 0) was written; none if no recorded run wrote it."""
    lines = log_of(server, uri, task)
    written = find_in(server.session, lines, row, task) if lines is not None else None
    if written is None:
        return []
    params = SliceParams(Target(line=written.line), run=written.run.info.id)
    return [types.Command(title="Why did this happen?", command="clew.why", arguments=[encode(params)])]


def extent(written: WrittenLine, task: Task) -> str:
    """Return how many events led to an event."""
    from clew.graph.ops.slicing.interval import slice_events

    task.phase("slicing")
    found = slice_events(written.run.graph, [written.event])
    return f"{units.count(found.count, 'event')} · {units.count(len(found.processes), 'process')}"


def hover(session: Session, lines: Lines, row: int, task: Task, *, link: bool, walks: bool = False) -> str:
    """Return Markdown about the event that wrote a line (from 0), with the head of its chain; "" without an event.
    `link`: the client has commands; `walks`: also the command that starts a walk."""
    from clew.graph.ops.causes.why import why
    from clew.server.lsp.features.hover import command_link
    from clew.server.text.answer import told
    from clew.server.text.chain import chain_of
    from clew.server.text.events import event_title, lane
    from clew.server.views.answer import verdict

    written = find_in(session, lines, row, task)
    if written is None:
        return ""
    graph, event = written.run.graph, written.event
    task.phase("walking back")
    steps = why(graph, event, steps_at_most=WALKED_STEPS)
    entries = chain_of(graph, steps, shown=sorted({*range(min(len(steps), SHOWN_STEPS + 1)), len(steps) - 1}))
    place = graph.location(event)
    head = [
        f"**{lane(graph, event)}** at {units.offset(graph.at('ts', event))} in run {written.run.info.name}"
        + (f", {Path(place[0]).name}:{place[1]}" if place else "")
        + (f" · {command_link('Walk from here', 'clew.walk.start', _walk(written))}" if walks else "")
    ]
    text = graph.text(event)
    if "\n" in text or event_title(graph, event).endswith("…"):
        head.append(_block(text))
    head += [markdown(paragraph) for paragraph in told(verdict(graph, event))]
    because = [f"{number}. {markdown(step.title)}" for number, step in enumerate(entries[1 : SHOWN_STEPS + 1], 1)]
    if len(steps) > WALKED_STEPS:
        because.append("\nand more steps before that")
    elif len(steps) > SHOWN_STEPS + 1:
        more = units.count(len(steps) - SHOWN_STEPS - 1, "more step")
        because.append(f"\nand {more} to the root: {markdown(entries[-1].title)}")
    parts = [*head, f"{extent(written, task)} led to it" + (":" if because else "."), "\n".join(because)]
    others = _same_moment(graph, event)
    if others:
        parts += ["At the same moment:", "\n".join(f"- {markdown(other)}" for other in others)]
    if not written.found.certain:
        parts += [_candidates(session.as_snapshot(written.run), written, link=link)]
    return "\n\n".join(part for part in parts if part).strip()


def _same_moment(graph: ExecutionGraph, event: int) -> list[str]:
    """Return log lines of other threads and tasks within a millisecond, the nearest first."""
    import numpy as np

    from clew.graph.logs.message_index import messages_of
    from clew.server.text.events import event_title, lane

    messages, ts = messages_of(graph), graph.at("ts", event)
    near = messages.near(messages.by_time, ts - SAME_MOMENT_NS, ts + SAME_MOMENT_NS)
    order = near[np.argsort(np.abs(messages.ts[near] - ts), kind="stable")]
    strand = graph.at("strand", event)
    entries = []
    for place in order[:200].tolist():
        other = int(messages.rows[place])
        if graph.at("strand", other) == strand:
            continue
        away = int(messages.ts[place]) - ts
        when = f"{units.duration(abs(away))} {'earlier' if away < 0 else 'later'}"
        entries.append(f"{event_title(graph, other)} ({lane(graph, other)}, {when})")
        if len(entries) == SHOWN_OTHERS:
            break
    return entries


def _candidates(run: Run, written: WrittenLine, *, link: bool) -> str:
    """Return the events of a run that may have written the line, with the reasons for each."""
    from clew.server.lsp.features.hover import command_link
    from clew.server.text.events import lane

    graph = run.graph
    entries = []
    for one in written.found.events[:SHOWN_CANDIDATES]:
        where = f"event {one.event} of {lane(graph, one.event)}"
        shown = markdown(where)
        if link:
            shown = command_link(where, "clew.why", SliceParams(Target(event=one.event), run=run.info.id))
        entries.append(f"- {shown}: {markdown(', '.join(one.reasons))}")
    return f"{units.count(written.found.count, 'event')} may have written it, the likeliest first:\n\n" + "\n".join(
        entries
    )


def _block(text: str) -> str:
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=2) + 1)
    return f"{fence:`<3}text\n{units.printable(text[:MAX_MESSAGE])}\n{fence:`<3}"


def markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)
