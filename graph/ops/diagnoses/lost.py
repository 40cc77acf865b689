"""Names and ends of lost strands in the sentences of diagnoses."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import Lost, LostStrands
from clew.records.format.event import Kind


def lost_name(facts: Facts, lost: Lost) -> str:
    """Return the name of a lost thread or task, or `process app (4711)`."""
    if lost.how in ("killed", "exited"):
        process = facts.graph.processes[facts.graph.strands[lost.strand].process]
        return f"process {process.name} ({process.pid})"
    return words.who(facts, lost.strand)


def how_lost(facts: Facts, lost: Lost) -> str:
    """Return `was ended by KeyError: 'id' at +0.70 s (pack, app.py:7)`, as the end of a sentence."""
    at = words.offset(lost.ns)
    match lost.how:
        case "failed":
            if lost.exception is None:
                return f"was ended by an exception at {at}"
            raised = in_brackets(words.where(lost.exception.text.at, facts))
            return f"was ended by {words.exception(lost.exception)} at {at}{raised}"
        case "destroyed":
            return f"was destroyed{' by the garbage collector' if in_collector(facts, lost.rows[0]) else ''} at {at}"
        case "killed":
            return f"died after {at}{in_brackets(place(facts, lost.rows[0]))}"
        case "exited":
            return f"ended at {at} inside a call{in_brackets(place(facts, lost.rows[0]))}"


def in_collector(facts: Facts, row: int) -> bool:
    """Return whether the garbage collector ran the code that recorded a row."""
    graph = facts.graph
    opener = int(graph.regions.opener[graph.at("region", row)])
    return opener >= 0 and graph.at("kind", opener) == Kind.SCOPE_BEGIN and graph.channel(opener) == "gc"


def was_started(facts: Facts, lost: Lost) -> tuple[str, tuple[int, ...]]:
    """Return `which main had started at +0.29 s (main, app.py:26)` and the rows, ("", ()) if that was not recorded."""
    strand, row = LostStrands.of(facts).starter(lost.strand)
    if strand < 0:
        return "", ()
    at = words.offset(facts.graph.at("ts", row))
    return f"which {words.who(facts, strand)} had started at {at}{in_brackets(place(facts, row))}", (row,)
