"""What happened elsewhere before an event that nothing recorded ties to it: hanging waits, uncaught exceptions, dead processes.

Such an answer is always inferred. It is given only where the event's own past has no reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.event import WARNING
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding
from clew.graph.ops.diagnoses.lost import how_lost, in_collector, lost_name, was_started
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import Lost, LostStrands
from clew.records.format.event import Kind
from clew.records.format.keys import process_end

HANGS_NS = 1_000_000_000
"""A wait of this length that still went on at the event may be why it happened."""
MOST_PROCESSES = 2
_LASTING = frozenset({"exception-never-taken", "cancellation-misdirected", "slot-leaked", "item-not-returned"})
"""The diagnoses whose effects last: what was not done or given back then is missing later."""
_ORDER = "the order in time"
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
    finding = next((each for each in findings(facts) if _is_about(each, lost)), None)
    started, rows = was_started(facts, lost)
    name = f"{_begin(lost_name(facts, lost))}{f', {started},' if started else ''}"
    claim = Claim(f"{name} {how_lost(facts, lost)}.", (*rows, *lost.rows))
    basis = f"{_ORDER}: {words.who(facts, strand)} had started it, and no recorded dependence leads to it"
    return Meanwhile(finding.claims if finding else (claim,), "" if reported else basis, finding)


def _is_about(finding: Finding, lost: Lost) -> bool:
    """Return whether a finding tells that a strand was lost, and not how another one suffers from it."""
    return lost.rows[0] in finding.events and [victim.strand for victim in finding.victims] == [lost.strand]


def _begin(name: str) -> str:
    return f"P{name[1:]}" if name.startswith("process ") else name


def ended_badly(facts: Facts, event: int) -> Meanwhile | None:
    """Return the uncaught exception that ended a thread or task last before an error, else the processes that died."""
    graph = facts.graph
    ns, strand = graph.at("ts", event), graph.at("strand", event)
    if graph.at("kind", event) == Kind.LOG and graph.key(event) < WARNING:
        return None
    known, basis = LostStrands.of(facts), f"{_ORDER} alone: no recorded dependence leads to it"
    threads = [lost for lost in known.threads.values() if lost.ns < ns and lost.strand != strand]
    if threads:
        return Meanwhile(_elsewhere(facts, event, [max(threads, key=lambda lost: lost.ns)]), basis)
    for finding in reversed(findings(facts)):
        if finding.kind in _LASTING and graph.at("ts", finding.events[0]) < ns:
            first = finding.claims[0]
            first = Claim(f"{_NOTHING} Elsewhere: {first.text}", (event, *first.events))
            return Meanwhile((first, *finding.claims[1:]), basis, finding)
    own, awaited = graph.strands[strand].process, _awaited_ends(graph, ns)
    died = [
        lost
        for lost in known.died.values()
        if lost.ns < ns and graph.strands[lost.strand].process != own and _end_of(graph, lost) not in awaited
    ]
    return Meanwhile(_elsewhere(facts, event, died[-MOST_PROCESSES:]), basis) if died else None


def _elsewhere(facts: Facts, event: int, lost: list[Lost]) -> tuple[Claim, ...]:
    claims = [Claim(f"Elsewhere, {lost_name(facts, each)} {how_lost(facts, each)}.", each.rows) for each in lost]
    return Claim(_NOTHING, (event,)), *claims


def _awaited_ends(graph: ExecutionGraph, ns: int) -> set[int]:
    """Return the keys of the ends of child processes that somebody had waited for by then, also of those that were killed."""
    joins = graph.rows_of([Kind.JOIN])
    known = joins[graph.ts[joins] <= ns].tolist()
    return {graph.key(row) for row in known if graph.channel(row) == "process.end"}


def _end_of(graph: ExecutionGraph, lost: Lost) -> int:
    """Return the key of the end of a lost process, 0 if its start was not recorded."""
    strand = graph.strands[lost.strand]
    starts = (row for row in range(strand.start, min(strand.start + 2, strand.stop)))
    return next((process_end(graph.key(row)) for row in starts if graph.channel(row) == "process.start"), 0)
