"""Find tasks that failed with an exception that nobody took: no other task awaited or asked for their outcome."""

from __future__ import annotations

import numpy as np

from clew.graph.model.graph import I64
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.words import offset, where, who
from clew.graph.ops.facts.facts import Fact, Facts, Resource
from clew.records.format.event import CALLS
from clew.records.format.facts import Exception_

KIND = "exception-never-taken"
_UNRETRIEVED = "unretrieved"
_BASIS = "no recorded event takes the outcome of the task, and nothing was to run at its end"


def find(facts: Facts) -> list[Finding]:
    """Return the failed tasks of a run whose exceptions nobody took."""
    failed = {strand: ended for strand, ended in facts.ended.items() if ended.text.end == "failed"}
    if not failed:
        return []
    graph = facts.graph
    exceptions: dict[Resource, Fact[Exception_]] = {}
    unretrieved: dict[Resource, Fact[Exception_]] = {}
    for resource in {(ended.process, ended.text.exception) for ended in failed.values() if ended.text.exception}:
        for fact in sorted(facts.exceptions.of(*resource), key=lambda fact: fact.row):
            if fact.text.role == _UNRETRIEVED:
                unretrieved[resource] = fact
            elif resource not in exceptions or fact.text.at:
                exceptions[resource] = fact
    sources = np.sort(graph.edge_src)
    found = []
    for strand, ended in failed.items():
        resource = (ended.process, ended.text.exception)
        proof = unretrieved.get(resource) if ended.text.exception else None
        if proof is None and _has_taker(facts, strand, sources):
            continue
        shown = (exceptions.get(resource) or proof) if ended.text.exception else None
        message = f": {shown.text.message}" if shown and shown.text.message else ""
        what = f" with {shown.channel}{message}" if shown else ""
        at = where(shown.text.at, facts) if shown else ""
        claims = [
            Claim(
                f"{who(facts, strand)} failed at {offset(ended.ns)}{what}{f', raised in {at}' if at else ''}.",
                (ended.row, *((shown.row,) if shown else ())),
            ),
            Claim("No code awaited it or took its exception.", (proof.row,) if proof else (ended.row,)),
        ]
        found.append(
            Finding(
                KIND,
                Reason.DATA,
                tuple(claims),
                (Victim(strand, ended.row, -1),),
                "recorded" if proof else "inferred",
                "" if proof else _BASIS,
            )
        )
    return found


def _has_taker(facts: Facts, strand: int, sources: I64) -> bool:
    """Return whether an edge leaves the end of a task: its outcome, or the handle of a callback that runs then."""
    graph = facts.graph
    task = graph.strands[strand]
    calls = np.flatnonzero(np.isin(graph.kind[task.start : task.stop], list(CALLS)))
    first = task.start + int(calls[-1]) + 1 if len(calls) else task.start
    return bool(np.searchsorted(sources, task.stop) > np.searchsorted(sources, first))
