"""Tell what diverted an execution from the way that like ones took: a wait, a cancellation, an exception, another branch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.comparison.executions import Execution, Step, step_of, step_text
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.control.cancelled_by import cancelled_by
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.records.format.event import Kind

_BAD = frozenset({"timeout", "cancelled", "failed", "never"})


@dataclass(frozen=True)
class Parting:
    """Where an execution parted from like ones: after the step at `row`, in place of `expected`."""

    row: int
    expected: Step | None
    """The usual step that did not happen; None if the text itself is the first that did not."""


def diversions(
    facts: Facts, mine: Execution, parting: Parting, having: list[tuple[Execution, int]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield what diverted an execution, the best first: a wait that ended badly, a cancellation, an exception, a branch."""
    graph = facts.graph
    begin, end = graph.at("ts", parting.row), mine.end_ns
    normal = _normal_waits(having)
    for wait in _waits(facts, mine, begin, end):
        if wait.end in _BAD and _wait_key(wait) not in normal:
            by = cancelled_by(facts, wait.strand, wait.wake.row) if wait.wake and wait.end == "cancelled" else None
            text = phrases.waited(facts, wait)
            yield (f"{text}: {by.text.removesuffix('.')}", (*wait.rows, *by.events[:1])) if by else (text, wait.rows)
    for strand in sorted(mine.strands):
        cancelled = cancelled_by(facts, strand, graph.strands[strand].stop - 1)
        if cancelled is not None and begin <= graph.at("ts", cancelled.events[0]) <= end:
            text = cancelled.text.removesuffix(".")
            yield text[:1].lower() + text[1:] if text.startswith("A ") else text, cancelled.events[:1]
    raised = facts.exceptions
    inside = (raised.ns >= begin) & (raised.ns <= end) & np.isin(raised.strand, list(mine.strands))
    for fact in raised.take(inside):
        place = words.where(fact.text.at, facts)
        yield f"{words.exception(fact)} was raised" + (f" ({place})" if place else ""), (fact.row,)
    for row in graph.rows_of([Kind.UNWIND]).tolist():
        if graph.at("strand", row) in mine.strands and begin <= graph.at("ts", row) <= end:
            yield f"{graph.sites[graph.at('site', row)].qualname} ended by an exception", (row,)
    known = {step for like, _ in having for step in like.steps}
    for row in mine.rows:
        if graph.at("ts", row) > begin and step_of(graph, row) not in known:
            yield f"it took another branch: {step_text(graph, row)}", (row,)


def _waits(facts: Facts, mine: Execution, begin: int, end: int) -> list[Waiting]:
    """Return the waits of an execution in a range of time; one that lasts until the end may have begun a moment before."""
    found: list[Waiting] = []
    for strand in mine.strands:
        waits = facts.waits_of.of(strand)
        low, high = np.searchsorted(waits.begin_ns, begin), np.searchsorted(waits.begin_ns, end, "right")
        found += waits[int(low) : int(high)]
    return sorted(found, key=lambda wait: wait.begin.ns)


def _normal_waits(having: list[tuple[Execution, int]]) -> set[tuple[str, str, int]]:
    """Return the waits that end badly in like executions too, before the text."""
    found: set[tuple[str, str, int]] = set()
    for like, row in having:
        facts, begin = Facts.of(like.graph), like.graph.at("ts", like.root)
        waits = _waits(facts, like, begin, like.graph.at("ts", row))
        found |= {_wait_key(wait) for wait in waits if wait.end in _BAD}
    return found


def _wait_key(wait: Waiting) -> tuple[str, str, int]:
    at = wait.begin.text.at
    return wait.begin.channel, at[0].function if at else "", at[0].line if at else 0
