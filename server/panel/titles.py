"""Events and edges in words that a person understands without knowing how clew works.

Invariant: every event of any kind has a title, also one whose function, key or channel is unknown.
"""

from __future__ import annotations

import numpy as np

from clew.graph.event import LEVEL_NAMES
from clew.graph.gaps import between
from clew.graph.model import ExecutionGraph, RegionKind
from clew.records.event import EdgeKind, Kind
from clew.server import wording

MAX_TEXT = 200
"""Characters of a message or a key in a title."""
NODE_KINDS: dict[int, str] = {
    Kind.ENTER: "call", Kind.EXIT: "call", Kind.UNWIND: "error", Kind.SUSPEND: "call", Kind.RESUME: "call",
    Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.JOIN: "join", Kind.RELEASE: "sync", Kind.ACQUIRE: "sync",
    Kind.DEFINE: "state", Kind.USE: "state", Kind.SCOPE_BEGIN: "scope", Kind.SCOPE_END: "scope", Kind.REQUEST: "request",
    Kind.LOG: "log", Kind.MARK: "mark", Kind.ENTITY: "entity", Kind.PAYLOAD: "payload", Kind.GAP: "gap",
    Kind.NAME: "mark",
}  # fmt: skip
_SENT = {
    "thread.start": "started a thread",
    "thread.join": "ended",
    "executor.submit": "submitted work",
    "executor.result": "finished the work",
    "queue": "put an item into a queue",
    "asyncio.queue": "put an item into a queue",
    "asyncio.handle": "scheduled what runs next",
    "asyncio.future": "settled a future",
    "multiprocessing.queue": "put an item into a queue",
    "multiprocessing.pipe": "sent an object through a pipe",
    "multiprocessing.pool": "passed on the work of a pool",
    "multiprocessing.manager": "sent a message between a proxy and its manager",
    "process.start": "started a process",
    "process.end": "ended",
    "traceparent": "sent its trace headers",
    "socket": "wrote bytes to a connection",
    "pipe": "wrote bytes to a pipe",
    "span.start": "began other work",
    "span.end": "ended",
    "request": "sent a request",
    "response": "answered",
}
_TOOK = {
    "thread.start": "began as a thread",
    "thread.join": "went on after a thread's end",
    "executor.submit": "began as submitted work",
    "executor.result": "went on with the work's result",
    "queue": "took an item from a queue",
    "asyncio.queue": "took an item from a queue",
    "asyncio.handle": "was run by the event loop",
    "asyncio.future": "went on when a future was settled",
    "multiprocessing.queue": "took an item from a queue",
    "multiprocessing.pipe": "got an object from a pipe",
    "multiprocessing.pool": "took on the work of a pool",
    "multiprocessing.manager": "got a message between a proxy and its manager",
    "process.start": "began as a process",
    "process.end": "went on after a process's end",
    "traceparent": "got trace headers",
    "socket": "read bytes from a connection",
    "pipe": "read bytes from a pipe",
    "span.start": "began",
    "span.end": "went on after other work's end",
    "request": "took a request",
    "response": "got the answer",
}
_LED = {
    "thread.start": "{target} began as a thread that {source} started",
    "thread.join": "{target} went on when {source} had ended",
    "executor.submit": "{target} ran as work that {source} submitted",
    "executor.result": "{target} went on with the result of {source}",
    "queue": "{target} took from a queue what {source} had put into it",
    "asyncio.queue": "{target} took from a queue what {source} had put into it",
    "asyncio.future": "{target} went on when {source} settled a future",
    "multiprocessing.queue": "{target} took from a queue what {source} had put into it",
    "multiprocessing.pipe": "{target} got from a pipe what {source} had sent",
    "multiprocessing.pool": "{target} took on the work of a pool from {source}",
    "process.start": "{target} began in a process that {source} started",
    "process.end": "{target} went on when {source} had ended",
    "traceparent": "{target} handled a request that {source} sent",
    "socket": "{target} read from a connection what {source} had written",
    "pipe": "{target} read from a pipe what {source} had written",
    "span.start": "{target} was begun by {source}",
    "span.end": "{target} went on when {source} had ended",
    "request": "{target} handled a request that {source} sent",
    "response": "{target} got the answer of {source}",
}

_LET_IN = {
    "lock": "{target} waited until {source} released a lock",
    "condition": "{target} waited until {source} notified it",
    "event": "{target} went on because {source} had set an event",
    "semaphore": "{target} waited until {source} released a semaphore",
    "barrier": "{target} and {source} met at a barrier",
}

_RELEASED = {
    "condition": "notified a condition",
    "event": "set an event",
    "semaphore": "released a semaphore",
    "barrier": "arrived at a barrier",
}
_ACQUIRED = {
    "condition": "was notified",
    "event": "found an event set",
    "semaphore": "was let in by a semaphore",
    "barrier": "passed a barrier",
}


def actor(graph: ExecutionGraph, event: int) -> str:
    """Who an event is of: the function around it, else its thread or task."""
    call = graph.owner_of(event)
    if call >= 0:
        name = wording.short_label(graph.sites[int(graph.site[call])].label)
        region = int(graph.region[event])
        # A loop's call encloses its callbacks without owning them.
        owned = int(graph.region[call]) == region or int(graph.regions.kind[region]) != RegionKind.SCOPE
        return name if owned else f"a callback in {name}"
    strand = graph.strand_of(event)
    return f"{strand.kind} {strand.name}" if strand.name else f"a {strand.kind}"


def thing(graph: ExecutionGraph, event: int) -> str:
    """What an edge's event is about: `chunk 17`; the channel alone when the key's text was not kept."""
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
            return f"{who} went on"
        case Kind.SEND:
            return f"{who} {_SENT.get(channel) or f'sent {thing(graph, event)}'}"
        case Kind.RECEIVE | Kind.JOIN | Kind.SCOPE_BEGIN if channel:
            return f"{who} {_TOOK.get(channel) or f'received {thing(graph, event)}'}"
        case Kind.RELEASE:
            return f"{who} {_RELEASED.get(channel, 'released a lock')}"
        case Kind.ACQUIRE:
            return f"{who} {_ACQUIRED.get(channel, 'got a lock')}"
        case Kind.DEFINE:
            return f"{who} defined {thing(graph, event)}"
        case Kind.USE:
            return f"{who} used {thing(graph, event)}"
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
        case Kind.STEP_BEGIN | Kind.STEP_END:
            strand = graph.strand_of(event)
            return f"{strand.kind} {strand.name} {'runs' if kind == Kind.STEP_BEGIN else 'pauses'}"
        case _:
            return f"{who} {graph.event(event).kind.replace('_', ' ')}"


def edge_title(graph: ExecutionGraph, source: int, target: int, kind: int, channel: str) -> str:
    """How the event `target` depends on `source`, as one sentence about both."""
    who, whom = actor(graph, source), actor(graph, target)
    about = thing(graph, target) or thing(graph, source)
    if kind == EdgeKind.STATE:
        return f"{whom} ({about}) used what {who} defined"
    if kind == EdgeKind.SYNC:
        return _LET_IN.get(channel, "{target} waited for {source}").format(source=who, target=whom)
    phrase = _LED.get(channel, "{target} received {about} from {source}")
    if channel == "asyncio.handle":
        phrase = _scheduled(graph, target)
    return phrase.format(source=who, target=whom, about=about or channel or "something")


def _scheduled(graph: ExecutionGraph, target: int) -> str:
    """What the event loop was asked to do: to run a callback, a task's first step, or a later one."""
    strand = graph.strand_of(target)
    if strand.kind != "task":
        return "{target} was scheduled by {source}"
    began = np.count_nonzero(graph.kind[strand.start : target] == Kind.STEP_BEGIN) <= 1
    return "{target} was started as a task by {source}" if began else "{target} was woken by {source}"


def root_title(graph: ExecutionGraph, event: int) -> str:
    """Where a chain ends: the request, task, thread or process whose beginning has no recorded cause, or is missing."""
    region = int(graph.region[event])
    if int(graph.regions.kind[region]) == RegionKind.REQUEST:
        return event_title(graph, int(graph.regions.opener[region]))
    strand, process = graph.strand_of(event), graph.process_of(event)
    missing = event == strand.start and between(graph, event - 1, event)
    return (
        f"{strand.kind} {strand.name} of {process.name} {'goes on, its beginning is missing' if missing else 'began'}"
    )


def lane(graph: ExecutionGraph, event: int) -> str:
    return f"{graph.process_of(event).name} / {graph.strand_of(event).name}"


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """The first line, cut with an ellipsis."""
    first, more, _ = text.strip().partition("\n")
    line = wording.printable(first)
    return line if len(line) <= limit and not more else line[: limit - 1].rstrip() + "…"
