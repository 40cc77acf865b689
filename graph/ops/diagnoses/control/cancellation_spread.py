"""Find cancellations that reached a task that nobody asked to cancel: it waited for the same task or future as the one asked.

A task that is cancelled passes the cancellation on to what it waits for. If that is shared, all others that wait for it are
interrupted, too; `asyncio.shield` prevents it. The interrupted task must not have been asked to cancel itself. Another waiter
must have caused the cancellation of the shared task or future: a direct call of `cancel` is intended.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.facts.facts import Fact, Facts, Resource, Waiting
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel

KIND = "cancellation-spread"
MOST_HOPS = 16
PASSED_ON_NS = 5_000_000
"""The time in which a future's other waiters are interrupted."""


@dataclass(frozen=True)
class _Spread:
    """A cancellation that was asked for one strand and passed on to what it waited for."""

    asked: int
    """The strand that was asked to cancel, or whose time limit passed."""
    cancel: Fact[Cancel] | None
    """The request; None if a time limit of `asyncio.wait_for` cancelled what was awaited, without a request for the waiter."""
    wait: Waiting
    """The wait of the strand that was asked."""
    events: tuple[int, ...]
    """Further rows that show how the cancellation was passed on."""


def find(facts: Facts) -> list[Finding]:
    found: dict[tuple[int, Resource], tuple[_Spread, list[Waiting]]] = {}
    for wait in facts.waits.take(facts.waits.ended("cancelled")):
        if _is_asked(facts, wait):
            continue
        spread = _to_task(facts, wait) if wait.begin.text.target else _to_future(facts, wait)
        if spread is not None and spread.asked != wait.strand:
            thing = wait.begin.process, wait.begin.text.target or wait.begin.key
            found.setdefault((spread.wait.begin.row, thing), (spread, []))[1].append(wait)
    return [_finding(facts, spread, waits) for spread, waits in found.values()]


def _is_asked(facts: Facts, wait: Waiting) -> bool:
    """Return whether somebody asked to cancel the waiting strand before the wait ended."""
    assert wait.wake is not None
    return any(cancel.ns <= wait.wake.ns for cancel in cancels_of(facts).get(wait.strand, ()))


def _to_task(facts: Facts, wait: Waiting) -> _Spread | None:
    """Return whose cancellation ended the task that a wait is for, None if the task was cancelled itself or not at all."""
    target = facts.strand_with_key(wait.begin.process, wait.begin.text.target)
    ended = facts.ended.get(target)
    if ended is None or ended.text.end != "cancelled":
        return None
    earlier = [cancel for cancel in cancels_of(facts).get(target, ()) if cancel.ns <= ended.ns]
    if not earlier:
        return None
    last = earlier[-1]
    root, events = last, [last.row, ended.row]
    reached: Waiting | None = None
    for _hop in range(MOST_HOPS):
        before = _passed_on_from(facts, root)
        if before is None:
            break
        root, reached = before
        events.append(root.row)
    if reached is not None:
        asked = facts.strand_with_key(root.process, root.key)
        return _Spread(asked, root, reached, tuple(dict.fromkeys((*events, *reached.rows))))
    if last.text.deadline:  # asyncio.wait_for, up to Python 3.11
        waits = facts.waits_of.of(last.strand)
        for other in reversed(waits.take(waits.ended("timeout") & (waits.wake_ns <= last.ns))):
            if _is_for(facts, other, target):
                return _Spread(last.strand, None, other, (last.row, ended.row))
    return None


def _passed_on_from(facts: Facts, cancel: Fact[Cancel]) -> tuple[Fact[Cancel], Waiting] | None:
    """Return the request that was passed on to a task, and the wait for the task of the strand that it asks to cancel.

    The two are recorded one after the other, by the same strand.
    """
    graph = facts.graph
    before = cancel.row - 1
    if graph.strand_of(cancel.row).start > before or graph.at("kind", before) != Kind.CANCEL:
        return None
    target = facts.strand_with_key(cancel.process, cancel.key)
    asked = facts.strand_with_key(cancel.process, graph.key(before))
    request = next((each for each in cancels_of(facts).get(asked, ()) if each.row == before), None)
    if request is None or asked == target:
        return None
    waits = facts.waits_of.of(asked)
    wait = next((wait for wait in waits.take(waits.covers(request.ns)) if _is_for(facts, wait, target)), None)
    return None if wait is None else (request, wait)


def _is_for(facts: Facts, wait: Waiting, target: int) -> bool:
    key = facts.graph.strands[target].key
    return wait.begin.text.target == key or key in wait.begin.text.targets


def _to_future(facts: Facts, wait: Waiting) -> _Spread | None:
    """Return whose cancellation ended the future that a wait is for, None if that is unclear."""
    if wait.begin.channel != "asyncio.future" or wait.wake is None:
        return None
    waits = facts.waits_for[wait.resource]
    near = (waits.wake_ns <= wait.wake.ns) & (waits.wake_ns >= wait.wake.ns - PASSED_ON_NS)
    for other in waits.take(near & waits.ended("cancelled", "timeout")):
        if other.strand != wait.strand:
            cancel = _cancel_in(facts, other)
            if cancel is not None and wait.covers(cancel.ns):
                return _Spread(other.strand, cancel, other, (cancel.row,))
    return None


def _cancel_in(facts: Facts, wait: Waiting) -> Fact[Cancel] | None:
    cancels = cancels_of(facts).get(wait.strand, [])
    at = bisect_left(cancels, wait.begin.ns, key=lambda cancel: cancel.ns)
    return cancels[at] if at < len(cancels) and wait.covers(cancels[at].ns) else None


def _finding(facts: Facts, spread: _Spread, waits: list[Waiting]) -> Finding:
    first, asked = waits[0], words.who(facts, spread.asked)
    target = facts.strand_with_key(first.begin.process, first.begin.text.target) if first.begin.text.target else -1
    thing = words.who(facts, target) if target >= 0 else words.thing(first, facts)
    if spread.cancel is not None:
        begin = cancel_claim(facts, spread.asked, spread.cancel)
    else:
        assert spread.wait.wake is not None
        at = words.offset(spread.wait.wake.ns)
        begin = Claim(f"The time limit of {asked} passed at {at}{words.place(spread.wait, facts)}.", spread.wait.rows)
    through = Claim(
        f"{asked} waited for {thing}{words.place(spread.wait, facts)}, so {thing} was cancelled, too.",
        tuple(dict.fromkeys((*spread.wait.rows, *spread.events))),
    )
    names = words.names(facts, [wait.strand for wait in waits])
    were, it = ("was", "it") if len({wait.strand for wait in waits}) == 1 else ("were", "them")
    harm = Claim(
        f"{names} also waited for {thing}{words.place(first, facts)} and {were} interrupted without a request to cancel {it}.",
        tuple(row for wait in waits for row in wait.rows),
    )
    harmed = tuple(Victim(wait.strand, wait.rows[-1], -1) for wait in waits)
    return Finding(KIND, Reason.CONTROL, (begin, through, harm), harmed)
