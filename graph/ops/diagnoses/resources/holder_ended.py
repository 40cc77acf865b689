"""Find a lock whose holder ended, or whose holder's process died, without giving it back.

The wait must have failed after at least 1 ms, the holder must have ended before the wait did, and no other strand may have got
the lock meanwhile: a lock that one thread takes and another one releases is a signal. Slots of a resource with several slots
are left to `slot-leaked`.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.lost import how_lost
from clew.graph.ops.diagnoses.significance import failed_waits, victims
from clew.graph.ops.facts.blockers import Blockers, is_lock
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Holding, Waiting
from clew.graph.ops.facts.lost_strands import LostStrands

KIND = "holder-ended"


def find(facts: Facts) -> list[Finding]:
    blockers, ends = Blockers.of(facts), Ends.of(facts)
    waits: dict[tuple[tuple[int, int], int], list[Waiting]] = {}
    holdings: dict[tuple[tuple[int, int], int], Holding] = {}
    for wait in failed_waits(facts):
        if not is_lock(wait):
            continue
        until = ends.until_ns(wait)
        for holding, basis in blockers.holders(wait, until):
            if holding.strand in (-1, wait.strand) or holding.before_fork or basis or holding.until_ns is not None:
                continue
            end = ends.ns_of(holding.strand)
            if end is not None and holding.since_ns <= end <= until:
                key = wait.resource, holding.strand
                holdings.setdefault(key, holding)
                waits.setdefault(key, []).append(wait)
    return [_finding(facts, holdings[key], found) for key, found in waits.items()]


def _finding(facts: Facts, holding: Holding, waits: list[Waiting]) -> Finding:
    wait = waits[0]
    end, ended = Ends.of(facts).row_of(holding.strand), facts.ended.get(holding.strand)
    lost = LostStrands.of(facts).all.get(holding.strand)
    how = "was cancelled" if ended and ended.text.end == "cancelled" else "ended"
    how = how_lost(facts, lost) if lost else f"{how} at {words.offset(facts.graph.at('ts', end))}"
    rows = lost.rows if lost else (end,)
    claims = [Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows)]
    if len(waits) > 1:
        others = words.names(facts, [each.strand for each in waits[1:]])
        claims[0] = Claim(f"{claims[0].text[:-1]}; so did {others}.", tuple(row for each in waits for row in each.rows))
    held = words.held(facts, holding, wait)
    claims.append(Claim(f"{held}, {how} and never gave it back.", (*holding.rows, *rows)))
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, waits))
