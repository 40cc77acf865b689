"""What a WAIT tells: the members of its JSON text (an object without its braces), and the object behind a future."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from clew.instrument.recorder.core import core

MOST_TARGETS = 16


def fields(**values: Any) -> bytes:
    """Return members of a JSON object; a value of None, 0, "" or an empty list is left out."""
    given = {name: value for name, value in values.items() if value}
    return json.dumps(given, separators=(",", ":"))[1:-1].encode()


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
    keys = [core.strand_key(task) for task in tasks]
    if len(tasks) != 1:
        return fields(targets=keys, limit=seconds(limit))
    name = task_type.get_name(tasks[0])
    return fields(target=keys[0], name=name if type(name) is str else "", limit=seconds(limit))


def blocking(name: str, channel: int, waiters: str) -> dict[str, tuple[object, tuple[str, ...]]]:
    """Return `stores` for a method that blocks on a new future, which it stores into the local `name`.

    `waiters` is the attribute with the futures of those that wait already. An object that belongs to another one (a queue's
    event) is waited for on behalf of that.
    """
    return {name: (core.blocking(channel, waiters), (name, "self"))}
