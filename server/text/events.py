"""Titles of events and edges, for readers who do not know how clew works.

Invariant: every event of any kind has a title, even if its function, key or channel is unknown.
"""

from __future__ import annotations

import numpy as np

from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.gaps import between
from clew.graph.model.graph import ExecutionGraph, RegionKind
from clew.graph.ops.diagnoses.words import kind_of
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.find_events import exception_name
from clew.graph.ops.timing.pauses import pause_ns
from clew.records.format.event import DELAY_BITS, EdgeKind, Kind
from clew.records.format.facts import Cancel, Ended, Exception_, Wake, load
from clew.server.text import units
from clew.server.text.mechanisms import mechanism

MAX_TEXT = 200
"""The maximum number of characters of a message or a key in a title."""
NODE_KINDS: dict[int, str] = {
    Kind.ENTER: "call", Kind.EXIT: "call", Kind.UNWIND: "error", Kind.SUSPEND: "call", Kind.RESUME: "call",
    Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.JOIN: "join", Kind.RELEASE: "sync", Kind.ACQUIRE: "sync",
    Kind.DEFINE: "state", Kind.USE: "state", Kind.SCOPE_BEGIN: "scope", Kind.SCOPE_END: "scope", Kind.REQUEST: "request",
    Kind.LOG: "log", Kind.MARK: "mark", Kind.ENTITY: "entity", Kind.PAYLOAD: "payload", Kind.GAP: "gap",
    Kind.NAME: "mark", Kind.WAIT: "sync", Kind.WAKE: "sync", Kind.HOLD: "sync", Kind.RETURN: "sync", Kind.EXCEPTION: "error",
    Kind.CANCEL: "error", Kind.ENDED: "error", Kind.OUTPUT: "log", Kind.PAUSE: "sync",
}  # fmt: skip


def actor(graph: ExecutionGraph, event: int) -> str:
    """Return the name of the function that contains an event, or else of its thread or task."""
    call = graph.owner_of(event)
    if call >= 0:
        name = units.short_label(graph.sites[int(graph.site[call])].label)
        region = int(graph.region[event])
        # A loop's call encloses its callbacks without owning them.
        owned = int(graph.region[call]) == region or int(graph.regions.kind[region]) != RegionKind.SCOPE
        return name if owned else f"a callback in {name}"
    strand = graph.strand_of(event)
    return f"{strand.kind} {strand.name}" if strand.name else f"a {strand.kind}"


def thing(graph: ExecutionGraph, event: int) -> str:
    """Return the channel and the key of an edge's event: `chunk 17`; only the channel if the key's text is missing."""
    failure = graph.failure(event)
    key = f"({failure})" if failure else shorten(graph.key_text(event), 60)
    return f"{graph.channel(event)} {key}".strip()


def event_title(graph: ExecutionGraph, event: int) -> str:
    kind, who, channel = int(graph.kind[event]), actor(graph, event), graph.channel(event)
    text = shorten(graph.text(event))
    match kind:
        case Kind.LOG:
            number = graph.key(event)
            return f"{LEVEL_NAMES.get(number, f'Level {number}')} {text}"
        case Kind.ENTER:
            return f"{who} was called"
        case Kind.EXIT:
            return f"{who} returned"
        case Kind.UNWIND:
            return f"{who} raised"
        case Kind.SUSPEND:
            return f"{who} waits"
        case Kind.RESUME:
            return f"{who} resumed"
        case Kind.SEND:
            return f"{who} {mechanism(channel, EdgeKind.USE).source_title or f'sent {thing(graph, event)}'}"
        case Kind.RECEIVE | Kind.JOIN | Kind.SCOPE_BEGIN if channel:
            return f"{who} {mechanism(channel, EdgeKind.USE).target_title or f'received {thing(graph, event)}'}"
        case Kind.RELEASE:
            return f"{who} {mechanism(channel, EdgeKind.SYNC).source_title or 'released a lock'}"
        case Kind.ACQUIRE:
            return f"{who} {mechanism(channel, EdgeKind.SYNC).target_title or 'acquired a lock'}"
        case Kind.DEFINE:
            return f"{who} {mechanism(channel, EdgeKind.STATE).source_title or f'defined {thing(graph, event)}'}"
        case Kind.USE:
            return f"{who} {mechanism(channel, EdgeKind.STATE).target_title or f'used {thing(graph, event)}'}"
        case Kind.REQUEST:
            return f"request {channel} began in {who}"
        case Kind.NAME if not graph.failure(event):
            return f"{who} named the request {channel}"
        case Kind.MARK | Kind.PAYLOAD | Kind.NAME:
            if graph.failure(event):
                return f"{channel} {text.removeprefix('value ')}"
            return f"{channel} = {text}" if text else channel or who
        case Kind.GAP:
            return text if graph.is_over(event) else f"events are missing here: {text}"
        case Kind.EXCEPTION:
            return exception_title(graph, event)
        case Kind.OUTPUT:
            return text
        case Kind.WAIT:
            return f"{who} waits for {kind_of(channel)}"
        case Kind.WAKE:
            end = load(Wake, graph.text(event)).end
            return f"{who} {_WAKES.get(end, 'waits no longer')} ({kind_of(channel)})"
        case Kind.HOLD:
            return f"{who} took {kind_of(channel)}"
        case Kind.RETURN:
            return f"{who} gave {kind_of(channel)} back"
        case Kind.PAUSE:
            delay = graph.key(event) & (1 << DELAY_BITS) - 1
            waited = f", of it {units.duration(delay)} for a processor" if delay else ""
            return f"{who} did not run for {units.duration(pause_ns(graph, event))}{waited}"
        case Kind.CANCEL:
            cancel = load(Cancel, graph.text(event))
            return f"{who} cancelled {cancel.target or 'a task'}" + (" (a time limit)" if cancel.deadline else "")
        case Kind.ENDED:
            strand = graph.strand_of(event)
            how = "was cancelled" if load(Ended, graph.text(event)).end == "cancelled" else "ended by an exception"
            return f"{strand.kind} {strand.name} {how}"
        case Kind.STEP_BEGIN | Kind.STEP_END:
            strand = graph.strand_of(event)
            return f"{strand.kind} {strand.name} {'runs' if kind == Kind.STEP_BEGIN else 'pauses'}"
        case _:
            return f"{who} {graph.event(event).kind.replace('_', ' ')}"


def exception_title(graph: ExecutionGraph, event: int) -> str:
    """Return `KeyError: 'sku-7' was raised in price`, for an EXCEPTION of any role."""
    fact = load(Exception_, graph.text(event))
    if not fact.message and not fact.at and fact.role == "handled":  # recorded without its message, as it was before
        known = Facts.of(graph).exceptions.at_row(event)
        fact = known.text if known else fact
    name = exception_name(graph.channel(event)) or "an exception"
    said = shorten(f"{name}: {fact.message}" if fact.message else name)
    strand = graph.strand_of(event)
    match fact.role:
        case "handled":
            return f"{said} was being handled"
        case "ended":
            return f"{said} ended {strand.kind} {strand.name}"
        case "unretrieved":
            return f"{said} was never taken from its task"
        case _:
            place = fact.at[0].function.rpartition(".<locals>.")[2] if fact.at else ""
            return f"{said} was raised" + (f" in {place}" if place else "")


_WAKES = {"timeout": "waited in vain", "cancelled": "was cancelled while it waited", "failed": "failed while it waited"}


def edge_title(graph: ExecutionGraph, source: int, target: int, kind: int, channel: str) -> str:
    """Describe in one sentence how the event `target` depends on `source`."""
    who, whom = actor(graph, source), actor(graph, target)
    about = thing(graph, target) or thing(graph, source)
    if kind == EdgeKind.STATE:
        phrase = mechanism(channel, EdgeKind.STATE).edge_title or "{target} used {about}, which {source} defined"
        if channel == "redis.value" and (caller := _caller(graph, source)):
            # A helper writes for many: the one that called it tells on whose behalf.
            who = f"{who}, called by {caller},"
        return phrase.format(source=who, target=whom, about=about or "a state")
    if kind == EdgeKind.SYNC:
        phrase = mechanism(channel, EdgeKind.SYNC).edge_title or "{target} waited for {source}"
        return phrase.format(source=who, target=whom)
    phrase = mechanism(channel, EdgeKind.USE).edge_title or "{target} received {about} from {source}"
    if channel == "asyncio.handle":
        phrase = _scheduled(graph, target)
    return phrase.format(source=who, target=whom, about=about or channel or "something")


def _caller(graph: ExecutionGraph, event: int) -> str:
    """Return the name of the function that called the function around an event; "" if it is not recorded."""
    call = graph.owner_of(event)
    around = graph.enclosing_call(call) if call >= 0 else -1
    return units.short_label(graph.sites[int(graph.site[around])].label) if around >= 0 else ""


def _scheduled(graph: ExecutionGraph, target: int) -> str:
    """Return the sentence for a handle of the event loop, which runs a callback, a task's first step or a later step."""
    strand = graph.strand_of(target)
    if strand.kind != "task":
        return "{target} was scheduled by {source}"
    began = np.count_nonzero(graph.kind[strand.start : target] == Kind.STEP_BEGIN) <= 1
    return "{target} was started as a task by {source}" if began else "{target} was woken by {source}"


def root_title(graph: ExecutionGraph, event: int) -> str:
    """Describe the end of a chain: the beginning of a request, task, thread or process, which lacks a recorded cause."""
    region = int(graph.region[event])
    if int(graph.regions.kind[region]) == RegionKind.REQUEST:
        return event_title(graph, int(graph.regions.opener[region]))
    strand, process = graph.strand_of(event), graph.process_of(event)
    missing = event == strand.start and between(graph, event - 1, event)
    whose = f"{strand.kind} {strand.name} of {process.name}"
    return f"the beginning of {whose} is missing" if missing else f"{whose} began"


def lane(graph: ExecutionGraph, event: int) -> str:
    return f"{graph.process_of(event).name} / {graph.strand_of(event).name}"


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Return the first line of a text, truncated with an ellipsis."""
    first, more, _ = text.strip().partition("\n")
    line = units.printable(first)
    return line if len(line) <= limit and not more else line[: limit - 1].rstrip() + "…"
