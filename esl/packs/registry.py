"""Resolve `include NAME`: an adapter of the recorder, or a spec shipped with clew in `packs/`.

Invariant: a pack is one file that includes adapters and other packs and holds statements like any spec.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from pathlib import Path
from typing import TypedDict

ADAPTERS = {
    "asyncio": "tasks",
    "threads": "threads",
    "locks": "locks",
    "callbacks": "callbacks",
    "executors": "executors",
    "queues": "queues",
    "processes": "processes",
    "http": "http",
    "sockets": "sockets",
}
"""Names in a spec, with the adapters of the standard library."""
LIBRARY_ADAPTERS = {"redis_values": "redis", "sqlite_locks": "sqlite3"}
"""Adapters of libraries under their own names: parts of packs that the language cannot express."""
_ADAPTERS_ADD = {
    "asyncio": "tasks, futures and callbacks of asyncio",
    "threads": "starts and joins of threads",
    "locks": "wake-ups of waiting threads: locks, conditions, events, semaphores, barriers",
    "callbacks": "registrations of callbacks for signals, exits, timers and finalizers; callbacks of the garbage collector",
    "executors": "thread pools: from submit to the call, and from the call to the result",
    "queues": "producers of items in queues of threads or tasks",
    "processes": "child processes; queues, pipes and pools of multiprocessing",
    "http": "HTTP requests by W3C traceparent: clients and servers",
    "sockets": "data on sockets and pipes between recorded processes",
    "redis_values": "producers of values in redis lists, channels and streams, matched by content",
    "sqlite_locks": "holders of the write locks of SQLite databases, and statements that wait for them",
}


class Cost(TypedDict):
    """A measurement of `benchmarks/packs.py`."""

    operation: str
    us: float
    """Microseconds of one operation without the pack."""
    added: float
    """Additional microseconds with the pack."""


@functools.cache
def shipped() -> dict[str, str]:
    """Return name and text of each pack, the standard library's first."""
    folder = files("clew.esl.packs")
    return {
        entry.name.removesuffix(".esl"): entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: (entry.name != "standard.esl", entry.name))
        if entry.name.endswith(".esl")
    }


@functools.cache
def path_of(name: str) -> str:
    """Return the file of a pack that is a spec, whether or not it exists."""
    return str(Path(str(files("clew.esl.packs").joinpath(f"{name}.esl"))).resolve())


@functools.cache
def costs() -> dict[str, Cost]:
    """Return the costs of the measured packs."""
    found: dict[str, Cost] = json.loads(files("clew.esl.packs").joinpath("costs.json").read_text("utf-8"))
    return found


def about(name: str) -> str:
    """Describe a pack in a sentence: the first line of its file, which is a comment."""
    if name in _ADAPTERS_ADD:
        return _ADAPTERS_ADD[name]
    first = shipped()[name].lstrip().partition("\n")[0]
    return first.lstrip("/# ").rstrip() if first.startswith(("//", "#")) else ""


def adapter_of(name: str) -> str | None:
    """Return the adapter of a name; None for a pack that is a spec."""
    return name if name in LIBRARY_ADAPTERS else ADAPTERS.get(name)


def known() -> tuple[str, ...]:
    return (*ADAPTERS, *shipped(), *LIBRARY_ADAPTERS)
