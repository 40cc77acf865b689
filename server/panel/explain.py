"""Why one event happened: its chain of causes and how much led to it. What the command line prints and the panel draws."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import Slice, slice_events
from clew.graph.ops.walk import Step, why
from clew.server import wording
from clew.server.panel.chain import chain_of
from clew.server.panel.slice import numbers
from clew.server.panel.titles import event_title
from clew.server.protocol import ChainStep, Numbers


@dataclass(frozen=True)
class Explanation:
    event: int
    title: str
    chain: list[ChainStep]
    numbers: Numbers
    meeting: ChainStep | None = None
    """What every way back from the event comes by once they have parted; None when it is the root, or there is none."""
    hiddenSteps: int = 0
    """Of the chain, left out in its middle; half of those that are shown come before them, of an odd number one more."""


MOST_EDGES = 300_000
"""A slice with more is not searched for what all its ways have in common."""


STEPS = 1000
"""A longer chain is told from both its ends."""


def explain(graph: ExecutionGraph, event: int, steps_at_most: int = STEPS) -> Explanation:
    began = time.perf_counter_ns()
    steps = why(graph, event)
    hidden = max(0, len(steps) - steps_at_most)
    head = len(steps) - hidden - (len(steps) - hidden) // 2
    shown = (*range(head), *range(head + hidden, len(steps)))
    chain = chain_of(graph, steps, shown=shown)
    slice_ = slice_events(graph, [event])
    figures = numbers(slice_, time.perf_counter_ns() - began)
    return Explanation(event, event_title(graph, event), chain, figures, _meeting(graph, slice_, chain), hidden)


def _meeting(graph: ExecutionGraph, slice_: Slice, chain: list[ChainStep]) -> ChainStep | None:
    """Worth a word only where it is neither in the event's own scope nor in the root's."""
    if len(slice_.edges()) > MOST_EDGES:
        return None
    origin = chain[-1].event
    event = slice_.dominators().meeting(origin) if slice_.contains(origin) else None
    if event is None or graph.region[event] in {graph.region[chain[0].event], graph.region[chain[-1].event]}:
        return None
    return chain_of(graph, [Step(event, None, "", -1, -1, 0)])[0]


def summary(numbers: Numbers, direction: str = "backward") -> str:
    """`1,204 events of 50,112 (2.4 %) led to it, in 5 processes and 12 strands, by 310 edges · 31 ms`"""
    share = f" ({wording.percent(numbers.events / numbers.eventsInRun)})" if numbers.eventsInRun else ""
    verb = "led to it" if direction == "backward" else "followed from it"
    elapsed = f" · {wording.duration(numbers.elapsedMs * 1e6)}" if numbers.elapsedMs else ""
    return (
        f"{numbers.events:,} events of {numbers.eventsInRun:,}{share} {verb}, in "
        f"{wording.count(numbers.processes, 'process')} and {wording.count(numbers.strands, 'strand')}, by "
        f"{wording.count(numbers.edges, 'edge')}{elapsed}"
    )
