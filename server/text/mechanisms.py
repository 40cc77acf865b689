"""A table of the words for each mechanism by which one function causes another: one row per channel.

Every module that names a channel reads this table. A channel of a spec or an annotation has no row, so its own name is
used. A test checks that every channel of the recorder and the importers has a row, and that `docs/causality.md` names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clew.records.format.event import EdgeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """The words for one channel. For an empty word, the readers use a general one."""

    edge: EdgeKind = EdgeKind.USE
    """The kind of the channel's edges; `source_title`, `target_title` and `edge_title` apply only to this kind."""
    link: str = ""
    """The kind of the link between caller and callee: "task", "thread", "queue", …."""
    wait: str = ""
    """The subject of a wait: "lock", "result of a worker", …."""
    noun: str = ""
    """The carrier, with its article: "a queue"."""
    given: str = ""
    """The participle for the cause: the item was "put" by it."""
    taken: str = ""
    """The participle for the effect: the item was "taken" by it."""
    source_title: str = ""
    """The predicate of the event at which the edge begins."""
    target_title: str = ""
    """The predicate of the event at which the edge ends."""
    edge_title: str = ""
    """The sentence about both ends, with `{source}` and `{target}`."""


UNNAMED: Final = Mechanism()
"""The row for a channel that is not in the table."""

MECHANISMS: Final[dict[str, Mechanism]] = {
    # Threads and executors.
    "thread.start": Mechanism(
        link="thread",
        wait="start of a thread",
        noun="the start of a thread",
        given="started",
        taken="run",
        source_title="started a thread",
        target_title="began as a thread",
        edge_title="{target} began as a thread that {source} started",
    ),
    "thread.join": Mechanism(
        wait="join of a thread",
        noun="the end of a thread",
        given="ended",
        taken="awaited",
        source_title="ended",
        target_title="continued after a thread's end",
        edge_title="{target} continued when {source} had ended",
    ),
    "executor.submit": Mechanism(
        link="executor",
        wait="a free worker",
        noun="submitted work",
        given="submitted",
        taken="run",
        source_title="submitted work",
        target_title="began as submitted work",
        edge_title="{target} ran as work that {source} submitted",
    ),
    "executor.result": Mechanism(
        link="executor",
        wait="result of a worker",
        noun="the result of submitted work",
        given="finished",
        taken="awaited",
        source_title="finished the work",
        target_title="got the work's result",
        edge_title="{target} got the result of {source}",
    ),
    "executor.callback": Mechanism(link="executor", wait="callback"),
    # Queues.
    "queue": Mechanism(
        wait="queue",
        noun="a queue",
        given="put",
        taken="taken",
        source_title="put an item into a queue",
        target_title="took an item from a queue",
        edge_title="{target} took an item that {source} put into a queue",
    ),
    "queue.done": Mechanism(wait="queue"),
    "queue.shutdown": Mechanism(
        edge=EdgeKind.SYNC,
        noun="the shutdown of a queue",
        given="shut down",
        taken="found",
        source_title="shut a queue down",
        target_title="found a queue shut down",
        edge_title="{target} found a queue shut down by {source}",
    ),
    "asyncio.queue": Mechanism(
        link="queue",
        wait="queue",
        noun="a queue",
        given="put",
        taken="taken",
        source_title="put an item into a queue",
        target_title="took an item from a queue",
        edge_title="{target} took an item that {source} put into a queue",
    ),
    # Locks and similar objects.
    "lock": Mechanism(
        edge=EdgeKind.SYNC,
        wait="lock",
        noun="a lock",
        given="released",
        taken="acquired",
        source_title="released a lock",
        target_title="acquired a lock",
        edge_title="{target} waited until {source} released a lock",
    ),
    "rlock": Mechanism(wait="lock"),
    "condition": Mechanism(
        edge=EdgeKind.SYNC,
        wait="condition",
        noun="a condition",
        given="notified",
        taken="awaited",
        source_title="notified a condition",
        target_title="was notified",
        edge_title="{target} waited until {source} notified it",
    ),
    "event": Mechanism(
        edge=EdgeKind.SYNC,
        wait="event",
        noun="an event",
        given="set",
        taken="awaited",
        source_title="set an event",
        target_title="found an event set",
        edge_title="{target} continued because {source} had set an event",
    ),
    "semaphore": Mechanism(
        edge=EdgeKind.SYNC,
        wait="semaphore",
        noun="a semaphore",
        given="released",
        taken="acquired",
        source_title="released a semaphore",
        target_title="acquired a semaphore",
        edge_title="{target} waited until {source} released a semaphore",
    ),
    "barrier": Mechanism(
        edge=EdgeKind.SYNC,
        wait="barrier",
        noun="a barrier",
        given="reached",
        taken="passed",
        source_title="arrived at a barrier",
        target_title="passed a barrier",
        edge_title="{target} and {source} met at a barrier",
    ),
    "asyncio.event": Mechanism(
        edge=EdgeKind.SYNC,
        wait="event",
        noun="an event",
        given="set",
        taken="awaited",
        source_title="set an event",
        target_title="found an event set",
        edge_title="{target} continued because {source} had set an event",
    ),
    "asyncio.barrier": Mechanism(
        edge=EdgeKind.SYNC,
        wait="barrier",
        noun="a barrier",
        given="reached",
        taken="passed",
        source_title="arrived at a barrier",
        target_title="passed a barrier",
        edge_title="{target} and {source} met at a barrier",
    ),
    # The event loop. The sentence about an edge of "asyncio.handle" depends on what the handle runs: see `events`.
    "asyncio.handle": Mechanism(
        link="task",
        wait="turn in the event loop",
        noun="the event loop",
        given="scheduled",
        taken="run",
        source_title="scheduled the next step",
        target_title="was run by the event loop",
    ),
    "asyncio.future": Mechanism(
        link="task",
        wait="result of a task",
        noun="a future",
        given="settled",
        taken="awaited",
        source_title="settled a future",
        target_title="continued when a future was settled",
        edge_title="{target} continued when {source} settled a future",
    ),
    # Processes.
    "process.start": Mechanism(
        link="process",
        wait="start of a child process",
        noun="the start of a process",
        given="started",
        taken="run",
        source_title="started a process",
        target_title="began as a process",
        edge_title="{target} began in a process that {source} started",
    ),
    "process.end": Mechanism(
        wait="end of a child process",
        noun="the end of a process",
        given="ended",
        taken="awaited",
        source_title="ended",
        target_title="continued after a process's end",
        edge_title="{target} continued when {source} had ended",
    ),
    "multiprocessing.queue": Mechanism(
        link="queue",
        wait="queue",
        noun="a queue between processes",
        given="put",
        taken="taken",
        source_title="put an item into a queue",
        target_title="took an item from a queue",
        edge_title="{target} took an item that {source} put into a queue",
    ),
    "multiprocessing.pipe": Mechanism(
        link="message",
        wait="pipe",
        noun="a pipe",
        given="sent",
        taken="received",
        source_title="sent an object through a pipe",
        target_title="received an object from a pipe",
        edge_title="{target} received an object that {source} sent through a pipe",
    ),
    "multiprocessing.pool": Mechanism(
        link="executor",
        wait="result of a worker",
        noun="a pool of processes",
        given="sent",
        taken="received",
        source_title="sent work or a result in a pool",
        target_title="received work or a result in a pool",
        edge_title="{target} received work or a result of a pool from {source}",
    ),
    "multiprocessing.manager": Mechanism(
        link="message",
        wait="another process",
        noun="a proxy and its manager",
        given="sent",
        taken="received",
        source_title="sent a message between a proxy and its manager",
        target_title="received a message between a proxy and its manager",
    ),
    # Bytes and messages.
    "socket": Mechanism(
        link="message",
        wait="network",
        noun="a connection",
        given="written",
        taken="read",
        source_title="wrote bytes to a connection",
        target_title="read bytes from a connection",
        edge_title="{target} read bytes that {source} wrote to a connection",
    ),
    "asyncio.stream": Mechanism(link="message", wait="network"),
    "anyio.stream": Mechanism(
        link="message",
        wait="queue",
        noun="the end of a stream",
        given="closed",
        taken="seen",
        source_title="ended a stream, or a send into it",
        target_title="saw the end of a stream",
        edge_title="{target} saw the end of a stream that {source} closed or was to send into",
    ),
    "pipe": Mechanism(
        link="message",
        wait="pipe",
        noun="a pipe",
        given="written",
        taken="read",
        source_title="wrote bytes to a pipe",
        target_title="read bytes from a pipe",
        edge_title="{target} read bytes that {source} wrote to a pipe",
    ),
    "traceparent": Mechanism(
        link="http",
        wait="network",
        noun="a request",
        given="sent",
        taken="handled",
        source_title="sent trace headers",
        target_title="received trace headers",
        edge_title="{target} handled a request that {source} sent",
    ),
    "redis.list": Mechanism(),
    "redis.channel": Mechanism(),
    "redis.stream": Mechanism(),
    "redis.value": Mechanism(
        edge=EdgeKind.STATE,
        noun="a value in redis",
        given="written",
        taken="read",
        source_title="wrote a value to redis",
        target_title="read a value from redis",
        edge_title="{target} read a value in redis that {source} had written",
    ),
    # Callbacks.
    "signal": Mechanism(wait="signal"),
    "sched": Mechanism(wait="timer"),
    "atexit": Mechanism(),
    "finalize": Mechanism(),
    "gc": Mechanism(),
    "context": Mechanism(),
    # Imported traces.
    "span.start": Mechanism(
        noun="the start of a span",
        given="started",
        taken="run",
        source_title="started a span",
        target_title="began",
        edge_title="{target} was started by {source}",
    ),
    "span.end": Mechanism(
        noun="the end of a span",
        given="ended",
        taken="awaited",
        source_title="ended",
        target_title="continued after a span's end",
        edge_title="{target} continued when {source} had ended",
    ),
    "request": Mechanism(
        link="http",
        noun="a request",
        given="sent",
        taken="handled",
        source_title="sent a request",
        target_title="received a request",
        edge_title="{target} handled a request that {source} sent",
    ),
    "response": Mechanism(
        link="http",
        noun="a response",
        given="sent",
        taken="received",
        source_title="sent a response",
        target_title="received the response",
        edge_title="{target} received the response of {source}",
    ),
    # Only in facts: what a task waits for, and who cancels it.
    "asyncio.task": Mechanism(wait="end of a task"),
    "asyncio.taskgroup": Mechanism(wait="end of a task group"),
    "multiprocessing.lock": Mechanism(wait="lock"),
    "multiprocessing.rlock": Mechanism(wait="lock"),
    "multiprocessing.semaphore": Mechanism(wait="semaphore"),
    "multiprocessing.condition": Mechanism(wait="condition"),
    "multiprocessing.event": Mechanism(wait="event"),
    "multiprocessing.barrier": Mechanism(wait="barrier"),
    "multiprocessing.queue.done": Mechanism(wait="queue"),
    "asyncio.lock": Mechanism(wait="lock"),
    "asyncio.condition": Mechanism(wait="condition"),
    "asyncio.semaphore": Mechanism(wait="semaphore"),
    "anyio.limiter": Mechanism(wait="capacity limiter"),
    "sqlite.lock": Mechanism(wait="write lock of a database"),
    "asyncio.sleep": Mechanism(wait="time"),
    "asyncio.timeout": Mechanism(wait="time limit"),
    "anyio.scope": Mechanism(wait="cancel scope"),
    "executor.future": Mechanism(wait="result of a worker"),
}


def mechanism(channel: str, edge: EdgeKind | None = None) -> Mechanism:
    """Return the row for `channel`; `edge` limits the answer to rows for edges of that kind."""
    row = MECHANISMS.get(channel, UNNAMED)
    return row if edge is None or row.edge == edge else UNNAMED


def link_kind(channel: str) -> str:
    """Return "call", "task", "thread", … for the channel of a link; a channel of a spec keeps its name."""
    return (mechanism(channel).link or channel) if channel else "call"
