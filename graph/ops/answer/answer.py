"""Answer why an event happened: a verdict in one to three sentences, what it follows from, and at most twelve steps.

A diagnosis that concerns the event is the verdict. Otherwise the verdict tells the nearest reason of the best kind: data
before resources, resources before control, control before calls. Scheduling is never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from clew.graph.model.event import WARNING
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.activity import doing_at
from clew.graph.ops.answer.behind_end import END_ERRORS, Behind, behind_end
from clew.graph.ops.answer.cancel_claims import cancel_claims, source_claims
from clew.graph.ops.answer.comparison.unusual import Comparison, compare
from clew.graph.ops.answer.inferred_reasons import Meanwhile, ended_badly, lost_before, meanwhile
from clew.graph.ops.answer.steps import AnswerStep, steps_of
from clew.graph.ops.answer.trail import Position, Trail
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.main_call import main_call
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.exceptions.handled import Handled, handled_at
from clew.graph.ops.facts.unfollowed import limits, unfollowed_at
from clew.graph.ops.facts.work.work_units import request_of, unit_of
from clew.graph.ops.states.claims import BASIS, state_claim, told_steps
from clew.graph.ops.states.last_writers import StateRead, states_before
from clew.records.format.event import EdgeKind, Kind

MOST_CLAIMS = 3
MOST_STATES = 3
_BAD = {"timeout", "failed", "cancelled", "never"}
_LINKS = {
    "": "It was written while handling",
    "cause": "That was caused by",
    "member": "That contains",
    "context": "That happened while handling",
}
LONG_PART_NS = 10_000_000
"""The shortest time before a warning of which the longest part is told."""
FARTHEST = 9
"""The highest cost of a position at which a diagnosis still explains the event; see `Trail`."""


@dataclass(frozen=True)
class Answer:
    """The answer to *why did this event happen*."""

    event: int
    verdict: tuple[Claim, ...]
    """One to three sentences; never empty."""
    certainty: Literal["recorded", "inferred", "unknown"]
    basis: str = ""
    """For an inferred verdict, what it was inferred from; for an unknown one, what was not recorded."""
    remedy: str = ""
    """For an unknown verdict, a command that records what is missing; else ""."""
    finding: Finding | None = None
    """The diagnosis behind the verdict, None if the verdict tells the nearest reason."""
    steps: tuple[AnswerStep, ...] = ()
    more_steps: int = 0
    """The number of steps that `steps` leaves out."""
    others: tuple[Finding, ...] = ()
    """Other findings of the run that may concern the event."""
    limits: tuple[str, ...] = ()
    """What execution passed through without being followed, as sentences."""

    @property
    def text(self) -> str:
        """The verdict as one paragraph."""
        return " ".join(claim.text for claim in self.verdict)


Tell = Callable[[int, int], str]
"""Returns a sentence, without its full stop: how an event depended on the source of an edge. The arguments are the number
of the edge, and the event."""


def answer(graph: ExecutionGraph, event: int, tell: Tell, baseline: ExecutionGraph | None = None) -> Answer:
    """Answer why an event happened. `baseline` is a run whose calls show what is usual; by default it is the run itself."""
    trail = Trail(graph, event)
    if unfollowed_at(graph, event) is not None:
        return _not_followed(trail)
    found = _followed(trail, tell, baseline)
    return replace(found, limits=limits(graph, [step.event for step in found.steps]))


def _not_followed(trail: Trail) -> Answer:
    """Return the answer for an event of a thread that was not followed: at most the exception that was handled."""
    known = limits(trail.graph, [trail.event])
    claims = tuple(_exception_claims(trail))
    if claims:
        return Answer(trail.event, claims, "recorded", limits=known)
    claim = Claim("What led to it is not known.", (trail.event,))
    return Answer(trail.event, (claim,), "unknown", "execution was not followed", limits=known)


def _followed(trail: Trail, tell: Tell, baseline: ExecutionGraph | None) -> Answer:
    event = trail.event
    positions = list(trail.positions())
    matched = _matches(trail, findings(trail.facts), positions)
    if matched and (matched[0][1].certainty == "recorded" or _is_about_states(trail, matched[0][1])):
        position, finding = matched[0]
        steps, more = steps_of(trail, position.path())
        others = tuple(dict.fromkeys(other for _, other in matched[1:] if other is not finding))
        return Answer(event, finding.claims, finding.certainty, finding.inferred_from, "", finding, steps, more, others)
    found = _nearest(trail, positions, tell)
    states, recorded = _states(trail), _chain_with_state(trail)
    if recorded:
        states = [state for state in states if state.stored is not None]
    changed = [state for state in states if not state.is_initial]
    changed = [state for state in changed if not state.is_own] or changed
    if found is not None:
        found = _with_key(trail, found, changed, recorded) if recorded else _with_state(trail, found, changed)
        return replace(found, others=tuple(dict.fromkeys(other for _, other in matched)))
    if changed:
        return _written(trail, changed[:MOST_STATES])
    hanging = _elsewhere(trail, positions, meanwhile(trail.facts, event))
    if hanging is not None:
        return hanging
    compared = compare(trail.facts, event, baseline)
    return (
        _unusual(trail, compared)
        or _elsewhere(trail, positions, lost_before(trail.facts, event, unit_of(trail.graph, event)))
        or _elsewhere(trail, positions, ended_badly(trail.facts, event))
        or _nothing_unusual(trail, compared)
    )


def _states(trail: Trail) -> list[StateRead]:
    """Return the states that the event depended on, or the exception that was handled when it happened."""
    raised = next(iter(handled_at(trail.facts, trail.event)), None)
    return states_before(trail.graph, raised.first.row if raised is not None else trail.event)


def _written(trail: Trail, states: list[StateRead]) -> Answer:
    """Return the answer that tells who wrote the states that the event depended on."""
    claims = tuple(state_claim(trail.facts, state) for state in states)
    steps, more = steps_of(trail, trail.told(told_steps(trail.facts, states)))
    return Answer(trail.event, claims, "inferred", BASIS, steps=steps, more_steps=more)


def _with_state(trail: Trail, found: Answer, states: list[StateRead]) -> Answer:
    """Add the last writer of a state to an answer that only says which exception was raised, and where."""
    only_raised = len(found.verdict) <= len(_exception_claims(trail))
    if not states or not only_raised or len(found.verdict) >= MOST_CLAIMS:
        return found
    claims = (*found.verdict, *(state_claim(trail.facts, state) for state in states))[:MOST_CLAIMS]
    steps, more = steps_of(trail, trail.told(told_steps(trail.facts, states[:MOST_STATES])))
    return replace(
        found, verdict=claims, certainty="inferred", basis=found.basis or BASIS, steps=steps, more_steps=more
    )


def _with_key(trail: Trail, found: Answer, states: list[StateRead], chain: list[Position]) -> Answer:
    """Tell the write of a key instead of the recorded edge of the same value, which does not know the key and other writers."""
    graph = trail.graph
    writers = {graph.owner_of(int(graph.edge_src[step.edge])) for step in chain if _is_state(trail, step)}
    same = [state for state in states if graph.owner_of(state.row) in writers]
    if not same:
        return found
    raised = _exception_claims(trail)[:1]
    claims = (*raised, *(state_claim(trail.facts, state) for state in (*same, *states)))
    steps, more = steps_of(trail, trail.told(told_steps(trail.facts, same[:1])))
    return replace(
        found,
        verdict=tuple(dict.fromkeys(claims))[:MOST_CLAIMS],
        steps=steps,
        more_steps=more,
        certainty="recorded",
        basis="",
    )


def _is_about_states(trail: Trail, finding: Finding) -> bool:
    """Return whether the chain to the event has no state, or one whose write the finding explains.

    The recorded writer of any other state takes precedence over an inferred finding.
    """
    writes = {step.row for step in _chain_with_state(trail) if _is_state(trail, step)}
    return not writes or not writes.isdisjoint(finding.events)


def _chain_with_state(trail: Trail) -> list[Position]:
    """Return the chain of recorded edges if a state is among them, else an empty list."""
    chain = trail.chain()
    return chain if any(_is_state(trail, step) for step in chain) else []


def _is_state(trail: Trail, step: Position) -> bool:
    return step.edge >= 0 and int(trail.graph.edge_kind[step.edge]) == EdgeKind.STATE


def _matches(trail: Trail, found: list[Finding], positions: list[Position]) -> list[tuple[Position, Finding]]:
    """Return the findings whose victims the event depended on, the best first: near, then the better kind of reason."""
    by_strand: dict[int, list[tuple[Victim, Finding]]] = {}
    for finding in found:
        for victim in finding.victims:
            by_strand.setdefault(victim.strand, []).append((victim, finding))
    matched = []
    for position in positions:
        if position.cost > FARTHEST:
            break
        for victim, finding in by_strand.get(position.strand, ()):
            after = position.first if position.first < position.row else position.row
            inside = victim.first <= position.row and (victim.last < 0 or victim.last >= after)
            if inside and trail.concerns(position, victim.first):
                away = position.row - victim.first
                matched.append((position.cost + int(finding.reason), away, position, finding))
    matched.sort(key=lambda match: match[:2])
    return [(position, finding) for _, _, position, finding in matched]


def _nearest(trail: Trail, positions: list[Position], tell: Tell) -> Answer | None:
    """Return the answer without a diagnosis: the nearest reason that is not scheduling, None if there is none."""
    start = positions[0]
    raised = _exception_claims(trail)
    behind = _behind(trail)
    if behind is not None:
        steps, more = steps_of(trail, trail.told(behind.steps))
        sure: Literal["recorded", "inferred"] = "inferred" if behind.inferred_from else "recorded"
        verdict = (*raised[: MOST_CLAIMS - len(behind.claims)], *behind.claims)
        return Answer(trail.event, verdict, sure, behind.inferred_from, steps=steps, more_steps=more)
    waited = _wait_claims(trail, start, {"timeout", "cancelled", "never"} if raised else _BAD)
    told = cancel_claims(trail.facts, start.strand, start.row) if trail.cancelled(start) else []
    if len(told) > 1:  # why it was cancelled tells more than which wait that ended
        raised, waited = raised[:1], []
    path = _primary(positions)
    sent = _sent_claims(positions)
    claims = [*raised[:1], *sent, *raised[1:], *waited, *(claim for claim, _ in told)][:MOST_CLAIMS]
    if not sent and all(position.reason is Reason.DATA for position in path[1:]):
        path = [*path, *trail.chain(path[-1])[1:]]
    known = {event for claim in claims for event in claim.events}
    for position in path[1:]:
        if position.reason is Reason.CONTROL and known.isdisjoint(position.events) and len(claims) < MOST_CLAIMS:
            claims.append(Claim(position.text + ".", position.events))
    # A state that was read takes precedence over waits that ended well, which are not reasons.
    path = path if claims else _chain_with_state(trail) or path
    steps, more = steps_of(trail, path)
    reasons = _reasons(trail, path)
    data = [step for step in steps if step.event in reasons and step.edge >= 0]
    states = [step for step in data if trail.graph.edge_kind[step.edge] == EdgeKind.STATE]
    own = trail.graph.at("strand", trail.event)
    # That the event's own strand had asked first is a round trip, not a reason.
    of_others = [step for step in data if trail.graph.at("strand", step.event) != own]
    first, last = (states or of_others)[:1], [step for step in data[-1:] if step in of_others]
    claims += [_edge_claim(step, tell) for step in first]
    for step in first:
        told += source_claims(trail.facts, step.event, trail.event)
        claims += [claim for claim, _ in told if claim not in claims]
    claims += _request_claim(trail, steps[-1]) if data else []
    claims += [_edge_claim(step, tell) for step in last if step not in first]
    claims = claims[:MOST_CLAIMS]
    basis = next((basis for claim, basis in told if basis and claim in claims), "")
    certainty: Literal["recorded", "inferred"] = "inferred" if basis else "recorded"
    return Answer(trail.event, tuple(claims), certainty, basis, steps=steps, more_steps=more) if claims else None


def _behind(trail: Trail) -> Behind | None:
    """Return what lies behind the end of a stream that led to the event, or to an exception behind it.

    Many streams end well. So an end counts only if an exception says so, or if a cancellation or an exception is behind it.
    """
    handled = handled_at(trail.facts, trail.event)
    rows = [trail.event, *(row for each in handled for row in each.rows)]
    says_so = any(_name(each) in END_ERRORS for each in handled)
    found = (behind_end(trail.facts, row) for row in dict.fromkeys(rows))
    return next((behind for behind in found if behind is not None and (says_so or behind.unusual)), None)


def _reasons(trail: Trail, path: list[Position]) -> set[int]:
    """Return the rows of a path that are reasons, up to the first one that is only context.

    That a thread or task ended as it should is no reason; what it did before may be one.
    """
    found = set()
    for position in path[1:]:
        if position.reason is Reason.SCHEDULING or trail.is_plain_end(position):
            continue
        if not trail.is_reason(position):
            break
        found.add(position.row)
    return found


def _edge_claim(step: AnswerStep, tell: Tell) -> Claim:
    return Claim(tell(step.edge, step.target) + ".", (step.event, step.target))


def _name(handled: Handled) -> str:
    return handled.fact.channel.rpartition(".")[2]


def _exception_claims(trail: Trail) -> list[Claim]:
    claims: list[Claim] = []
    for handled in handled_at(trail.facts, trail.event)[:2]:
        if handled.link and _name(handled) == "CancelledError":
            continue  # time limits raise it; the claim about the wait says who cancelled
        raised = phrases.raised(trail.facts, handled)
        if not handled.link and trail.graph.at("kind", trail.event) == Kind.EXCEPTION:
            if raised:
                claims.append(Claim(f"It was {raised}.", handled.rows))
            continue
        told = f"{_LINKS[handled.link]} {words.exception(handled.fact)}"
        claims.append(Claim(f"{told}, {raised}." if raised else f"{told}.", handled.rows))
    return claims


def _sent_claims(positions: list[Position]) -> list[Claim]:
    """Tell what became of the request that failed."""
    found = next((position for position in positions if position.is_sent_request), None)
    return [Claim(found.text + ".", found.events)] if found else []


def _wait_claims(trail: Trail, start: Position, ends: set[str]) -> list[Claim]:
    """Tell the last wait of the program before the event that did not end well, and who held what was waited for.

    A wait inside a library that runs on its own, such as a timer's, is no reason.
    """
    files = words.recorded_files(trail.facts)
    bad = [
        wait
        for wait in trail.waits_before(start)
        if wait.end in ends and (not wait.begin.text.at or any(frame.file in files for frame in wait.begin.text.at))
    ]
    if not bad:
        return []
    facts, wait = trail.facts, bad[0]
    text, rows = phrases.waited(facts, wait), wait.rows
    for holding in trail.holdings(wait)[:1]:
        text, rows = phrases.waited_for_slot(facts, wait, holding), (*wait.rows, *holding.rows)
    until_ns = wait.until_ns(facts.last_ns)
    # What is cancelled because a time limit passed is cancelled after it.
    passed_ns = int(min(until_ns, wait.begin.ns + (wait.begin.text.limit or math.inf) * 1e9))
    for _row, target in trail.awaited_at(wait, passed_ns)[:1]:
        doing = doing_at(facts, target, passed_ns, until_ns)
        if doing is not None:
            text = f"{phrases.waited_for_end(facts, wait, target)}; {words.who(facts, target)} {doing.text}"
            rows = (*wait.rows, *doing.rows)
    for holder in wait.begin.text.holders[:1]:
        text = phrases.waited_for_holder(facts, wait, holder, facts.strand_of(wait.begin.process, holder))
    return [Claim(text + ".", rows)]


def _primary(positions: list[Position]) -> list[Position]:
    """Return the longest path that follows only facts: exceptions, waits and cancellations."""
    firm = [
        position
        for position in positions
        if all(step.edge < 0 and step.reason <= Reason.CONTROL for step in position.path()[1:])
    ]
    return max(firm, key=lambda position: (position.depth, -position.cost)).path()


def _request_claim(trail: Trail, step: AnswerStep) -> list[Claim]:
    """Name the other request that the chain ends in."""
    request = request_of(trail.graph, step.event)
    if request < 0 or request == request_of(trail.graph, trail.event):
        return []
    graph = trail.graph
    process = graph.process_of(request).name
    return [Claim(f"That was part of the request {graph.channel(request)} of {process}.", (request, step.event))]


def _elsewhere(trail: Trail, positions: list[Position], found: Meanwhile | None) -> Answer | None:
    """Return the answer for something that nothing recorded ties to the event, or that the event reports."""
    if found is None:
        return None
    steps, more = steps_of(trail, positions[:1])
    certainty: Literal["recorded", "inferred"] = "inferred" if found.basis else "recorded"
    return Answer(trail.event, found.claims, certainty, found.basis, "", found.finding, steps, more)


def _unusual(trail: Trail, compared: Comparison) -> Answer | None:
    """Return the answer if the call around the event differs from like calls that went well."""
    if not compared.claims:
        return None
    steps, more = steps_of(trail, trail.chain())
    return Answer(trail.event, compared.claims, "inferred", compared.basis, steps=steps, more_steps=more)


def _nothing_unusual(trail: Trail, compared: Comparison) -> Answer:
    graph = trail.graph
    call = graph.owner_of(trail.event)
    who = words.who(trail.facts, graph.at("strand", trail.event))
    request = request_of(trail.graph, trail.event)
    inside = f", in the request {graph.channel(request)}" if request >= 0 else ""
    text = f"Nothing unusual was recorded that led to it in {who}{inside}."
    rows: tuple[int, ...] = (trail.event,)
    if call >= 0:
        site = graph.sites[graph.at("site", call)]
        place = f"{site.qualname} ({words.base_name(site.file)}:{site.line})" if site.file else site.qualname
        text = f"Nothing unusual was recorded that led to it: {place} ran to this point in {who}{inside}."
        rows = (call, *rows)
    steps, more = steps_of(trail, trail.chain())
    claims = Claim(text, rows), *_longest_part(trail, call), compared.extent
    return Answer(trail.event, claims, "recorded", steps=steps, more_steps=more)


def _longest_part(trail: Trail, call: int) -> list[Claim]:
    """Tell in which call most of the time went before a warning or an error: it may report that something took long."""
    graph, event = trail.graph, trail.event
    if call < 0 or graph.at("kind", event) != Kind.LOG or graph.key(event) < WARNING:
        return []
    ns = graph.at("ts", event) - graph.at("ts", call)
    inner, end = main_call(graph, call + 1, event, ns) if ns >= LONG_PART_NS else (-1, -1)
    if inner < 0:
        return []
    took = graph.at("ts", end) - graph.at("ts", inner)
    what, around = words.site_place(graph.sites[graph.at("site", inner)]), graph.sites[graph.at("site", call)].qualname
    text = f"{words.seconds(took)} of the {words.seconds(ns)} since {around} was called went to {what}."
    return [Claim(text, (call, inner, end, event))]
