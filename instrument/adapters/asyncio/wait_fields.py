"""What a WAIT tells: the members of its JSON text (an object without its braces), and the object behind a future."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii
from typing import Any

from clew.instrument.recorder.core import core

MOST_TARGETS = 16


def seconds(limit: object) -> float | None:
    """Return a time limit as a number; None for no limit and for numbers of the program's own types."""
    return float(limit) if type(limit) is int or type(limit) is float else None


def ends_of(futures: Iterable[Any], limit: object = None) -> bytes:
    """Return the members for a wait for the ends of `futures`."""
    task_type = sys.modules["asyncio.tasks"].Task
    tasks: list[Any] = []
    for future in futures:
        if isinstance(future, task_type) and not task_type.done(future):
            tasks.append(future)
            if len(tasks) == MOST_TARGETS:
                break
    members = []  # not by `json`, which takes three times as long
    if len(tasks) == 1:
        members.append(f'"target":{core.strand_key(tasks[0])}')
        name = task_type.get_name(tasks[0])
        if type(name) is str:
            members.append(f'"name":{encode_basestring_ascii(name)}')
    elif tasks:
        members.append(f'"targets":[{",".join(str(core.strand_key(task)) for task in tasks)}]')
    allowed = seconds(limit)
    if allowed and math.isfinite(allowed):
        members.append(f'"limit":{allowed}')
    return ",".join(members).encode()


def blocking(name: str, channel: int, waiters: str) -> dict[str, tuple[object, tuple[str, ...]]]:
    """Return `stores` for a method that blocks on a new future, which it stores into the local `name`.

    `waiters` is the attribute with the futures of those that wait already. An object that belongs to another one (a queue's
    event) is waited for on behalf of that.
    """
    return {name: (core.blocking(channel, waiters), (name, "self"))}
