"""What `include NAME` stands for: an adapter of the recorder, or a spec shipped with clew in `packs/`.

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
"""Names in a spec, and the adapters of the standard library they stand for."""
LIBRARY_ADAPTERS = {"redis_values": "redis"}
"""Adapters of libraries, under their own names: parts of packs that the language cannot say."""
_ADAPTERS_ADD = {
    "asyncio": "tasks, futures and callbacks of asyncio",
    "threads": "who started and joined a thread",
    "locks": "who let a waiting thread go on: locks, conditions, events, semaphores, barriers",
    "callbacks": "who registered what a signal, an exit, a timer or a finalizer runs; what the garbage collector runs",
    "executors": "thread pools: from submit to the run, from there to the result",
    "queues": "who put an item into a queue of threads or tasks",
    "processes": "child processes, multiprocessing's queues, pipes and pools",
    "http": "requests of HTTP by W3C traceparent: clients and servers",
    "sockets": "bytes of sockets and pipes between recorded processes",
    "redis_values": "who put into redis what is taken out: lists, channels, streams, by their contents",
}


class Cost(TypedDict):
    """What `benchmarks/packs.py` measured."""

    operation: str
    us: float
    """One operation takes without the pack, in microseconds."""
    added: float
    """And that much more with it."""


@functools.cache
def shipped() -> dict[str, str]:
    """Name and text of each pack, the standard library's first."""
    folder = files("clew.esl").joinpath("packs")
    return {
        entry.name.removesuffix(".esl"): entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: (entry.name != "standard.esl", entry.name))
        if entry.name.endswith(".esl")
    }


@functools.cache
def path_of(name: str) -> str:
    """The file of a pack that is a spec, whether or not there is one."""
    return str(Path(str(files("clew.esl").joinpath("packs", f"{name}.esl"))).resolve())


@functools.cache
def costs() -> dict[str, Cost]:
    """Of the packs that were measured."""
    found: dict[str, Cost] = json.loads(files("clew.esl").joinpath("packs", "costs.json").read_text("utf-8"))
    return found


def about(name: str) -> str:
    """What a pack adds, in a sentence: the first line of its file, which is a comment."""
    if name in _ADAPTERS_ADD:
        return _ADAPTERS_ADD[name]
    first = shipped()[name].lstrip().partition("\n")[0]
    return first.lstrip("/# ").rstrip() if first.startswith(("//", "#")) else ""


def adapter_of(name: str) -> str | None:
    """The adapter that a name stands for; None for a pack that is a spec."""
    return name if name in LIBRARY_ADAPTERS else ADAPTERS.get(name)


def known() -> tuple[str, ...]:
    return (*ADAPTERS, *shipped(), *LIBRARY_ADAPTERS)
