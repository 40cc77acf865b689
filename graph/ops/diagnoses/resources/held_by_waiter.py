"""Find resources whose holder waited for something else for most of the time, without a circle: names the chain to its end.

A wait must matter (`significance.matters`). Its holder must be the same at its beginning and at its end, and must have waited
for at least 80 % of it: less is ordinary use of a lock, which `serialized-by-lock` is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import long_or_failed, matters, victims
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Holding, Waiting
from clew.graph.ops.facts.moments import Moments

KIND = "held-by-waiter"
MOST_OF_IT = 0.8
LONGEST_CHAIN = 20


@dataclass(frozen=True)
class _Step:
    """A holder, and the wait in which it was."""

    holding: Holding
    held: Waiting
    """The wait for what it held."""
    wait: Waiting


def find(facts: Facts) -> list[Finding]:
    found: dict[tuple[int, ...], tuple[list[Waiting], list[_Step]]] = {}
    for wait in long_or_failed(facts):
        if not _has_holder(wait, facts) or not matters(facts, wait):
            continue
        chain = _chain(facts, wait)
        if chain:
            # All that wait for one holder during one wait of it have one cause.
            key = (*wait.resource, chain[0].wait.begin.row)
            found.setdefault(key, ([], chain))[0].append(wait)
    inner = {step.held.begin.row for _waits, chain in found.values() for step in chain[1:]}
    return [
        _finding(facts, waits, chain)
        for waits, chain in found.values()
        if not all(wait.begin.row in inner for wait in waits)
    ]


def _has_holder(wait: Waiting, facts: Facts) -> bool:
    return bool(wait.begin.text.holders or _first_holders(facts, wait))


def _first_holders(facts: Facts, wait: Waiting) -> list[tuple[Holding, str]]:
    """Return who had the resource when a wait began, or who took it in the part of the wait that need not be explained."""
    blockers, begin = Blockers.of(facts), wait.begin.ns
    early = begin + int((1 - MOST_OF_IT) * Ends.of(facts).lasted_ns(wait))
    return blockers.holders(wait, begin) or blockers.holders(wait, early)


def _chain(facts: Facts, wait: Waiting) -> list[_Step]:
    """Return the holders from a wait on, each with its own wait; empty if there is no first one or the chain is a circle."""
    chain: list[_Step] = []
    blockers, seen = Blockers.of(facts), set[int]()
    while len(chain) < LONGEST_CHAIN:
        step = _step(facts, wait)
        if step is None:
            break
        seen.add(wait.strand)
        # Of a circle, the wait that failed first may have given back already what the others waited for.
        first_had = blockers.holders(step.wait, step.wait.begin.ns)
        if step.holding.strand in seen or any(holding.strand in seen for holding, _basis in first_had):
            return []
        chain.append(step)
        wait = step.wait
    return chain


def _step(facts: Facts, wait: Waiting) -> _Step | None:
    ends, moments, blockers = Ends.of(facts), Moments.of(facts), Blockers.of(facts)
    begin, until = wait.begin.ns, ends.until_ns(wait)
    holders = [(each, basis) for each, basis in _first_holders(facts, wait) if not each.before_fork]
    if len(holders) != 1 or holders[0][1] or holders[0][0].strand < 0:
        return None
    holding = holders[0][0]
    latest = blockers.holders(wait, max(begin, until - 1))
    if not any(each.strand == holding.strand for each, _basis in latest):
        return None
    total, longest = moments.overlapping_ns(holding.strand, begin, until)
    if longest is None or total < MOST_OF_IT * (until - begin) or longest.resource == wait.resource:
        return None
    return _Step(holding, wait, longest)


def _finding(facts: Facts, waits: list[Waiting], chain: list[_Step]) -> Finding:
    wait = max(waits, key=Ends.of(facts).lasted_ns)
    first = f"{words.waited(facts, wait)} {words.ending(facts, wait)}"
    others = [each.strand for each in waits if each is not wait]
    if others:
        first += f", and so did {words.names(facts, others)}"
    claims = [Claim(f"{first}.", tuple(row for each in (wait, *waits) for row in each.rows))]
    step = chain[0]
    own = f"{words.held(facts, step.holding, step.held)} and itself {_waited(facts, step.wait)}."
    claims.append(Claim(own, (*step.holding.rows, *step.wait.rows)))
    if len(chain) > 1:
        parts, events = [], []
        for step in chain[1:]:
            parts.append(f"{words.who(facts, step.holding.strand)} held that and {_waited(facts, step.wait)}")
            events += [*step.holding.rows, *step.wait.rows]
        claims.append(Claim(f"{'; '.join(parts)}.", tuple(dict.fromkeys(events))))
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, waits))


def _waited(facts: Facts, wait: Waiting) -> str:
    return words.waited_for(facts, wait, Ends.of(facts).lasted_ns(wait))
