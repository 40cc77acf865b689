"""Find slots of a semaphore, pool or limiter that a cancelled or failed strand took and never gave back.

A wait for the resource must have failed after at least 1 ms; for a pool that a spec declares, a call that was refused at once
counts, too. A semaphore may also be a signal, which one strand takes and
another one gives; so every RETURN of the resource must come from the strand that took the slot. Where the capacity is known,
all slots must be taken at the end of the wait. A slot of a declared pool is a thing of its own (a connection): anyone may give
it back, and who returned without doing so has leaked it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Certainty, Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed_or_refused, victims
from clew.graph.ops.facts.blockers import is_lock
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Holding, Holdings, Resource, Waiting

KIND = "slot-leaked"


@dataclass(frozen=True)
class _End:
    """The end of a strand that had a slot."""

    row: int
    ns: int
    how: str
    """ "was cancelled", "failed", or "" if it returned."""


def find(facts: Facts) -> list[Finding]:
    leaked: dict[Resource, list[Holding]] = defaultdict(list)
    for holding in facts.holdings.take(facts.holdings.is_open):
        if _is_leaked(facts, holding):
            leaked[holding.resource].append(holding)
    failed: dict[Resource, list[Waiting]] = defaultdict(list)
    for wait in failed_or_refused(facts) if leaked else ():
        if wait.resource in leaked and not is_lock(wait):
            failed[wait.resource].append(wait)
    found = []
    for resource in sorted(failed, key=lambda resource: int(facts.holdings_of[resource].places[0])):
        holdings = facts.holdings_of[resource]
        waits = [wait for wait in failed[resource] if _is_full(facts, wait, holdings)]
        if waits and not holdings.is_given_by_another.any():
            finding = _finding(facts, leaked[resource], waits)
            if finding is not None:
                found.append(finding)
    return found


def _is_leaked(facts: Facts, holding: Holding) -> bool:
    ended = _ended(facts, holding)
    return ended is not None and ended.ns >= holding.since_ns


def _ended(facts: Facts, holding: Holding) -> _End | None:
    """Return how the strand of a holder ended. One that returned may still give back a slot that is like others."""
    strand = holding.strand
    task = facts.ended.get(strand)
    if task is not None:
        return _End(task.row, task.ns, "was cancelled" if task.text.end == "cancelled" else "failed")
    exceptions = facts.exceptions
    error = next(iter(exceptions.take((exceptions.strand == strand) & exceptions.of_roles("ended"))), None)
    end = Ends.of(facts).row_of(strand) if error is not None or holding.item else -1
    if end < 0:
        return None
    row, how = (end, "") if error is None else (error.row, "failed")
    return _End(row, facts.graph.at("ts", end), how)


def _is_full(facts: Facts, wait: Waiting, holdings: Holdings) -> bool:
    capacity = wait.begin.text.capacity
    return not capacity or len(holdings.at(Ends.of(facts).until_ns(wait))) >= capacity


def _finding(facts: Facts, leaked: list[Holding], waits: list[Waiting]) -> Finding | None:
    wait = waits[0]
    until = Ends.of(facts).until_ns(wait)
    ends = {each.strand: end for each in leaked if (end := _ended(facts, each)) is not None and end.ns <= until}
    leaked = [each for each in leaked if each.strand in ends]
    if not leaked:
        return None
    first = f"{words.waited(facts, wait)} {words.ending(facts, wait)}."
    capacity = wait.begin.text.capacity
    taker = leaked[0]
    at = words.taken_at(facts, taker)
    slot = f"one of its {capacity} slots" if capacity > 1 else "its only slot" if capacity else "a slot of it"
    taken = f"{words.who(facts, taker.strand)} took {slot} at {words.offset(taker.since_ns)}{f' ({at})' if at else ''}"
    ended = ends[taker.strand]
    events = [*taker.rows, ended.row]
    how = f", {ended.how}" if ended.how else ""
    cancel = next((each for each in facts.cancels if _is_for(facts, each.row, taker, ended)), None)
    if ended.how == "was cancelled" and cancel is not None:
        line = words.where(cancel.text.at, facts)
        how += f" by {words.who(facts, cancel.strand)}{f' ({line})' if line else ''}"
        events.append(cancel.row)
    claims = [
        Claim(first, wait.rows),
        Claim(
            f"{taken}{how}{'' if ended.how == 'failed' else ' and ended'} at {words.offset(ended.ns)} without giving it back.",
            tuple(events),
        ),
    ]
    if len(leaked) > 1:
        others = words.names(facts, [each.strand for each in leaked[1:]])
        rows = tuple(row for each in leaked[1:] for row in (*each.rows, ends[each.strand].row))
        claims.append(Claim(f"{others} left a slot in the same way.", rows))
    returned = [each for each in leaked if not ends[each.strand].how]
    basis = (
        f"{words.names(facts, [each.strand for each in returned])}: nobody gave the slot back since" if returned else ""
    )
    certainty: Certainty = "inferred" if returned else "recorded"
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, waits), certainty, basis)


def _is_for(facts: Facts, row: int, holding: Holding, ended: _End) -> bool:
    """Return whether a CANCEL is for the holder of a slot, while it holds the slot."""
    graph = facts.graph
    strand = graph.strands[holding.strand]
    is_later = graph.at("ts", row) >= holding.since_ns and graph.at("ts", row) <= ended.ns
    return is_later and graph.key(row) == strand.key and graph.strand_of(row).process == strand.process
