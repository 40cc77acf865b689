"""Why one event happened: its chain of causes and how much led to it. What the command line prints and the panel draws."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import slice_events
from clew.graph.ops.walk import why
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


def explain(graph: ExecutionGraph, event: int) -> Explanation:
    began = time.perf_counter_ns()
    chain = chain_of(graph, why(graph, event))
    slice_ = slice_events(graph, [event])
    return Explanation(event, event_title(graph, event), chain, numbers(slice_, time.perf_counter_ns() - began))


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
