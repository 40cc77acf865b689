"""Waits for the end of a child process: `Popen.wait` and `communicate`, `multiprocessing.Process.join`.

Channel: "process.end". The object is the child, and `target` is the key of its start, so that a reader finds what the child
did meanwhile. Invariant: a child that has ended already leaves no wait, and its status is left to the program's own call.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.fast_namedtuple import NamedTuple

_waitid = getattr(os, "waitid", None)  # before it has a hook of its own
_LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT if _waitid else 0


class ProcessWait(NamedTuple):
    """A recorded wait, and what tells how it ended."""

    token: Any
    limit: float | None
    since: float


def begin(  # noqa: PLR0917  # what identifies a child, and the limit
    child: Any, pid: int, sentinel: int, start: int, name: str, limit: object
) -> ProcessWait | None:
    """Record that the thread begins to wait for a child, unless that does not block.

    `start` is the key of its start, and `sentinel` a descriptor that can be read when it has ended, or -1.
    """
    if not core.active() or not _blocks(pid, sentinel, limit):
        return None
    fields = {"name": name, "target": start}
    text = "".join(f"{json.dumps(word)}:{json.dumps(value)}," for word, value in fields.items() if value)
    token = core.wait(intern("process.end"), core.object_key(child), limit, text.encode("utf-8", "replace"))
    seconds = float(limit) if isinstance(limit, (int, float)) else None
    return None if token is None else ProcessWait(token, seconds, time.monotonic())


def over(wait: ProcessWait, has_ended: bool) -> None:
    """Record the end of the wait."""
    late = wait.limit is not None and time.monotonic() - wait.since >= wait.limit
    core.wake(wait.token, "" if has_ended else "timeout" if late else "failed")


def _blocks(pid: int, sentinel: int, limit: object) -> bool:
    if isinstance(limit, (int, float)) and limit <= 0:
        return False
    try:
        if _waitid is not None:
            return _waitid(os.P_PID, pid, _LOOK) is None
    except OSError:  # a fork server's child, or one that other code has waited for
        pass
    if sentinel < 0:
        return False
    poll = select.poll()
    poll.register(sentinel, select.POLLIN)
    return not poll.poll(0)
