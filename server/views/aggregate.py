"""The aggregate view: the time of a run by label, from machines down to functions, with the nodes that the user
expanded.

Invariant: an answer has at most `maxBoxes` nodes. The lightest ones are omitted and counted, in total and per expanded
node.
"""

from __future__ import annotations

from clew.graph.model.containment import container_levels
from clew.graph.ops.aggregation.drill_down import Box, BoxEdge, Drilled, Leaves, drill, leaves
from clew.graph.ops.slicing.interval import slice_events
from clew.query.api import Run
from clew.server.protocol.shared import Location, Target
from clew.server.protocol.views.aggregate import (
    AggregateBox,
    AggregateContainer,
    AggregateEdge,
    AggregateParams,
    AggregateResult,
)
from clew.server.session.session import Session, Task, which_of
from clew.server.text import units
from clew.server.views.critical_path import places_of_functions
from clew.server.views.target import Found, NothingFound, find_in_snapshot

MAX_BOXES = 400
WEIGHTS = {
    "self": "self_ns",
    "total": "total_ns",
    "waiting": "waiting_ns",
    "calls": "calls",
    "errors": "errors",
}


def aggregate_view(session: Session, params: AggregateParams, task: Task) -> AggregateResult:
    """Raises `ClewError` for an unknown run or level."""
    try:
        found = None if params.target == Target() else find_in_snapshot(session, params.run, params.target, task)
    except NothingFound as nothing:
        return _nothing(session, params, task, str(nothing))
    run = found.run if found else session.snapshot(params.run, task)
    graph = run.graph
    if not len(graph):
        return _nothing(session, params, task, f"run {run.info.name} recorded no event")
    of = _leaves(session, run, params, task, found)
    level = params.level or of.levels[0 if len(of.inside.get((), ())) > 1 else 1]
    drilled = drill(of, level, {tuple(path) for path in params.opened})
    weight = WEIGHTS[params.measure]
    limit = max(1, min(params.maxBoxes, MAX_BOXES))
    # Ties are broken by the number of events, then by the first event.
    heaviest = sorted(drilled.boxes, key=lambda box: (-getattr(box, weight), -box.events))
    visible = {box.path for box in heaviest[:limit]}
    most = max(getattr(heaviest[0], weight), 1)
    places = places_of_functions(graph)

    def shown(box: Box) -> AggregateBox:
        site = places.get(box.path[-1]) if box.level == "function" else None
        return AggregateBox(
            path=list(box.path),
            label=units.short_label(box.path[-1]) if box.level == "function" else box.path[-1],
            level=box.level,
            events=box.events,
            calls=box.calls,
            selfNs=float(box.self_ns),
            totalNs=float(box.total_ns),
            waitingNs=float(box.waiting_ns),
            errors=box.errors,
            heat=min(1.0, getattr(box, weight) / most),
            inside=box.inside,
            firstEvent=box.first_event,
            location=Location(site.file, site.line) if site else None,
        )

    return AggregateResult(
        run=session.ref(run),
        title=found.title if found else f"All of run {run.info.name}",
        nesting=list(of.levels),
        level=level,
        boxes=[shown(box) for box in drilled.boxes if box.path in visible],
        containers=[AggregateContainer(shown(box), _hidden_in(box, drilled, visible)) for box in drilled.containers],
        edges=_edges([box.path for box in drilled.boxes if box.path in visible], drilled.edges),
        hiddenBoxes=len(drilled.boxes) - len(visible),
        countedCalls=of.counted,
    )


def _leaves(session: Session, run: Run, params: AggregateParams, task: Task, found: Found | None) -> Leaves:
    if found is None:
        return session.leaves(which_of(run), params.strands, task)
    task.phase("slicing")
    with task.interruptible():
        cut = slice_events(found.run.graph, found.events)
    task.phase("aggregating")
    with task.interruptible():
        return leaves(cut, params.strands)


def _hidden_in(container: Box, drilled: Drilled, visible: set[tuple[str, ...]]) -> int:
    depth = len(container.path)
    inside = [box.path for box in drilled.boxes if box.path[:depth] == container.path and len(box.path) == depth + 1]
    return sum(path not in visible for path in inside)


def _edges(paths: list[tuple[str, ...]], edges: list[BoxEdge]) -> list[AggregateEdge]:
    place = {path: number for number, path in enumerate(paths)}
    return [
        AggregateEdge(
            source=place[edge.source],
            target=place[edge.target],
            kind=edge.kind,
            channel=edge.channel,
            count=edge.count,
            delayNs=edge.latency_ns / edge.count,
        )
        for edge in edges
        if edge.source in place and edge.target in place
    ]


def _nothing(session: Session, params: AggregateParams, task: Task, message: str) -> AggregateResult:
    run = session.open(params.run, task)
    levels = container_levels(run.graph, params.strands)
    return AggregateResult(
        run=session.ref(run),
        title="",
        nesting=list(levels),
        level=params.level or levels[1],
        boxes=[],
        containers=[],
        edges=[],
        hiddenBoxes=0,
        countedCalls=0,
        message=message[:1].upper() + message[1:],
    )
