"""Define the texts of facts (WAIT, WAKE, HOLD, RETURN, EXCEPTION, CANCEL, ENDED): JSON objects, one class per kind.

Invariant: a reader accepts any text. A field that is missing or of another type has its default.
"""

import functools
import json
from typing import Any

from clew.records.fast_namedtuple import NamedTuple


class Frame(NamedTuple):
    """A line of a stack."""

    file: str
    line: int
    function: str
    column: int = -1
    """The first and the last column (in UTF-8 bytes, from 0) of the expression that runs, -1 when unknown."""
    end_column: int = -1


class Holder(NamedTuple):
    """Who holds a resource."""

    thread: int = 0
    """The serial of its thread, 0 when unknown."""
    strand: int = 0
    """The key of its task, 0 for the thread itself."""
    held_ns: int = -1
    """For how long the holder has had it, -1 when unknown."""
    at: tuple[Frame, ...] = ()
    """The stack where the holder took it, innermost first."""
    process: int = 0
    """The uid of the process that took it if that is not this process, which was forked meanwhile; else 0."""
    name: str = ""


class Wait(NamedTuple):
    """WAIT: what the strand waits for."""

    name: str = ""
    """The object's own name (a task's, a thread's), not that of a variable."""
    limit: float | None = None
    """The time limit in seconds, None for no limit."""
    at: tuple[Frame, ...] = ()
    """The stack of the wait, innermost first: lines of the program and of libraries, without clew's own."""
    holders: tuple[Holder, ...] = ()
    waiters: int = 0
    """The number of others that waited for the object already."""
    target: int = 0
    """The key of the task, or the serial of the thread, whose end is awaited; 0 if the object is neither."""
    targets: tuple[int, ...] = ()
    """The keys of the tasks whose ends are awaited together, if there are several: the unfinished ones, at most 16."""
    capacity: int = 0
    """The number of slots of the resource, 0 when it has none."""
    item: int = 0
    """The key of the slot (a connection, …) that a HOLD is about, 0 when slots are alike."""
    stack: int = 0
    """The number of the stack, 0 for none: facts of a process with the same number have the same `at`, which only the first
    of them contains."""
    cancelling: int = 0
    """How many accepted requests for cancellation the task has not taken back by `uncancel`; 0 also where the next one
    interrupts this wait at once."""
    handling: bool = False
    """Whether the task waits while it handles a CancelledError, as a clean-up does; only told if `cancelling` is not 0."""
    owner: int = 0
    """For a future of which nothing else is known, the object whose method awaits it: a number that is its own as long as
    the wait lasts; 0 for a function."""


class Wake(NamedTuple):
    """WAKE: how a wait ended."""

    end: str = "satisfied"
    """"satisfied", "timeout", "cancelled", or "failed" (by another exception)."""
    given: bool = False
    """Whether what it waited for had been given to it when it was cancelled (or timed out)."""
    empty: bool = False
    """Whether what was given is None, so that it only woke the waiter."""
    item: int = 0
    """The key of the slot that a RETURN gives back, 0 when slots are alike."""


class Exception_(NamedTuple):
    """EXCEPTION: an exception that left a recorded call, was handled when a line was logged, or ended a task or thread."""

    message: str = ""
    role: str = "raised"
    """"raised" (it leaves a call), "handled" (a line was written in its `except` block), "ended" (its strand ended by it),
    "unretrieved" (nobody took it from its task), "context" (another exception names it)."""
    at: tuple[Frame, ...] = ()
    """Its traceback, innermost (where it was raised) first."""
    cause: int = 0
    """The key of its `__cause__`, which is recorded before it; 0 for none."""
    context: int = 0
    """The key of its `__context__`."""
    members: tuple[int, ...] = ()
    """The keys of an exception group's members."""


class Cancel(NamedTuple):
    """CANCEL: a request for cancellation."""

    message: str = ""
    target: str = ""
    """The name of the task or scope to be cancelled."""
    deadline: bool = False
    """Whether a time limit asked for it, not code."""
    at: tuple[Frame, ...] = ()
    accepted: bool = True
    """Whether the target was still running."""
    own: bool = False
    """Whether the target itself entered the scope (a time limit, a task group) that asks for it."""
    stack: int = 0
    """As in `Wait`."""


class Ended(NamedTuple):
    """ENDED: how a task ended, other than by returning."""

    end: str = "failed"
    """"cancelled", "failed" or "pending" (it was destroyed before its end; the record is on the strand that dropped it)."""
    exception: int = 0
    """The key of the EXCEPTION that ended it, 0 if it was not recorded."""


MOST_FRAMES = 8
_FRAME_TYPES = (str, int, str, int, int)


def dump(fact: NamedTuple) -> str:
    """Return a fact's text; fields with their defaults are left out."""
    return json.dumps(_plain(fact), ensure_ascii=False, separators=(",", ":"))


def _plain(fact: Any) -> Any:
    if isinstance(fact, Frame):
        return list(fact)
    if hasattr(fact, "_asdict"):
        default = type(fact)()
        return {name: _plain(value) for name, value in fact._asdict().items() if value != getattr(default, name)}
    if isinstance(fact, tuple):
        return [_plain(item) for item in fact]
    return fact


@functools.lru_cache(maxsize=1 << 14)
def load(kind: type[Any], text: str) -> Any:
    """Return the fact of class `kind` in a text. Facts of a loop have the same text, so the last ones are kept."""
    try:
        data = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        data = {}
    return _made(kind, data)


def _made(kind: type[Any], data: Any) -> Any:
    fact = kind()
    if not isinstance(data, dict):
        return fact
    for name, value in data.items():
        if name not in kind._fields:
            continue
        default = getattr(fact, name)
        if name == "at":
            made: Any = tuple(frame for frame in map(_frame, value if isinstance(value, list) else ()) if frame)
        elif name == "holders":
            made = tuple(_made(Holder, holder) for holder in (value if isinstance(value, list) else ()))
        elif name in {"members", "targets"}:
            made = tuple(key for key in (value if isinstance(value, list) else ()) if type(key) is int)
        elif name == "limit":
            made = float(value) if type(value) in (int, float) else None
        elif type(value) is type(default):
            made = value
        else:
            continue
        fact = fact._replace(**{name: made})
    return fact


def _frame(data: Any) -> Frame | None:
    try:
        return _frame_of(*data)
    except TypeError:  # it is no list, has another length, or holds a list or an object
        return None


@functools.lru_cache(maxsize=1 << 12, typed=True)
def _frame_of(file: Any, line: Any, function: Any, column: Any = -1, end_column: Any = -1) -> Frame | None:
    frame = Frame(file, line, function, column, end_column)
    return frame if all(type(item) is type_ for item, type_ in zip(frame, _FRAME_TYPES, strict=True)) else None
