"""The critical path view: the one chain of work and waiting that the time up to an event consists of."""

from __future__ import annotations

from clew.graph.levels import level_names
from clew.graph.ops.critical_path import CriticalPath, critical_path
from clew.graph.ops.slice import slice_events
from clew.server import wording
from clew.server.panel.chain import location
from clew.server.panel.slice import EVENT, several
from clew.server.panel.target import NothingFound, find_target
from clew.server.protocol import CriticalPathParams, CriticalPathResult, PathSegment
from clew.server.session import Session, Task


def critical_path_view(session: Session, params: CriticalPathParams, task: Task) -> CriticalPathResult:
    try:
        found = find_target(session, params.run, params.target, task)
    except NothingFound as nothing:
        run, text = session.open(params.run, task), str(nothing)
        return CriticalPathResult(
            run=session.ref(run),
            title="",
            level=params.level,
            levels=_levels(level_names(run.graph)),
            segments=[],
            totalNs=0.0,
            message=text[:1].upper() + text[1:],
        )
    graph = found.run.graph
    task.phase("slicing")
    # The path to the newest of several: one path has one end.
    slice_ = slice_events(graph, [found.event])
    task.phase("walking the critical path")
    path = critical_path(graph, slice_, params.level)
    return CriticalPathResult(
        run=session.ref(found.run),
        title=f"{found.title}: {wording.duration(path.total_ns)}",
        level=params.level,
        levels=_levels(level_names(graph)),
        segments=_segments(path),
        totalNs=float(path.total_ns),
        message=several(found, shown=1),
    )


def _levels(names: list[str]) -> list[str]:
    return [name for name in names if name != EVENT]


def _segments(path: CriticalPath) -> list[PathSegment]:
    graph = path.graph
    return [
        PathSegment(
            label=segment.label,
            process=graph.process_of(segment.first_event).name,
            strand=graph.strands[segment.strand].name,
            selfNs=float(segment.self_ns),
            waitNs=float(segment.wait_ns),
            slackNs=float(segment.slack_ns),
            startNs=float(segment.start),
            endNs=float(segment.end),
            nodeId=segment.label,
            location=location(graph, segment.first_event),
        )
        for segment in path.segments
    ]
