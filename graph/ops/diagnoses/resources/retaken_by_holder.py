"""Find a lock that its own holder waited for: a lock that is not reentrant, taken twice by one thread or task.

The wait must have failed after at least 1 ms. If it was satisfied, another strand released the lock, which then serves as a
signal.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed, victims
from clew.graph.ops.facts.blockers import Blockers, is_exclusive
from clew.graph.ops.facts.facts import Facts, Holding, Waiting

KIND = "retaken-by-holder"


def find(facts: Facts) -> list[Finding]:
    blockers = Blockers.of(facts)
    found: dict[tuple[tuple[int, int], int], Finding] = {}
    for wait in facts.waits:
        if not is_exclusive(wait) or wait.begin.channel.endswith("rlock") or not failed(facts, wait):
            continue
        for holding, basis in blockers.holders(wait, wait.begin.ns):
            if holding.strand == wait.strand and not holding.before_fork and not basis:
                found.setdefault((wait.resource, wait.strand), _finding(facts, wait, holding))
    return list(found.values())


def _finding(facts: Facts, wait: Waiting, holding: Holding) -> Finding:
    text = words.held(facts, holding, wait).replace(" held it", " itself held it", 1)
    claims = (
        Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows),
        Claim(f"{text}: the lock cannot be taken twice.", holding.rows),
    )
    return Finding(KIND, Reason.RESOURCE, claims, victims(facts, [wait]))
