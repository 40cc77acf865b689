"""The chain of causes as steps that a person reads: an event, how the later one depended on it, where and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from clew.graph.model import ExecutionGraph, edge_kind_name
from clew.graph.ops.waits import edges_into
from clew.graph.ops.walk import Step
from clew.records.event import EdgeKind
from clew.server import wording
from clew.server.panel import titles
from clew.server.panel.missing import clock, machine_of, on_the_way
from clew.server.protocol import ChainStep, Location

OPENED = "scope"
"""The edge of a root that opened the region of the step before: a request, or what began a thread or task."""


def chain_of(
    graph: ExecutionGraph,
    steps: Sequence[Step],
    node_of: Callable[[int], str] = lambda _event: "",
    shown: Iterable[int] | None = None,
) -> list[ChainStep]:
    """The steps of `graph.ops.walk.why`, from an event back to its root; of these only `shown` ones, where it is given.
    `node_of` names the panel's node that an event is in."""
    told = []
    for number in range(len(steps)) if shown is None else shown:
        step = steps[number]
        further = steps[number + 1] if number + 1 < len(steps) else None
        passed = on_the_way(graph, _came_from(graph, step, further), step.event)
        told.append(replace(_step(graph, step, node_of), gaps=passed.shown, hiddenGaps=passed.hidden))
    return told


def _came_from(graph: ExecutionGraph, step: Step, further: Step | None) -> int:
    """The event that the way back from a step goes to in its region: where the next step's edge leads, or the region's first;
    at a strand's beginning the row before that."""
    if further is None:
        first = int(graph.regions.first[graph.region[step.event]])
        return first - 1 if first == graph.strand_of(step.event).start else first
    return further.target_event if further.edge >= 0 else further.event


def causes_of(graph: ExecutionGraph, event: int) -> list[ChainStep]:
    """Every edge into the event's region up to the event, the newest first; each step is an edge's source."""
    edges = reversed(edges_into(graph, int(graph.region[event]), event))
    return [_step(graph, _step_of(graph, edge), lambda _event: "") for edge in edges]


def _step_of(graph: ExecutionGraph, edge: int) -> Step:
    source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
    return Step(
        source, EdgeKind(int(graph.edge_kind[edge])), graph.strings[int(graph.edge_channel[edge])], target, edge, 0
    )


def events_of(steps: Sequence[Step]) -> set[int]:
    """The events that the steps name, those included that their edges lead to."""
    return {step.event for step in steps} | {step.target_event for step in steps if step.target_event >= 0}


def _step(graph: ExecutionGraph, step: Step, node_of: Callable[[int], str]) -> ChainStep:
    event, target = step.event, step.target_event
    if target < 0:
        title, edge = titles.event_title(graph, event), ""
    elif step.edge_kind is None:
        title, edge = titles.root_title(graph, event), OPENED
    else:
        title, edge = (
            titles.edge_title(graph, event, target, step.edge_kind, step.channel),
            edge_kind_name(step.edge_kind),
        )
    ns = int(graph.ts[target]) - int(graph.ts[event]) if target >= 0 else 0
    corrected, uncertain = clock(graph.crossing(event, target) if target >= 0 else None, ns)
    return ChainStep(
        event=event,
        title=title,
        detail=_detail(graph, step),
        process=graph.process_of(event).name,
        strand=graph.strand_of(event).name,
        timeNs=float(graph.ts[event]),
        edge=edge,
        channel=step.channel,
        key=titles.shorten(graph.key_text(event), 80) if step.edge_kind is not None else "",
        otherCauses=step.other_causes,
        nodeId=node_of(event),
        location=location(graph, event),
        machine=machine_of(graph, event),
        clock=corrected,
        uncertain=uncertain,
    )


def _detail(graph: ExecutionGraph, step: Step) -> str:
    """`Connection.send at wire.py:61 · 1.2 ms before · 3 other causes`"""
    place = location(graph, step.event)
    parts = [titles.actor(graph, step.event)]
    if place:
        parts[0] += f" at {wording.library_place(place.path) or Path(place.path).name}:{place.line}"
    if step.target_event >= 0:
        ns = int(graph.ts[step.target_event]) - int(graph.ts[step.event])
        crossing = graph.crossing(step.event, step.target_event)
        about = "about " if crossing is not None and crossing.hides(ns) else ""
        parts.append(f"{about}{wording.duration(ns)} before")
    if step.other_causes:
        parts.append(wording.count(step.other_causes, "other cause"))
    return " · ".join(parts)


def location(graph: ExecutionGraph, event: int) -> Location | None:
    """Where the event happened in the program; for what an adapter recorded inside a library, the function around it."""
    call = graph.owner_of(event)
    if graph.site_is_adapter[int(graph.site[event])] and call >= 0:
        event = call
    place = graph.location(event)
    return Location(place[0], place[1]) if place else None
