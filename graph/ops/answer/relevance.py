"""Tell what of a strand's past may have led to one of its rows.

A thread or task that lives long waits, receives and handles exceptions again and again. These count for a row only while
they go on, or if nothing came in between: the last wait counts in the row's own call or below it, and what a call received
counts until the call waits or receives again.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from clew.graph.ops.diagnoses.significance import FAILED_NS, innermost_call
from clew.graph.ops.facts.facts import Facts, Waiting, Waits
from clew.records.format.event import Kind

MOST_CALLS = 1000
"""The most calls around a row that are looked at."""


def last_waits(facts: Facts, strand: int, row: int) -> Waits:
    """Return the waits that may have led to a row: those that go on, and the last one, with those right before at its line."""
    waits = facts.waits_of.of(strand)
    before = waits[: int(np.searchsorted(waits.row, row, "right"))]
    chosen: list[int] = []
    last: Waiting | None = None
    for place in range(len(before) - 1, -1, -1):
        wait = before[place]
        if wait.wake is None or wait.begin.row == row or wait.wake.row > row:
            chosen.append(place)
        elif _is_short(facts, wait):
            continue
        elif _stack(wait) == _stack(last) if last is not None else _is_near(facts, wait, row):
            chosen.append(place)
            last = wait
        else:
            break
    return before.take(np.array(chosen, np.int64))


def waits_during(facts: Facts, strand: int, begin_ns: int, end_ns: int) -> Waits:
    """Return the waits of a strand that overlap a range of time."""
    waits = facts.waits_of.of(strand)
    return waits.take((waits.begin_ns < end_ns) & (waits.until_ns(facts.last_ns) > begin_ns))


def _is_short(facts: Facts, wait: Waiting) -> bool:
    return wait.end == "satisfied" and wait.until_ns(facts.last_ns) - wait.begin.ns < FAILED_NS


def _stack(wait: Waiting) -> tuple[object, ...]:
    return wait.begin.channel, *((frame.file, frame.line) for frame in wait.begin.text.at)


def _is_near(facts: Facts, wait: Waiting, row: int) -> bool:
    """Return whether a wait was in the row's own call or below it, or right before the call that led to the row."""
    assert wait.wake is not None
    graph = facts.graph
    own, waited_in = calls_around(facts, row), innermost_call(facts, wait.begin.row)
    if not own or own[0] in calls_around(facts, waited_in):
        return True
    enters = graph.rows_of([Kind.ENTER])
    at = int(np.searchsorted(enters, wait.wake.row))
    return waited_in in (*own, -1) and at < len(enters) and int(enters[at]) in own


def calls_around(facts: Facts, row: int) -> list[int]:
    """Return the calls around a row in its strand, innermost first; a call's ENTER is in the call."""
    return list(islice(facts.graph.with_callers(facts.graph.call_of(row)), MOST_CALLS)) if row >= 0 else []


def is_fresh(facts: Facts, target: int, row: int, *, started: bool = False) -> bool:
    """Return whether what a strand received at `target` may have led to its row.

    A call around the row, or a call below the row's own, must have received it and not waited since. What a call below got,
    other than a state, counts until its function is called again. `started` is true for the row that started another strand:
    then only a call around the row counts.
    """
    graph = facts.graph
    receiver, own = graph.owner_of(target), calls_around(facts, row)
    inside = receiver in own
    below = not own or own[0] in calls_around(facts, receiver)
    if not inside and (started or not below):
        return False
    strand = graph.at("strand", target)
    if strand != graph.at("strand", row):
        return True
    if not inside and graph.at("kind", target) != Kind.USE and _is_called_again(facts, receiver, target, row):
        return False
    waits = facts.waits_of.of(strand)
    between = waits[int(np.searchsorted(waits.row, target)) : int(np.searchsorted(waits.row, row))]
    for wait in between:
        if not _is_short(facts, wait) and (not inside or innermost_call(facts, wait.begin.row) == receiver):
            return False
    return True


def _is_called_again(facts: Facts, call: int, after: int, before: int) -> bool:
    """Return whether the function of a call is called again, in the same strand, between two rows."""
    graph = facts.graph
    enters = graph.rows_of([Kind.ENTER])
    later = enters[int(np.searchsorted(enters, after)) : int(np.searchsorted(enters, before))]
    return call >= 0 and bool(np.any(graph.site[later] == graph.at("site", call)))
