"""One step of a walk: the event at its end with all its data, and the events around it.

Invariant: each direction lists at most `MOST` events and their number; an empty direction states the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.graph import ExecutionGraph, edge_kind_name
from clew.graph.ops.causes.navigation import WAYS, End, Way, way
from clew.records.format.event import CALLS, Kind
from clew.server.protocol.shared import MissingEvents
from clew.server.protocol.views.walk import WalkCard, WalkEnd, WalkFact, WalkParams, WalkResult, WalkWay
from clew.server.session.session import Session, Task
from clew.server.text import units
from clew.server.text.chain import location
from clew.server.text.events import NODE_KINDS, event_title, shorten
from clew.server.text.gaps import MOST_ON_THE_WAY, clock, machine_of, missing
from clew.server.text.steps import passed, sentence, stopped
from clew.server.views.slice.view import several
from clew.server.views.target import Found, NothingFound, find_in_snapshot

if TYPE_CHECKING:
    from clew.query.api import Run

MOST = 20
"""Maximum number of events per direction."""
MOST_VALUES = 16
"""Maximum number of values on either side of an event."""
MOST_TEXT = 2000
_WITH_KEY = frozenset(
    {Kind.SEND, Kind.RECEIVE, Kind.JOIN, Kind.DEFINE, Kind.USE, Kind.RELEASE, Kind.ACQUIRE, Kind.SCOPE_BEGIN}
)


def walk_view(session: Session, params: WalkParams, task: Task) -> WalkResult:
    try:
        found = find_in_snapshot(session, params.run, params.target, task, "forward" if params.pick else "backward")
        event, message = _picked(found, params.pick, task)
    except NothingFound as nothing:
        text = str(nothing)
        run = session.ref(session.open(params.run, task))
        return WalkResult(run, None, [], params.step, False, "", message=text[:1].upper() + text[1:])
    task.phase("walking")
    return walk(session, found.run, event, params.step, choice=params.choice, message=message)


def walk(session: Session, run: Run, event: int, step: str, *, choice: int = 0, message: str = "") -> WalkResult:
    """Make a step from an event of a run; the step "here" stays there."""
    graph = run.graph
    note, moved, lay = "", step == "here", list[WalkEnd]()
    corrected, uncertain, gaps = "", False, list[MissingEvents]()
    if step != "here":
        found = way(graph, event, step, MOST)
        ends = found.ends
        if not 0 <= choice < len(ends):
            choice = 0
        if ends:
            end, moved = ends[choice], True
            note = sentence(graph, event, step, end)
            corrected, uncertain, gaps = on_the_step(graph, event, step, end)
            lay = [_end(graph, event, step, other) for other in ends]
            event = end.event
        else:
            note = stopped(graph, event, step)
    return WalkResult(
        run=session.ref(run),
        card=card(graph, event),
        ways=ways_of(graph, event),
        step=step,
        moved=moved,
        sentence=note,
        ends=lay,
        choice=choice,
        clock=corrected,
        uncertain=uncertain,
        gaps=gaps,
        message=message,
    )


def on_the_step(graph: ExecutionGraph, event: int, step: str, end: End) -> tuple[str, bool, list[MissingEvents]]:
    """Return the clock correction between both ends, whether the clock error can exceed the time between them, and the
    events missing between them."""
    gone = missing(graph, passed(graph, event, step, end), MOST_ON_THE_WAY)
    ns = graph.at("ts", end.event) - graph.at("ts", event)
    return *clock(graph.crossing(event, end.event), ns), gone.shown


def ways_of(graph: ExecutionGraph, event: int) -> list[WalkWay]:
    return [_way(graph, event, name, way(graph, event, name, MOST)) for name in WAYS]


def card(graph: ExecutionGraph, event: int) -> WalkCard:
    kind, strand = graph.at("kind", event), graph.strand_of(event)
    call = graph.call_of(event) if kind in CALLS else -1
    end = graph.exit_of(call) if call >= 0 else -1
    took = graph.at("ts", end) - graph.at("ts", call) if end >= 0 else None
    return WalkCard(
        event=event,
        title=event_title(graph, event),
        kind=NODE_KINDS.get(kind, "event"),
        timeNs=float(graph.at("ts", event)),
        durationNs=None if took is None else float(took),
        process=graph.process_of(event).name,
        strand=strand.name or f"a {strand.kind}",
        function=graph.function(event),
        text=units.printable(graph.text(event)[:MOST_TEXT]),
        facts=[WalkFact(name, value) for name, value in [*_said(graph, event, call, end), *_values(graph, event)]],
        location=location(graph, event),
        machine=machine_of(graph, event),
    )


def _said(graph: ExecutionGraph, event: int, call: int, end: int) -> list[tuple[str, str]]:
    kind, channel = graph.at("kind", event), graph.channel(event)
    if kind == Kind.LOG:
        number = graph.key(event)
        return [("level", LEVEL_NAMES.get(number, f"Level {number}")), ("logger", channel)]
    if kind in _WITH_KEY and channel:
        key = shorten(graph.key_text(event))
        return [("through", channel), *([("what", key)] if key else [])]
    if call < 0:
        return []
    if end < 0:
        return [("lasted", "it never ended")]
    how = " and ended by an exception" if graph.at("kind", end) == Kind.UNWIND else ""
    return [("lasted", f"{units.duration(graph.at('ts', end) - graph.at('ts', call))}{how}")]


def _values(graph: ExecutionGraph, event: int) -> list[tuple[str, str]]:
    """Return the payloads of the same call that were recorded right before and after the event."""
    strand, call = graph.strand_of(event), graph.call_of(event)
    found: list[int] = [event] if graph.at("kind", event) == Kind.PAYLOAD else []
    for by in (-1, 1):
        row = event + by
        while (
            strand.start <= row < strand.stop
            and abs(row - event) <= MOST_VALUES
            and graph.at("kind", row) == Kind.PAYLOAD
            and graph.call_of(row) == call
        ):
            found.append(row)
            row += by
    return [(graph.channel(row) or "value", shorten(graph.text(row))) for row in sorted(found)]


def _way(graph: ExecutionGraph, event: int, name: Any, found: Way) -> WalkWay:
    ends = [_end(graph, event, name, end, first=place == 0) for place, end in enumerate(found.ends)]
    return WalkWay(name, found.count, ends, "" if ends else stopped(graph, event, name))


def _end(graph: ExecutionGraph, event: int, step: str, end: End, *, first: bool = False) -> WalkEnd:
    other, strand = end.event, graph.strand_of(end.event)
    edge: str
    if end.edge >= 0:
        edge, channel = edge_kind_name(int(graph.edge_kind[end.edge])), graph.strings[int(graph.edge_channel[end.edge])]
    elif step in ("previous", "next"):
        edge, channel = "next", ""
    else:
        outer = other if step == "out" else event
        edge, channel = "call" if step in ("out", "in") and graph.at("kind", outer) in CALLS else "scope", ""
    return WalkEnd(
        event=other,
        title=event_title(graph, other),
        edge=edge,
        channel=channel,
        sentence=sentence(graph, event, step, end),
        kind=NODE_KINDS.get(graph.at("kind", other), "event"),
        process=graph.process_of(other).name,
        strand=strand.name or f"a {strand.kind}",
        timeNs=float(graph.at("ts", other)),
        onChain=first and step == "cause",
        location=location(graph, other),
    )


def _picked(found: Found, pick: str, task: Task) -> tuple[int, str]:
    """Return the event where a walk starts, and a remark about the target's other events."""
    graph, event = found.run.graph, found.event
    if not pick or graph.at("kind", event) not in CALLS:
        return event, several(found, 1)
    task.phase("choosing a call")
    name, calls = units.short_label(graph.function(event)), graph.calls
    mine = graph.site[calls.enter] == graph.at("site", graph.call_of(event))
    enter, end, took = calls.enter[mine], calls.exit[mine], calls.total_ns[mine]
    place = {"first": int(np.argmin(graph.ts[enter])), "last": int(np.argmax(graph.ts[enter]))}.get(pick)
    if pick == "slowest":
        place = int(np.argmax(took))
    elif pick == "failed":
        ended = (end >= 0) & (graph.kind[end] == Kind.UNWIND)
        if not ended.any():
            raise NothingFound(f"none of the {units.count(len(enter), 'call')} of {name} failed")
        place = int(np.argmax(np.where(ended, graph.ts[enter], -1)))
    assert place is not None
    what = {"failed": "the last one that an exception ended"}.get(pick, f"the {pick} one")
    note = f"{units.count(len(enter), 'call')} of {name}; this is {what}." if len(enter) > 1 else ""
    return int(enter[place]), note
