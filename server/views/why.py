"""Why an event happened: the answer, its chain of causes and the number of its causes, for the command line and the panel."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.causes.why import Step, why
from clew.graph.ops.slicing.interval import Slice, slice_events
from clew.server.protocol.views.answer import Verdict
from clew.server.protocol.views.slice import ChainStep, Numbers
from clew.server.text import units
from clew.server.text.chain import chain_of
from clew.server.text.events import event_title
from clew.server.views.answer import verdict
from clew.server.views.slice.view import numbers


@dataclass(frozen=True)
class Explanation:
    event: int
    title: str
    answer: Verdict
    chain: list[ChainStep]
    numbers: Numbers
    meeting: ChainStep | None = None
    """The step where all ways back from the event meet after they diverged; None if it is the root, or there is none."""
    hiddenSteps: int = 0
    """Number of omitted steps in the middle of the chain. Half of the shown steps come before them; of an odd number,
    one more."""


MOST_EDGES = 300_000
"""Larger slices are not searched for a common step of all ways."""


STEPS = 1000
"""Longer chains are shown from both ends."""


def explain(
    graph: ExecutionGraph, event: int, steps_at_most: int = STEPS, baseline: ExecutionGraph | None = None
) -> Explanation:
    began = time.perf_counter_ns()
    steps = why(graph, event)
    hidden = max(0, len(steps) - steps_at_most)
    head = len(steps) - hidden - (len(steps) - hidden) // 2
    shown = (*range(head), *range(head + hidden, len(steps)))
    chain = chain_of(graph, steps, shown=shown)
    slice_ = slice_events(graph, [event])
    statistics = numbers(slice_, time.perf_counter_ns() - began)
    meeting = _meeting(graph, slice_, chain)
    return Explanation(
        event, event_title(graph, event), verdict(graph, event, baseline), chain, statistics, meeting, hidden
    )


def _meeting(graph: ExecutionGraph, slice_: Slice, chain: list[ChainStep]) -> ChainStep | None:
    """Return the common step; it is reported only outside the scopes of the event and of the root."""
    if len(slice_.edges()) > MOST_EDGES:
        return None
    origin = chain[-1].event
    event = slice_.dominators().meeting(origin) if slice_.contains(origin) else None
    if event is None or graph.region[event] in {graph.region[chain[0].event], graph.region[chain[-1].event]}:
        return None
    return chain_of(graph, [Step(event, None, "", -1, -1, 0)])[0]


def summary(numbers: Numbers, direction: str = "backward") -> str:
    """Return the summary: `1,204 events of 50,112 (2.4 %) led to it, in 5 processes and 12 strands, by 310 edges · 31
    ms`."""
    share = f" ({units.percent(numbers.events / numbers.eventsInRun)})" if numbers.eventsInRun else ""
    verb = "led to it" if direction == "backward" else "followed from it"
    elapsed = f" · {units.duration(numbers.elapsedMs * 1e6)}" if numbers.elapsedMs else ""
    return (
        f"{numbers.events:,} events of {numbers.eventsInRun:,}{share} {verb}, in "
        f"{units.count(numbers.processes, 'process')} and {units.count(numbers.strands, 'strand')}, by "
        f"{units.count(numbers.edges, 'edge')}{elapsed}"
    )
