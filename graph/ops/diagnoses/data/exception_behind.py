"""Name the exception behind a line, which was written while it was handled: a plain reason, not a fault by itself."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.event import ERROR
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.words import offset, where, who
from clew.graph.ops.facts.facts import Fact, Facts
from clew.graph.ops.find_events import find_logs
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_

KIND = "raised-here"
_LONGEST = 20
"""The maximum number of exceptions in a chain of causes."""


@dataclass(frozen=True)
class Raised:
    """One exception of a chain."""

    fact: Fact[Exception_]
    """The record with its longest traceback."""
    link: str
    """How the exception before it in the chain came from it: "cause", "context" or "member"; "" for the first one."""
    strand: int
    """The strand that raised it, as far as records show."""


def exception_behind(facts: Facts, row: int) -> tuple[Raised, ...]:
    """Return the exceptions behind a line, from the handled one to the root of its chain.

    The row is a LOG or OUTPUT. The result is empty if no exception was handled when the line was written.
    """
    handled = _handled_at(facts, row)
    if handled is None:
        return ()
    chain: list[Raised] = []
    seen: set[int] = set()
    fact, link = handled, ""
    while len(chain) < _LONGEST and fact.key not in seen:
        seen.add(fact.key)
        best = _origin(facts, fact)
        chain.append(Raised(best, link, best.strand))
        text = best.text
        member = text.members[0] if text.members else 0
        links = ((text.cause, "cause"), (text.context, "context"), (member, "member"))
        key, link = next(((key, link) for key, link in links if key), (0, ""))
        following = _before(facts, fact.process, key, row) if key else None
        if following is None:
            break
        fact = following
    return tuple(chain)


def _handled_at(facts: Facts, row: int) -> Fact[Exception_] | None:
    """Return the exception that was handled when a line was written: its record comes just before the line's.

    Only records of other facts may lie between the two.
    """
    graph = facts.graph
    start = graph.strand_of(row).start
    for before in range(row - 1, max(start, row - 1 - _LONGEST) - 1, -1):
        fact = facts.exceptions.at_row(before)
        if fact is not None and fact.text.role == "handled":
            return fact
        if graph.at("kind", before) not in (Kind.EXCEPTION, Kind.OUTPUT, Kind.LOG):
            return None
        if graph.at("kind", before) in (Kind.OUTPUT, Kind.LOG) and graph.at("kind", row) == graph.at("kind", before):
            return None
    return None


def _before(facts: Facts, process: int, key: int, row: int) -> Fact[Exception_] | None:
    """Return the last record of an exception before a row, by time."""
    ns = facts.graph.at("ts", row)
    found = [fact for fact in facts.exceptions.of(process, key) if fact.ns <= ns]
    return found[-1] if found else None


def _origin(facts: Facts, fact: Fact[Exception_]) -> Fact[Exception_]:
    """Return the record of an exception that shows best where it was raised: the earliest one with a traceback."""
    records = [
        each for each in facts.exceptions.of(*fact.resource) if each.ns <= fact.ns and each.channel == fact.channel
    ]
    return min(records, key=lambda each: (not each.text.at, each.text.role != "raised", each.ns), default=fact)


def exception_claims(facts: Facts, row: int) -> tuple[Claim, ...]:
    """Return one to three sentences about the exception behind a line, () if there is none."""
    chain = exception_behind(facts, row)
    if not chain:
        return ()
    first, root = chain[0], chain[-1]
    strand = facts.graph.at("strand", row)
    claims = [
        Claim(_sentence(facts, first, strand, "The line was written while handling"), (first.fact.row, row)),
    ]
    if len(chain) > 1:
        names = " and ".join(dict.fromkeys(raised.fact.channel for raised in chain[1:-1]))
        through = f" (through {names})" if names else ""
        begin = {
            "cause": f"It was raised from{through}",
            "context": f"It was raised while handling{through}",
            "member": f"It contains{through}",
        }[root.link]
        claims.append(Claim(_sentence(facts, root, strand, begin), tuple(raised.fact.row for raised in chain)))
    return tuple(claims)


def _sentence(facts: Facts, raised: Raised, strand: int, begin: str) -> str:
    fact = raised.fact
    message = f": {fact.text.message}" if fact.text.message else ""
    at = where(fact.text.at, facts)
    left = fact.text.role in ("raised", "ended")
    by = f" by {who(facts, raised.strand)}" if left and raised.strand != strand else ""
    when = f" at {offset(fact.ns)}" if fact.text.role == "raised" else ""
    place = f", raised{by}{when}{f' in {at}' if at else ''}" if by or when or at else ""
    return f"{begin} {fact.channel}{message}{place}."


def find(facts: Facts) -> list[Finding]:
    """Return the exceptions behind the ERROR lines of a run."""
    graph = facts.graph
    if not facts.exceptions:
        return []
    found = []
    for row in find_logs(graph, level=ERROR).tolist():
        claims = exception_claims(facts, row)
        if claims:
            found.append(Finding(KIND, Reason.DATA, claims, (Victim(graph.at("strand", row), row, row),)))
    return found
