"""Find a lock whose holder ended, or whose holder's process died, without giving it back.

The wait must have failed after at least 1 ms, the holder must have ended before the wait did, and no other strand may have got
the lock meanwhile: a lock that one thread takes and another one releases is a signal. The end of a process is the end of a
holder in it for the waits of other processes. Slots of a resource with several slots are left to `slot-leaked`.
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
from clew.graph.ops.facts.process_ends import ProcessEnd, ProcessEnds

KIND = "holder-ended"


def find(facts: Facts) -> list[Finding]:
    blockers, ends, processes = Blockers.of(facts), Ends.of(facts), ProcessEnds.of(facts)
    waits: dict[tuple[tuple[int, int], int], list[Waiting]] = {}
    holdings: dict[tuple[tuple[int, int], int], Holding] = {}
    for wait in failed_waits(facts):
        if not is_lock(wait):
            continue
        until = ends.until_ns(wait)
        for holding, basis in blockers.holders(wait, until):
            if holding.strand in (-1, wait.strand) or holding.before_fork or basis or holding.until_ns is not None:
                continue
            end = _end(facts, holding.strand, wait)
            last = until if end is None or end.row == ends.row_of(holding.strand) else processes.alive_until(wait)
            if end is not None and holding.since_ns <= end.ns <= last:
                key = wait.resource, holding.strand
                holdings.setdefault(key, holding)
                waits.setdefault(key, []).append(wait)
    return [_finding(facts, holdings[key], found) for key, found in waits.items()]


def _end(facts: Facts, strand: int, wait: Waiting) -> ProcessEnd | None:
    """Return the end of a holder, or of its process if the wait is in another one."""
    ends, process = Ends.of(facts), facts.graph.strands[strand].process
    row = ends.row_of(strand)
    if row >= 0:
        return ProcessEnd(facts.graph.at("ts", row), row)
    return ProcessEnds.of(facts).end_of(process) if process != wait.begin.process else None


def _finding(facts: Facts, holding: Holding, waits: list[Waiting]) -> Finding:
    wait = waits[0]
    end, ended = _end(facts, holding.strand, wait), facts.ended.get(holding.strand)
    assert end is not None
    lost = LostStrands.of(facts).all.get(holding.strand)
    how = "was cancelled" if ended and ended.text.end == "cancelled" else "ended"
    shown = (*lost.rows, end.row) if lost else (end.row,)
    rows = tuple(row for row in dict.fromkeys(shown) if row >= 0)
    own = end.row == Ends.of(facts).row_of(holding.strand) or words.is_process(facts, holding.strand)
    how = how_lost(facts, lost) if lost else f"{how if own else 'whose process ended'} at {words.offset(end.ns)}"
    claims = [Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows)]
    if len(waits) > 1:
        others = words.names(facts, [each.strand for each in waits[1:]])
        claims[0] = Claim(f"{claims[0].text[:-1]}; so did {others}.", tuple(row for each in waits for row in each.rows))
    held = words.held(facts, holding, wait)
    claims.append(Claim(f"{held}, {how} and never gave it back.", (*holding.rows, *rows)))
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, waits))
