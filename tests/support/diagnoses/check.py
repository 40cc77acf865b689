"""Check findings against the rows that they name, with nothing but the graph's columns: independent of the diagnoses."""

from __future__ import annotations

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses.finding import Finding
from clew.records.format.event import Kind
from clew.records.format.facts import Wait, load


def wrong_claims(graph: ExecutionGraph, finding: Finding) -> list[str]:
    """Return what is wrong with a finding's claims: an empty text, a missing row, or a name that no row of the claim has."""
    wrong = []
    for number, claim in enumerate(finding.claims):
        if not claim.text.endswith("."):
            wrong.append(f"no sentence: {claim.text!r}")
        if not claim.events:
            wrong.append(f"no events: {claim.text!r}")
        wrong += [f"no row {row}" for row in claim.events if not 0 <= row < len(graph)]
        waits = [row for row in claim.events if graph.at("kind", row) == Kind.WAIT]
        strands = {graph.at("strand", row) for row in claim.events}
        for row in waits:
            strands |= holders_of(graph, row)
        named = {graph.strands[strand].name for strand in strands}
        named |= {
            f"({graph.processes[graph.strands[strand].process].pid})" for strand in strands
        }  # `process app (4711)`
        if number == 0 and waits and not any(name in claim.text for name in named):
            wrong.append(f"{claim.text!r} names none of {sorted(named)}")
    for victim in finding.victims:
        strand = graph.strands[victim.strand]
        if not strand.start <= victim.first < strand.stop or not (victim.last == -1 or victim.last < strand.stop):
            wrong.append(f"{victim} is not in its strand")
    return wrong


def holders_of(graph: ExecutionGraph, row: int) -> set[int]:
    """Return the strands that a WAIT names as holders."""
    wait, own = load(Wait, graph.text(row)), graph.strand_of(row)
    found = set()
    for holder in wait.holders:
        uid = holder.process or graph.processes[own.process].uid
        for strand in graph.strands:
            same = graph.processes[strand.process].uid == uid
            is_task = bool(holder.strand) and strand.key == holder.strand
            is_thread = not holder.strand and strand.kind == "thread" and strand.thread == holder.thread
            if same and (is_task or is_thread):
                found.add(strand.index)
    return found
