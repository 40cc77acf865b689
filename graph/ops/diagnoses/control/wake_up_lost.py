"""Find wake-ups that were lost: they went to a waiter that was cancelled and did not pass them on.

The event loop runs one step of a task for its wake-up and its cancellation. If the wake-up came first, the object
counts the waiter as woken, but the waiter never used the wake-up. Another waiter of the object should then have it.

A pool of a program's own gives each waiter a future of its own. Waiters of one pool are then inferred: they wait at one
line in methods of one object, and the future carries no value, or who gave it had been such a waiter, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import offset, seconds, thing, who
from clew.graph.ops.facts.columns.views import I64
from clew.graph.ops.facts.facts import Fact, Facts, Waiting, Waits
from clew.graph.render.library import library_place
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel

KIND = "wake-up-lost"
_OBJECTS = frozenset({"asyncio.condition", "asyncio.lock", "asyncio.semaphore", "asyncio.queue", "asyncio.event"})
_BARE = "asyncio.future"
_HANDLE = "asyncio.handle"
_BASIS = "the line, at which both tasks awaited a future of their own"


def find(facts: Facts) -> list[Finding]:
    """Return the lost wake-ups of a run."""
    cancels = cancels_of(facts)
    lost = [
        (wait, cancel)
        for strand in cancels
        for wait in _cancelled_waits(facts, strand)
        for cancel in [_cancel_of(wait, cancels[strand])]
        if cancel
    ]
    if not lost:
        return []
    wake_ups = _wake_ups(facts, {wait.strand for wait, _ in lost})
    found = []
    for wait, cancel in lost:
        giver = _giver(facts, wait, cancel, wake_ups)
        if giver >= 0 and wait.begin.channel == _BARE and not (_wakes_only(wait) or _waited_there(facts, giver, wait)):
            continue
        starved = _starved(facts, wait, cancel) if giver >= 0 else []
        if starved:
            found.append(_finding(facts, wait, cancel, giver, starved))
    return found


def _cancelled_waits(facts: Facts, strand: int) -> Iterator[Waiting]:
    """Yield the waits of a strand that ended by a cancellation and may have been given what they were for."""
    waits = facts.waits_of.of(strand)
    known = waits.of_channels(_OBJECTS.__contains__)
    for wait in waits.take(waits.ended("cancelled") & (known | waits.of_channels(_BARE.__eq__))):
        if wait.begin.channel != _BARE or _may_be_pooled(wait):
            yield wait


def _may_be_pooled(wait: Waiting) -> bool:
    """Return whether a wait is for a bare future that was given, outside the standard library, whose futures are known."""
    at = wait.begin.text.at
    given = wait.begin.channel == _BARE and wait.wake is not None and wait.wake.text.given
    return given and bool(at) and not library_place(at[0].file).startswith("<stdlib>")


def _wakes_only(wait: Waiting) -> bool:
    """Return whether what was given carries no value."""
    return wait.wake is not None and wait.wake.text.empty


def _waited_there(facts: Facts, giver: int, wait: Waiting) -> bool:
    """Return whether the strand of a giver had called the function that waits: it gave back what it had got there."""
    graph, frame = facts.graph, wait.begin.text.at[0]
    named = (frame.file, frame.function)
    sites = [number for number, site in enumerate(graph.sites) if (site.file, site.qualname) == named]
    rows = slice(graph.strand_of(giver).start, giver)
    return bool((np.isin(graph.site[rows], sites) & (graph.kind[rows] == Kind.ENTER)).any())


def _alike(facts: Facts, wait: Waiting) -> Waits:
    """Return the waits for the same object; for a bare future, those at the same line in methods of the same object."""
    if wait.begin.channel != _BARE:
        return facts.waits_for.of(*wait.resource)
    text = wait.begin.text
    bare = facts.waits.take(facts.waits.of_channels(_BARE.__eq__) & (facts.waits.process == wait.begin.process))
    same = [other.begin.text.at[:1] == text.at[:1] and other.begin.text.owner == text.owner for other in bare]
    return bare.take(np.array(same, bool))


def _cancel_of(wait: Waiting, cancels: list[Fact[Cancel]]) -> Fact[Cancel] | None:
    """Return the cancellation that interrupted a wait."""
    at = bisect_left(cancels, wait.begin.ns, key=lambda cancel: cancel.ns)
    return cancels[at] if at < len(cancels) and wait.covers(cancels[at].ns) else None


def _wake_ups(facts: Facts, strands: set[int]) -> tuple[I64, I64]:
    """Return the edges that made the loop run steps of some tasks: their targets, ascending, and their sources."""
    graph = facts.graph
    edges = np.flatnonzero(graph.edge_channel == graph.channel_ids.get(_HANDLE, -1))
    sources, targets = graph.edge_src[edges], graph.edge_dst[edges]
    chosen = np.isin(graph.strand[targets], list(strands)) & (graph.kind[targets] == Kind.JOIN)
    sources, targets = sources[chosen], targets[chosen]
    order = np.lexsort((sources, targets))
    return targets[order], sources[order]


def _giver(facts: Facts, wait: Waiting, cancel: Fact[Cancel], wake_ups: tuple[I64, I64]) -> int:
    """Return the row that woke a waiter before it was cancelled, -1 if nothing did.

    A step that a wake-up and a cancellation cause has an edge from each. A cancellation without an earlier wake-up
    settles the future itself, so that there is one edge.
    """
    assert wait.wake
    graph = facts.graph
    targets, sources = wake_ups
    low, high = np.searchsorted(targets, [wait.begin.row, wait.wake.row], "right")
    inside: list[int] = [source for source in sources[low:high].tolist() if graph.at("ts", source) >= wait.begin.ns]
    inside.sort(key=lambda source: graph.at("ts", source))
    if len(inside) >= 2 and graph.at("ts", inside[0]) < cancel.ns:
        return inside[0]
    return -1


def _starved(facts: Facts, wait: Waiting, cancel: Fact[Cancel]) -> list[Waiting]:
    """Return the waits for the same object that the wake-up should have ended, and that it did not end."""
    assert wait.wake
    alike = _alike(facts, wait)
    later = alike.take((alike.until_ns(facts.last_ns) > wait.wake.ns) & (alike.strand != wait.strand))
    others = later.take(later.begin_ns < cancel.ns)
    # A later waiter is served behind those who wait already, unless they wait for different things.
    if (later if wait.begin.channel == _BARE else others).ended("satisfied").any():
        return []
    cancels = cancels_of(facts)
    waited = []
    for other in others:
        at_once = any(cancel.ns <= asked.ns <= wait.wake.ns for asked in cancels.get(other.strand, ()))
        if not at_once and other.end in ("timeout", "never", "cancelled"):
            waited.append(other)
    return waited


def _finding(facts: Facts, wait: Waiting, cancel: Fact[Cancel], giver: int, starved: list[Waiting]) -> Finding:
    assert wait.wake
    graph = facts.graph
    name, waiter = thing(wait, facts), who(facts, wait.strand)
    woke = Claim(
        f"{who(facts, graph.at('strand', giver))} woke {waiter}, which waited for {name}, at "
        f"{offset(graph.at('ts', giver))}{in_brackets(place(facts, giver))}.",
        (wait.begin.row, giver),
    )
    asked = cancel_claim(facts, wait.strand, cancel, wait.wake.row)
    asked = Claim(
        f"{asked.text[:-1]}, before {waiter} ran again, and {waiter} did not pass the wake-up on.", asked.events
    )
    ends = {
        "never": "to the end of the recording",
        "timeout": "until its time limit",
        "cancelled": "until it was cancelled",
    }
    first = starved[0]
    waited = seconds(first.until_ns(facts.last_ns) - first.begin.ns)
    also = f", as did {len(starved) - 1} more" if len(starved) > 1 else ""
    names = f"{who(facts, first.strand)} waited for {name} for {waited}, {ends[first.end]}{also}: nothing woke it."
    rows = tuple(row for other in starved[:10] for row in other.rows)
    bare = wait.begin.channel == _BARE
    return Finding(
        KIND,
        Reason.RESOURCE,
        (woke, asked, Claim(names, rows)),
        tuple(Victim(other.strand, other.begin.row, -1) for other in starved),
        "inferred" if bare else "recorded",
        _BASIS if bare else "",
    )
