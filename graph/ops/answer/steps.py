"""The steps of an answer: positions of a trail as lines of the program, each under the request or task it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.ops.answer.trail import Position, Trail, is_library
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Reason
from clew.graph.ops.facts.work.work_units import request_of

MOST_STEPS = 12
NEAR_NS = 1_000_000
"""A step that happened at most this long before the event gets no time in its title."""


@dataclass(frozen=True)
class AnswerStep:
    """One step back from the event."""

    event: int
    reason: Reason
    text: str
    """The step in words, "" if the recorded edge `edge` or else the event itself says it."""
    group: str
    """The request or task that the step belongs to: `in GET /items/sku-7, 30 ms earlier`."""
    edge: int = -1
    """The number of the edge that the step follows, -1 for none."""
    target: int = -1
    """The event of the step before that depended on this one, -1 without an edge."""
    folded: int = 0
    """The number of steps inside libraries between this step and the one before."""


def steps_of(trail: Trail, positions: list[Position]) -> tuple[tuple[AnswerStep, ...], int]:
    """Return at most twelve steps for a path, and how many others the path has.

    A position inside a library folds into the next step of the program, whose target is then the library's own target. The
    step has the best reason among these, so that one that left its request along data says so.
    """
    found: list[AnswerStep] = []
    several = len({trail.graph.strand_of(position.row).process for position in positions}) > 1
    target, folded = -1, 0
    carrying: Position | None = None
    for number, position in enumerate(positions):
        near = position.events[-1] if position.edge >= 0 else -1
        target = near if target < 0 else target
        if 0 < number < len(positions) - 1 and not position.text and is_library(trail.graph, position.row):
            folded += 1
            carrying = carrying if carrying is not None and carrying.reason <= position.reason else position
            continue
        group = group_of(trail, position, in_process=several)
        best = carrying if carrying is not None and carrying.reason < position.reason else position
        found.append(AnswerStep(position.row, best.reason, position.text, group, best.edge, target, folded))
        target, folded, carrying = -1, 0, None
    return tuple(found[:MOST_STEPS]), max(0, len(found) - MOST_STEPS)


def group_of(trail: Trail, position: Position, *, in_process: bool) -> str:
    """Return the title of a position's request, task or thread, with its process if `in_process`, and the time before
    the event."""
    graph = trail.graph
    request = request_of(trail.graph, position.row)
    name = graph.channel(request) if request >= 0 else words.who(trail.facts, position.strand)
    ns = graph.at("ts", trail.event) - graph.at("ts", position.row)
    earlier = f", {words.seconds(ns)} earlier" if ns >= NEAR_NS else ""
    # The main thread of a child is named by its process.
    process = f" of {graph.process_of(position.row).name}" if in_process and not name.startswith("process ") else ""
    return f"in {name}{process}{earlier}"
