"""The chain of causes as readable steps: each has an event, how the later event depended on it, and its location and
time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from clew.graph.model.graph import ExecutionGraph, edge_kind_name
from clew.graph.ops.causes.state_waits import edges_into
from clew.graph.ops.causes.why import Step
from clew.graph.render.library import library_place
from clew.records.format.event import EdgeKind
from clew.server.protocol.shared import Location
from clew.server.protocol.views.slice import ChainStep
from clew.server.text import events, units
from clew.server.text.gaps import clock, machine_of, on_the_way

OPENED = "scope"
"""The edge of a root event that opened the region of the step before it: a request, or the start of a thread or task."""


def chain_of(
    graph: ExecutionGraph,
    steps: Sequence[Step],
    node_of: Callable[[int], str] = lambda _event: "",
    shown: Iterable[int] | None = None,
) -> list[ChainStep]:
    """Return the steps of `graph.ops.causes.why.why`, from an event back to its root; only the `shown` ones, if given.

    `node_of` returns the id of the panel's node for an event.
    """
    chain = []
    for number in range(len(steps)) if shown is None else shown:
        step = steps[number]
        further = steps[number + 1] if number + 1 < len(steps) else None
        passed = on_the_way(graph, _came_from(graph, step, further), step.event)
        chain.append(replace(_step(graph, step, node_of), gaps=passed.shown, hiddenGaps=passed.hidden))
    return chain


def _came_from(graph: ExecutionGraph, step: Step, further: Step | None) -> int:
    """Return the event where the way back from a step leaves its region.

    This is the target of the next step's edge, or the region's first event; at the beginning of a strand, it is the row
    before that event.
    """
    if further is None:
        first = int(graph.regions.first[graph.region[step.event]])
        return first - 1 if first == graph.strand_of(step.event).start else first
    return further.target_event if further.edge >= 0 else further.event


def causes_of(graph: ExecutionGraph, event: int) -> list[ChainStep]:
    """Return every edge into the event's region up to the event, the newest first; each step is the source of an edge."""
    edges = reversed(edges_into(graph, int(graph.region[event]), event))
    return [_step(graph, _step_of(graph, edge), lambda _event: "") for edge in edges]


def cause_count(graph: ExecutionGraph, event: int) -> int:
    """Return the number of the causes that `causes_of` returns."""
    return len(edges_into(graph, int(graph.region[event]), event))


def _step_of(graph: ExecutionGraph, edge: int) -> Step:
    source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
    return Step(
        source, EdgeKind(int(graph.edge_kind[edge])), graph.strings[int(graph.edge_channel[edge])], target, edge, 0
    )


def events_of(steps: Sequence[Step]) -> set[int]:
    """Return the events of the steps, including the targets of their edges."""
    return {step.event for step in steps} | {step.target_event for step in steps if step.target_event >= 0}


def _step(graph: ExecutionGraph, step: Step, node_of: Callable[[int], str]) -> ChainStep:
    event, target = step.event, step.target_event
    if target < 0:
        title, edge = events.event_title(graph, event), ""
    elif step.edge_kind is None:
        title, edge = events.root_title(graph, event), OPENED
    else:
        title, edge = (
            events.edge_title(graph, event, target, step.edge_kind, step.channel),
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
        key=events.shorten(graph.key_text(event), 80) if step.edge_kind is not None else "",
        otherCauses=step.other_causes,
        nodeId=node_of(event),
        location=location(graph, event),
        machine=machine_of(graph, event),
        clock=corrected,
        uncertain=uncertain,
    )


def _detail(graph: ExecutionGraph, step: Step) -> str:
    """Return the detail line: `Connection.send at wire.py:61 · 1.2 ms before · 3 other causes`."""
    place = location(graph, step.event)
    parts = [events.actor(graph, step.event)]
    if place:
        parts[0] += f" at {library_place(place.path) or Path(place.path).name}:{place.line}"
    if step.target_event >= 0:
        ns = int(graph.ts[step.target_event]) - int(graph.ts[step.event])
        crossing = graph.crossing(step.event, step.target_event)
        about = "about " if crossing is not None and crossing.hides(ns) else ""
        parts.append(f"{about}{units.duration(ns)} before")
    if step.other_causes:
        parts.append(units.count(step.other_causes, "other cause"))
    return " · ".join(parts)


def location(graph: ExecutionGraph, event: int) -> Location | None:
    """Return the location of the event in the program.

    For an adapter's event in a library, return the location of the calling function.
    """
    call = graph.owner_of(event)
    if graph.site_is_adapter[int(graph.site[event])] and call >= 0:
        event = call
    place = graph.location(event)
    return Location(place[0], place[1]) if place else None
