"""Find tasks that failed with an exception that nobody took: no other task awaited or asked for their outcome."""

from __future__ import annotations

from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.words import exception, offset, where, who
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import LostStrands

KIND = "exception-never-taken"
_BASIS = "missing records: no event takes the outcome of the task, and nothing was to run at its end"


def find(facts: Facts) -> list[Finding]:
    """Return the failed tasks of a run whose exceptions nobody took."""
    found = []
    for lost in LostStrands.of(facts).failed_tasks.values():
        shown, ended = lost.exception, lost.rows[0]
        what = f" with {exception(shown)}" if shown else ""
        at = where(shown.text.at, facts) if shown else ""
        proof = lost.unretrieved
        claims = (
            Claim(
                f"{who(facts, lost.strand)} failed at {offset(lost.ns)}{what}{f', raised in {at}' if at else ''}.",
                lost.rows,
            ),
            Claim("No code awaited it or took its exception.", (proof if proof >= 0 else ended,)),
        )
        victim = Victim(lost.strand, ended, -1)
        if proof >= 0:
            found.append(Finding(KIND, Reason.DATA, claims, (victim,)))
        else:
            found.append(Finding(KIND, Reason.DATA, claims, (victim,), "inferred", _BASIS))
    return found
