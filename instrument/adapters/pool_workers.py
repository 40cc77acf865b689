"""Waits for futures of thread pools: which threads are the pool's workers, and which of them runs the awaited work item.

A WAIT of the channel "executor.result" has the future's key, as the SEND and the SCOPE_BEGIN of its work item
("executor.submit") and the SEND of its outcome ("executor.result") have. Its holders are the worker that runs the item, or,
until one does, all workers that run other items of the pool. `held_ns` counts from the beginning of the item that runs.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from clew.instrument.adapters.facts.waits import waits_in
from clew.instrument.adapters.patching import operate
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core

_DICT, _WORKERS = "__dict__", "_clew_workers"
_get = object.__getattribute__  # a program's class may define `__getattribute__`


class Workers:
    """The workers of one pool that run a work item now."""

    __slots__ = ("process", "running", "size")

    def __init__(self, size: int) -> None:
        self.size, self.process = size, core.uid()
        self.running: dict[int, tuple[int, int]] = {}
        """By the serial of the thread: the key of the item's future, and since when, in ns of the monotonic clock."""


def note_workers(pool_class: Any) -> None:
    """Make futures of a class of thread pools know the workers of their pool."""

    def queued(pool: Any, item: Any) -> None:
        owned = _get(pool, _DICT)
        workers = owned.get(_WORKERS)
        if workers is None or workers.process != core.uid():
            workers = owned[_WORKERS] = Workers(pool._max_workers)
        _get(item.future, _DICT)[_WORKERS] = workers

    def observe(pool: Any, item: Any) -> None:
        try:
            queued(pool, item)
        except Exception:  # the program's own kind of pool
            return

    # A `Quiet` in the class is not bound to the instance.
    operand = type("Queued", (), {"__setitem__": Quiet(observe)})()
    operate(pool_class.submit, stores={"w": (operand, ("self", "w"))})


def workers_of(future: Any) -> Workers | None:
    """Return the workers of a future's pool, None if they are unknown."""
    workers = _get(future, _DICT).get(_WORKERS)
    return workers if type(workers) is Workers and workers.process == core.uid() else None


def record_waits(module: Any) -> None:
    """Record the waits of `concurrent.futures`. A wait for several futures is for one of them if it needs them all."""
    future = module.Future
    for function in (future.result, future.exception):
        waits_in(function, "executor.result", describe=describe)
    waits_in(module.wait, "executor.result", "not_done", describe=_describe_all)
    waits_in(module.as_completed, "executor.result", "pending", describe=_describe_all)


def describe(future: Any) -> tuple[int, bytes]:
    """Return a future's key and fields of a WAIT for it: the pool's capacity and the holders, if they are known."""
    key, workers = core.object_key(future), workers_of(future)
    if workers is None:
        return key, b""
    running = list(workers.running.items())
    own = [each for each in running if each[1][0] == key]
    now = time.monotonic_ns()
    holders = [{"thread": thread, "held_ns": now - since} for thread, (_, since) in own or running]
    return key, f'"capacity":{workers.size},"holders":{json.dumps(holders)},'.encode()


def _describe_all(futures: Any) -> tuple[int, bytes]:
    first = next(iter(futures), None)
    if first is None:
        return fresh_key(), b""
    frame: Any = sys._getframe()
    while frame is not None and "return_when" not in frame.f_code.co_varnames:
        frame = frame.f_back
    if len(futures) == 1 or (frame is not None and frame.f_locals.get("return_when") == "ALL_COMPLETED"):
        return describe(first)
    return fresh_key(), f'"name":"{len(futures)} futures",'.encode()
