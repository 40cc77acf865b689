"""What happened elsewhere before an event that nothing recorded ties to it: hanging waits, uncaught exceptions, dead processes.

Such an answer is always inferred. It is given only where the event's own past has no reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.graph.model.event import WARNING
from clew.graph.model.graph import Process
from clew.graph.ops.answer import phrases
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding
from clew.graph.ops.diagnoses.lost import how_lost, in_collector, lost_name, was_started
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Fact, Facts
from clew.graph.ops.facts.lost_strands import LostStrands
from clew.graph.ops.facts.uncaught import uncaught
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_

HANGS_NS = 1_000_000_000
"""A wait of this length that still went on at the event may be why it happened."""
MOST_PROCESSES = 2
_LASTING = frozenset({"exception-never-taken", "cancellation-misdirected", "slot-leaked", "item-not-returned"})
"""The diagnoses whose effects last: what was not done or given back then is missing later."""
_NOTHING = "No recorded reason leads to this."


@dataclass(frozen=True)
class Meanwhile:
    """A possible reason without a recorded dependence."""

    claims: tuple[Claim, ...]
    basis: str
    """What ties it to the event, "" if the event reports it."""
    finding: Finding | None = None


def meanwhile(facts: Facts, event: int) -> Meanwhile | None:
    """Return what may have led to an event: a diagnosed wait that went on, or what ended badly before; None for neither."""
    ns = facts.graph.at("ts", event)
    waits, ends = facts.waits, Ends.of(facts)
    long = waits.take(waits.covers(ns) & (waits.begin_ns <= ns - HANGS_NS))
    hanging = {wait.begin.row for wait in long if (ends.ns_of(wait.strand) or ns) >= ns}
    for finding in findings(facts):
        if any(row in hanging for row in finding.events):
            basis = "time alone: this wait went on when the event happened, and no recorded dependence leads to it"
            return Meanwhile(finding.claims, basis, finding)
    return None


def lost_before(facts: Facts, event: int, unit: int) -> Meanwhile | None:
    """Return the loss that an event reports, else the last lost one of the threads and tasks that the same code had started.

    `unit` is the first row of the event's unit of work.
    """
    graph, known = facts.graph, LostStrands.of(facts)
    ns, strand, reported, own = graph.at("ts", event), graph.at("strand", event), None, []
    for lost in known.unexpected.values():
        if in_collector(facts, event) and graph.region[lost.rows[0]] == graph.region[event]:
            reported = lost
        starter, row = known.starter(lost.strand)
        if lost.ns <= ns and starter == strand and row >= unit:
            own.append(lost)
    if reported is None and not own:
        return None
    lost = reported or max(own, key=lambda lost: lost.ns)
    finding = next((each for each in findings(facts) if each.victims and each.victims[0].strand == lost.strand), None)
    started, rows = was_started(facts, lost)
    claim = Claim(f"{lost_name(facts, lost)}, {started}, {how_lost(facts, lost)}.", (*rows, *lost.rows))
    basis = f"no recorded dependence: {words.who(facts, strand)} had started it, and it was lost before the event"
    return Meanwhile(finding.claims if finding else (claim,), "" if reported else basis, finding)


def ended_badly(facts: Facts, event: int) -> Meanwhile | None:
    """Return the uncaught exception that ended a thread or task last before an error, else the processes that died."""
    graph = facts.graph
    ns, strand = graph.at("ts", event), graph.at("strand", event)
    if graph.at("kind", event) == Kind.LOG and graph.key(event) < WARNING:
        return None
    nothing, basis = Claim(_NOTHING, (event,)), "the order in time alone: no recorded dependence leads to it"
    threads = [
        fact
        for fact in uncaught(facts)
        if fact.ns < ns and fact.strand != strand and graph.strands[fact.strand].kind == "thread"
    ]
    if threads:
        return Meanwhile((nothing, _uncaught(facts, max(threads, key=lambda fact: fact.ns), event)), basis)
    for finding in reversed(findings(facts)):
        if finding.kind in _LASTING and graph.at("ts", finding.events[0]) < ns:
            first = finding.claims[0]
            first = Claim(f"{_NOTHING} Elsewhere: {first.text}", (event, *first.events))
            return Meanwhile((first, *finding.claims[1:]), basis, finding)
    expected = {graph.strands[child].process for child in _awaited_children(facts)}
    expected.add(graph.strands[strand].process)
    died = [each for each in graph.processes if each.died and each.index not in expected and each.last_ns < ns]
    if not died:
        return None
    return Meanwhile((nothing, *(_died(facts, each, event) for each in died[-MOST_PROCESSES:])), basis)


def _died(facts: Facts, process: Process, event: int) -> Claim:
    """Tell that a process died. No record shows when: an idle process, too, has no event between its last one and its death."""
    graph = facts.graph
    rows = [found.stop - 1 for found in graph.strands if found.process == process.index and found.stop > found.start]
    row = max(rows, key=lambda row: graph.at("ts", row), default=event)
    name, last = f"{process.name} ({process.pid})", words.offset(process.last_ns)
    text = f"Elsewhere, process {name} was killed, or it exited at once, after {last}."
    return Claim(text, (row,))


def _awaited_children(facts: Facts) -> Iterator[int]:
    """Yield the first strands of the child processes whose ends somebody waited for."""
    blockers = Blockers.of(facts)
    waits = facts.waits
    for wait in waits.take(waits.of_channels(lambda channel: channel == "process.end") & waits.ended("satisfied")):
        child = blockers.target(wait)
        if child >= 0:
            yield child


def _uncaught(facts: Facts, fact: Fact[Exception_], event: int) -> Claim:
    first = next((each for each in facts.exceptions.of(*fact.resource) if each.text.at), fact)
    place = words.where(first.text.at, facts)
    raised = f", raised in {place}" if place else ""
    who, before = words.who(facts, fact.strand), words.seconds(facts.graph.at("ts", event) - fact.ns)
    text = f"Elsewhere, {phrases.exception(first)}{raised}, ended {who} {before} before, and nothing caught it."
    return Claim(text, (fact.row, first.row))
