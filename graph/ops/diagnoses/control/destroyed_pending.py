"""Find tasks that were destroyed before their end because nothing referred to them, while their event loop still ran."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.lost import how_lost, was_started
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import Lost, LostStrands

KIND = "destroyed-pending"
_WEAK = "no code still referred to it, and an event loop refers to its tasks only weakly"


def find(facts: Facts) -> list[Finding]:
    return [_finding(facts, lost) for lost in LostStrands.of(facts).destroyed_tasks.values()]


def _finding(facts: Facts, lost: Lost) -> Finding:
    strand = facts.graph.strands[lost.strand]
    started, rows = was_started(facts, lost)
    waits = facts.waits_of.of(lost.strand)
    wait = next(iter(waits.take(waits.covers(lost.ns))), None)
    text = words.who(facts, lost.strand) + (f", {started}," if started else "")
    text += f" waited for {words.thing(wait, facts)}{words.place(wait, facts)}" if wait else " had not ended"
    rows = (*rows, *(wait.rows if wait else (strand.start,)))
    own = Victim(lost.strand, wait.begin.row if wait else strand.start, -1)
    claims = (Claim(f"{text}.", rows), Claim(f"It {how_lost(facts, lost)}: {_WEAK}.", lost.rows))
    return Finding(KIND, Reason.CONTROL, claims, (own,))
