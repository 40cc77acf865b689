"""What a step of a walk means, in words: through what it led, who did what there, how much earlier or later.

Invariant: every edge and every order has a sentence, also one on a channel that is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

from clew.graph.gaps import around, between, gaps
from clew.graph.model import ExecutionGraph, Gap
from clew.graph.ops.moves import End
from clew.records.event import CALLS, EdgeKind
from clew.server import wording
from clew.server.panel.titles import actor, event_title, root_title, thing


class _Words(NamedTuple):
    """How a mechanism is said: what it is, what the cause did with it, what the effect did."""

    what: str
    gave: str
    took: str


_MECHANISMS = {
    "thread.start": _Words("the start of a thread", "started", "run"),
    "thread.join": _Words("the end of a thread", "ended", "awaited"),
    "executor.submit": _Words("submitted work", "submitted", "run"),
    "executor.result": _Words("the result of submitted work", "finished", "awaited"),
    "queue": _Words("a queue", "put", "taken"),
    "asyncio.queue": _Words("a queue", "put", "taken"),
    "asyncio.handle": _Words("the event loop", "scheduled", "run"),
    "asyncio.future": _Words("a future", "settled", "awaited"),
    "multiprocessing.queue": _Words("a queue between processes", "put", "taken"),
    "multiprocessing.pipe": _Words("a pipe", "sent", "received"),
    "multiprocessing.pool": _Words("a pool of processes", "passed on", "taken on"),
    "multiprocessing.manager": _Words("a proxy and its manager", "sent", "received"),
    "process.start": _Words("the start of a process", "started", "run"),
    "process.end": _Words("the end of a process", "ended", "awaited"),
    "traceparent": _Words("a request", "sent", "handled"),
    "socket": _Words("a connection", "written", "read"),
    "pipe": _Words("a pipe", "written", "read"),
    "span.start": _Words("other work", "begun", "run"),
    "span.end": _Words("the end of other work", "ended", "awaited"),
    "request": _Words("a request", "sent", "handled"),
    "response": _Words("an answer", "sent", "received"),
    "lock": _Words("a lock", "released", "acquired"),
    "condition": _Words("a condition", "notified", "awaited"),
    "event": _Words("an event", "set", "awaited"),
    "semaphore": _Words("a semaphore", "released", "acquired"),
    "barrier": _Words("a barrier", "reached", "passed"),
}


def sentence(graph: ExecutionGraph, event: int, step: str, end: End) -> str:
    """What it means to go from `event` this way to `end`: `through a queue: put by producer.submit, 3.2 ms earlier`."""
    if step in ("cause", "effect"):
        if end.edge < 0:
            return f"what began all of this: {root_title(graph, end.event)}"
        return _through(graph, event, step, end)
    if step == "out":
        called = graph.at("kind", end.event) in CALLS
        what = f"the call of {actor(graph, end.event)}" if called else f"what began it: {event_title(graph, end.event)}"
        return f"out to {what}, {_away(graph, event, end.event)}"
    if step == "in":
        return f"the first event inside, {_away(graph, event, end.event)}"
    strand = graph.strand_of(event)
    same = graph.at("region", event) == graph.at("region", end.event)
    order = "after" if step == "next" else "before"
    other = "" if same else "; of other work, so neither caused the other"
    return f"the event {order} it in {strand.kind} {strand.name}, {_away(graph, event, end.event)}{other}"


def stopped(graph: ExecutionGraph, event: int, step: str) -> str:
    """Why nothing lies this way."""
    strand = graph.strand_of(event)
    where = f"{strand.kind} {strand.name}" if strand.name else f"a {strand.kind}"
    match step:
        case "cause":
            missing = _missing(graph, event, step)
            why = f"its beginning may be missing: {missing}" if missing else root_title(graph, event)
            return f"no cause of it was recorded: {why}"
        case "effect":
            return f"nothing that came of it was recorded outside {where}"
        case "previous":
            missing = _missing(graph, event, step)
            return f"events are missing here: {missing}" if missing else f"it is the first event of {where}"
        case "next":
            missing = _missing(graph, event, step)
            return f"events are missing here: {missing}" if missing else f"it is the last event of {where}"
        case "out":
            return f"nothing recorded is around it but {where} itself"
    return "nothing was recorded inside it"


def passed(graph: ExecutionGraph, event: int, step: str, end: End) -> list[Gap]:
    """What is missing on the way, of the same thread or task."""
    other = end.near if step in ("cause", "effect") else end.event
    return between(graph, min(event, other), max(event, other)) if other >= 0 and other != event else []


def _missing(graph: ExecutionGraph, event: int, step: str) -> str:
    """Why events of the strand are missing where it ends this way; "" where none are."""
    strand = graph.strand_of(event)
    edge = strand.stop if step == "next" else strand.start
    for gap in gaps(graph):
        if gap.strand == strand.index:
            after, before = around(graph, gap)
            if after < edge <= before if step == "next" else after < edge and before >= edge:
                return gap.why
    return ""


def _through(graph: ExecutionGraph, event: int, step: str, end: End) -> str:
    source, target = (end.event, end.near) if step == "cause" else (end.near, end.event)
    kind, channel = int(graph.edge_kind[end.edge]), graph.strings[int(graph.edge_channel[end.edge])]
    about = thing(graph, target) or thing(graph, source)
    if kind == EdgeKind.STATE:
        words = _Words(f"the state {about}", "set", "used")
    else:
        words = _MECHANISMS.get(channel) or _Words(about or channel or "a message", "sent", "received")
    done = words.gave if step == "cause" else words.took
    told = f"through {words.what}: {done} by {actor(graph, end.event)}, {_away(graph, end.near, end.event)}"
    if end.near == event:
        return told
    mine = words.took if step == "cause" else words.gave
    return f"{told}; {mine} here {_away(graph, event, end.near)}"


def _away(graph: ExecutionGraph, here: int, there: int) -> str:
    """`3.2 ms earlier`"""
    ns = graph.at("ts", there) - graph.at("ts", here)
    crossing = graph.crossing(here, there)
    about = "about " if crossing is not None and crossing.hides(ns) else ""
    if ns == 0:
        return "at the same time"
    return f"{about}{wording.duration(abs(ns))} {'later' if ns > 0 else 'earlier'}"
