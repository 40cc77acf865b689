"""Describe a step of a walk in a sentence: its mechanism, the functions at both ends, and the time between them.

Invariant: every edge and every order has a sentence, even if the channel is unknown.
"""

from __future__ import annotations

from clew.graph.model.gaps import around, between, gaps
from clew.graph.model.graph import ExecutionGraph, Gap
from clew.graph.ops.causes.navigation import End
from clew.records.format.event import CALLS, EdgeKind
from clew.server.text import units
from clew.server.text.events import actor, event_title, root_title, thing
from clew.server.text.mechanisms import Mechanism, mechanism


def sentence(graph: ExecutionGraph, event: int, step: str, end: End) -> str:
    """Describe the step from `event` to `end`: `through a queue: put by producer.submit, 3.2 ms earlier`."""
    if step in ("cause", "effect"):
        if end.edge < 0:
            return f"the first cause: {root_title(graph, end.event)}"
        return _through(graph, event, step, end)
    if step == "out":
        called = graph.at("kind", end.event) in CALLS
        opener = f"the call of {actor(graph, end.event)}" if called else f"its opener: {event_title(graph, end.event)}"
        return f"out to {opener}, {_away(graph, event, end.event)}"
    if step == "in":
        return f"the first event inside, {_away(graph, event, end.event)}"
    strand = graph.strand_of(event)
    same = graph.at("region", event) == graph.at("region", end.event)
    order = "after" if step == "next" else "before"
    other = "" if same else "; it belongs to other work, so neither caused the other"
    return f"the event {order} it in {strand.kind} {strand.name}, {_away(graph, event, end.event)}{other}"


def stopped(graph: ExecutionGraph, event: int, step: str) -> str:
    """Return the reason why there is no event in this direction."""
    strand = graph.strand_of(event)
    where = f"{strand.kind} {strand.name}" if strand.name else f"a {strand.kind}"
    match step:
        case "cause":
            missing = _missing(graph, event, step)
            why = f"its beginning may be missing: {missing}" if missing else root_title(graph, event)
            return f"no cause of it was recorded: {why}"
        case "effect":
            return f"no effect of it was recorded outside {where}"
        case "previous":
            missing = _missing(graph, event, step)
            return f"events are missing here: {missing}" if missing else f"it is the first event of {where}"
        case "next":
            missing = _missing(graph, event, step)
            return f"events are missing here: {missing}" if missing else f"it is the last event of {where}"
        case "out":
            return f"no recorded call contains it, only {where} itself"
    return "no event was recorded inside it"


def passed(graph: ExecutionGraph, event: int, step: str, end: End) -> list[Gap]:
    """Return the gaps that the step passes within the same thread or task."""
    other = end.near if step in ("cause", "effect") else end.event
    return between(graph, min(event, other), max(event, other)) if other >= 0 and other != event else []


def _missing(graph: ExecutionGraph, event: int, step: str) -> str:
    """Return the reason why events are missing at the strand's end in this direction; "" if it is complete."""
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
        words = mechanism(channel, EdgeKind.STATE)
        words = words if words.noun else Mechanism(noun=f"the state {about}", given="set", taken="used")
    else:
        words = mechanism(channel)
        if not words.noun:
            words = Mechanism(noun=about or channel or "a message", given="sent", taken="received")
    done = words.given if step == "cause" else words.taken
    there = f"through {words.noun}: {done} by {actor(graph, end.event)}, {_away(graph, end.near, end.event)}"
    if end.near == event:
        return there
    here = words.taken if step == "cause" else words.given
    return f"{there}; {here} here {_away(graph, event, end.near)}"


def _away(graph: ExecutionGraph, here: int, there: int) -> str:
    """Format the time from one event to another: `3.2 ms earlier`."""
    ns = graph.at("ts", there) - graph.at("ts", here)
    crossing = graph.crossing(here, there)
    about = "about " if crossing is not None and crossing.hides(ns) else ""
    if ns == 0:
        return "at the same time"
    return f"{about}{units.duration(abs(ns))} {'later' if ns > 0 else 'earlier'}"
