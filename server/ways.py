"""By what one function led to another, in a word."""

from __future__ import annotations

_WAYS = {
    "": "call",
    "asyncio.handle": "task",
    "asyncio.future": "task",
    "thread.start": "thread",
    "process.start": "process",
    "executor.submit": "executor",
    "executor.result": "executor",
    "executor.callback": "executor",
    "multiprocessing.pool": "executor",
    "asyncio.queue": "queue",
    "multiprocessing.queue": "queue",
    "traceparent": "http",
    "request": "http",
    "response": "http",
    "socket": "message",
    "pipe": "message",
    "asyncio.stream": "message",
    "multiprocessing.pipe": "message",
    "multiprocessing.manager": "message",
}


def way_of(channel: str) -> str:
    """ "call", "task", "thread", … of a link's channel; what a spec names is called so."""
    return _WAYS.get(channel, channel)
