"""Find cancellations that interrupted a clean-up: a cancelled task was cancelled again while it closed something.

The recorded stack of the second wait, or a recorded call around it, must be of a function that closes, by its name.

A scope of anyio interrupts every await of its tasks by design, and code that expects this closes at once instead. So it is a
fault only if something was left open: the connection that the task used last, which nobody closed or used afterwards. That
the clean-up concerned this connection is inferred.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.words import names, offset, where, who
from clew.graph.ops.facts.connection_ends import ConnectionEnds
from clew.graph.ops.facts.facts import Fact, Facts, Waiting
from clew.graph.ops.facts.scopes import is_repeated
from clew.records.format.facts import Cancel, Frame

KIND = "cancellation-misdirected"
_CLOSING = frozenset({
    "close", "aclose", "__aexit__", "__exit__", "terminate", "disconnect", "shutdown", "release", "rollback", "cleanup",
    "stop", "dispose", "wait_closed", "unlock", "unsubscribe", "commit", "putconn", "flush",
})  # fmt: skip
_ENDING = frozenset(
    {"close", "aclose", "terminate", "disconnect", "shutdown", "dispose", "wait_closed", "aexit", "exit"}
)
"""Of these, the functions that end a connection: `Connection.close`."""
LATEST_NS = 20_000_000
_BASIS = "the last connection that the task used: it stayed open and idle"


@dataclass(frozen=True)
class _Interrupted:
    """A wait that was cancelled, and the wait of the clean-up after it, which was cancelled, too."""

    strand: int
    first: Waiting
    second: Waiting
    closing: str
    """The function that closes."""
    frame: Frame | None
    """Its frame, None if only its call was recorded."""
    left: int = -1
    """The last use of the connection that was left open, -1 if the interruption itself is the fault."""


def find(facts: Facts) -> list[Finding]:
    """Return the interrupted clean-ups of a run: at most one for each task, or for the tasks that left connections open in
    the same function."""
    found = []
    alike: dict[str, list[_Interrupted]] = defaultdict(list)
    for strand, cancels in cancels_of(facts).items():
        pair = _interrupted(facts, strand, cancels) if len(cancels) > 1 else None
        if pair:
            found.append(_finding(facts, cancels, pair))
            continue
        pair = _left_open(facts, strand, cancels)
        if pair:
            alike[pair.closing].append(pair)
    return [*found, *(_finding_left_open(facts, pairs) for pairs in alike.values())]


def _interrupted(facts: Facts, strand: int, cancels: list[Fact[Cancel]]) -> _Interrupted | None:
    """Return an interrupted wait and the interrupted wait of its clean-up, None if there are none.

    Only waits of clean-ups may lie between the two.
    """
    waits = facts.waits_of.of(strand)
    for place in np.flatnonzero(waits.ended("cancelled")).tolist():
        first = waits[place]
        if first.wake is None or closing_frame(first.begin.text.at) is not None or _cancel_in(first, cancels) is None:
            continue
        for wait in waits[place + 1 :]:
            frame = closing_frame(wait.begin.text.at)
            if frame is None:
                break
            stopped = wait.end == "cancelled" and _cancel_in(wait, cancels) is not None
            if stopped and wait.begin.ns >= first.wake.ns:
                return _Interrupted(strand, first, wait, _short(frame.function), frame)
    return None


def _left_open(facts: Facts, strand: int, cancels: list[Fact[Cancel]]) -> _Interrupted | None:
    """Return the clean-up that a scope of anyio interrupted, if the task's connection then stayed open."""
    ended = facts.ended.get(strand)
    asked = next((cancel for cancel in cancels if is_repeated(cancel)), None)
    if asked is None or ended is None or ended.text.end != "cancelled":
        return None
    waits = facts.waits_of.of(strand)
    stopped = waits.take(waits.ended("cancelled") & (waits.wake_ns >= asked.ns))
    for wait in stopped[:0:-1]:
        closing = _closing(facts, wait) if not _tasks_awaited(wait) else None
        if closing and _plain(closing[0]).strip("_") in _ENDING:
            assert wait.wake
            left = ConnectionEnds.of(facts.graph).left_open(strand, wait.wake.row)
            # A connection that is left in the last moments of a run may be closed by the end of the program.
            if left >= 0 and facts.last_ns - wait.wake.ns >= LATEST_NS:
                return _Interrupted(strand, stopped[0], wait, _short(closing[0]), closing[1], left)
    return None


def _closing(facts: Facts, wait: Waiting) -> tuple[str, Frame | None] | None:
    """Return the function that closes around a wait: of its stack, else of the recorded calls; None if there is none."""
    frame = closing_frame(wait.begin.text.at)
    if frame is not None:
        return frame.function, frame
    graph = facts.graph
    around = graph.with_callers(graph.call_of(wait.begin.row))
    names = (graph.sites[graph.at("site", call)].qualname for call in around)
    return next(((name, None) for name in names if _plain(name) in _CLOSING), None)


def _tasks_awaited(wait: Waiting) -> bool:
    """Return whether a wait is for the end of tasks, which goes on, or is another task's clean-up."""
    return wait.begin.channel == "asyncio.task"


def _cancel_in(wait: Waiting, cancels: list[Fact[Cancel]]) -> Fact[Cancel] | None:
    """Return the first cancellation during a wait."""
    at = bisect_left(cancels, wait.begin.ns, key=lambda cancel: cancel.ns)
    return cancels[at] if at < len(cancels) and wait.covers(cancels[at].ns) else None


def _finding(facts: Facts, cancels: list[Fact[Cancel]], pair: _Interrupted) -> Finding:
    asked, again = _cancel_in(pair.first, cancels), _cancel_in(pair.second, cancels)
    assert asked and again
    claims = (
        cancel_claim(facts, pair.strand, asked, *pair.first.rows),
        _began(facts, pair),
        Claim(
            f"It was cancelled again at {offset(again.ns)}, so {pair.closing} did not finish.",
            (again.row, pair.second.rows[-1]),
        ),
    )
    return Finding(KIND, Reason.CONTROL, claims, (Victim(pair.strand, pair.second.begin.row, -1),))


def _finding_left_open(facts: Facts, pairs: list[_Interrupted]) -> Finding:
    """Return the finding for tasks that left connections open in one function; its sentences tell the first one's."""
    pair = pairs[0]
    asked = next(cancel for cancel in cancels_of(facts)[pair.strand] if is_repeated(cancel))
    others = [other.strand for other in pairs[1:]]
    task = who(facts, pair.strand)
    also = f"; so did {_others(facts, task, others)}" if others else ""
    rows = tuple(row for other in pairs for row in (other.second.rows[-1], other.left))
    end = (
        f"The scope interrupted this, too, so {pair.closing} did not finish, and {task} left its connection open{also}."
    )
    claims = (cancel_claim(facts, pair.strand, asked, *pair.first.rows), _began(facts, pair), Claim(end, rows))
    victims = tuple(Victim(other.strand, other.second.begin.row, -1) for other in pairs)
    return Finding(KIND, Reason.RESOURCE, claims, victims, "inferred", _BASIS)


def _others(facts: Facts, task: str, strands: list[int]) -> str:
    if all(who(facts, strand) == task for strand in strands):
        return f"{len(strands)} other tasks {task}" if len(strands) > 1 else f"another task {task}"
    return names(facts, strands)


def _began(facts: Facts, pair: _Interrupted) -> Claim:
    place = f" ({os.path.basename(pair.frame.file)}:{pair.frame.line})" if pair.frame else ""
    at = where(pair.second.begin.text.at, facts)
    inside = f" in {at}" if at and f"({at.rpartition(', ')[2]})" not in place else ""
    text = f"{who(facts, pair.strand)} then began to clean up in {pair.closing}{place} and waited{inside}"
    return Claim(f"{text}.", (pair.second.begin.row,))


def closing_frame(at: tuple[Frame, ...]) -> Frame | None:
    """Return the outermost frame of a stack whose function closes something, by its name; None if there is none."""
    return next((frame for frame in reversed(at) if _plain(frame.function) in _CLOSING), None)


def _short(function: str) -> str:
    return function.rpartition(".<locals>.")[2]


def _plain(function: str) -> str:
    name = function.rpartition(".")[2]
    return name if name.endswith("__") else name.lstrip("_")
