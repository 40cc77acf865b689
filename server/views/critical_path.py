"""The critical path view: the one chain of work and waiting that makes up the time until an event."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from clew.graph.model.graph import ExecutionGraph, Gap, Site
from clew.graph.model.levels import level_names
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.call_path import request_around, request_spans
from clew.graph.ops.timing.critical_path import Branch, CriticalPath, Segment, critical_path, path_of_call
from clew.graph.ops.timing.slack import Slack
from clew.records.format.event import Kind
from clew.server.protocol.shared import Location, Target
from clew.server.protocol.views.critical_path import (
    CriticalPathParams,
    CriticalPathResult,
    PathBranch,
    PathSegment,
    PathSlack,
    WhatIfParams,
    WhatIfResult,
)
from clew.server.session.session import Session, Task
from clew.server.text import units
from clew.server.text.chain import location
from clew.server.text.gaps import Missing, clock, during, machine_of, machines, missing, overlaps, processes
from clew.server.text.waits import wait_sentence, waited_for
from clew.server.views.slice.view import EVENT, several
from clew.server.views.target import Found, NothingFound, find_in_snapshot

MAX_SEGMENTS = 5000
MAX_BESIDE = 200
MAX_BRANCHES = 50
_LAST_PATH = "last path"
FASTER = 10.0
"""The percentage of `PathSegment.savingNs`."""


def critical_path_view(session: Session, params: CriticalPathParams, task: Task) -> CriticalPathResult:
    try:
        found, path = find_path(session, params, task)
        task.phase("looking for slack")
        with task.interruptible():
            slacks, branches = path.slacks(), path.branches()
    except NothingFound as nothing:
        run, text = session.open(params.run, task), str(nothing)
        return CriticalPathResult(
            run=session.ref(run),
            title="",
            level=params.level,
            levels=_levels(level_names(run.graph)),
            segments=[],
            hiddenSegments=0,
            totalNs=0.0,
            message=text[:1].upper() + text[1:],
        )
    return replace(
        path_result(session, found, path, params),
        beside=_off_path(path, slacks[:MAX_BESIDE]),
        hiddenBeside=max(0, len(slacks) - MAX_BESIDE),
        branches=_nearest(path, branches),
        hiddenBranches=max(0, len(branches) - MAX_BRANCHES),
    )


def what_if_view(session: Session, params: WhatIfParams, task: Task) -> WhatIfResult:
    """Raises `ClewError` for a label without work, and for more than 100 %."""
    _, path = find_path(session, CriticalPathParams(params.target, params.run, params.level), task)
    task.phase("timing the recording again")
    with task.interruptible():
        found = path.what_if(params.label, params.percent)
    return WhatIfResult(
        label=found.label,
        percent=found.percent,
        totalNs=float(found.total_ns),
        afterNs=float(found.after_ns),
        savedNs=float(found.saved_ns),
        workNs=float(found.work_ns),
    )


def find_path(session: Session, params: CriticalPathParams, task: Task) -> tuple[Found, CriticalPath]:
    """Return the target and the path to its newest event, because a path has one end. Raises `NothingFound`."""
    found = find_in_snapshot(session, params.run, params.target, task)
    graph = found.run.graph
    begin, end = _span(graph, found.event, params.target)
    # All requests while the user moves a slider are for the same path.
    asked = (begin, end, params.level)
    kept: tuple[object, CriticalPath] | None = graph.answers.get(_LAST_PATH)
    if kept is not None and kept[0] == asked:
        return found, kept[1]
    task.phase("walking the critical path")
    with task.interruptible():
        if begin >= 0:
            path = path_of_call(graph, begin, end, params.level)
        else:
            path = critical_path(graph, slice_events(graph, [end]), params.level)
    graph.answers[_LAST_PATH] = asked, path
    return found, path


def path_result(session: Session, found: Found, path: CriticalPath, params: CriticalPathParams) -> CriticalPathResult:
    limit = max(3, min(params.maxSegments, MAX_SEGMENTS))
    graph = path.graph
    ends = (path.segments[0].start, path.segments[-1].end) if path.segments else (0, 0)
    gone = missing(graph, during(graph, (segment.strand for segment in path.segments), *ends))
    segments = coalesce(_segments(path, gone), limit)
    return CriticalPathResult(
        run=session.ref(found.run),
        title=f"{found.title}: {units.duration(path.total_ns)}{_since(path, found.event)}" if segments else found.title,
        level=params.level,
        levels=_levels(level_names(path.graph)),
        segments=segments,
        hiddenSegments=len(path.segments) - sum(bool(segment.nodeId) for segment in segments),
        totalNs=float(path.total_ns),
        message=" ".join(filter(None, [*path.limits, several(found, shown=1)])),
        gaps=gone.shown,
        hiddenGaps=gone.hidden,
        processes=processes(graph, (segment.process for segment in segments)),
        machines=machines(graph),
        endEvent=path.segments[-1].last_event if path.segments else -1,
    )


def _off_path(path: CriticalPath, slacks: list[Slack]) -> list[PathSlack]:
    places = places_of_functions(path.graph) if path.level == "function" else {}

    def place(label: str) -> Location | None:
        site = places.get(label)
        return Location(site.file, site.line) if site else None

    return [
        PathSlack(
            label=slack.label,
            workNs=float(slack.work_ns),
            slackNs=None if slack.slack_ns is None else float(slack.slack_ns),
            location=place(slack.label),
        )
        for slack in slacks
    ]


def _nearest(path: CriticalPath, branches: list[Branch]) -> list[PathBranch]:
    return [
        PathBranch(
            label=branch.label,
            endNs=float(branch.end),
            joinedNs=float(path.graph.ts[branch.joined_by]),
            slackNs=float(branch.slack_ns),
            event=branch.event,
        )
        for branch in sorted(branches, key=lambda branch: branch.slack_ns)[:MAX_BRANCHES]
    ]


def _span(graph: ExecutionGraph, event: int, target: Target) -> tuple[int, int]:
    """Return the first and the last event of the path to a target; the first is -1 for a path from the very beginning.

    A function means its call, and an event of a request's flow means the request: up to its end for the request's
    first and last event, else up to the event.
    """
    call = graph.call_of(event)
    if call >= 0 and graph.kind[event] in (Kind.ENTER, Kind.EXIT, Kind.UNWIND) and target.event is None:
        of_function = target.function is not None or target.location is not None
        if of_function:
            return call, event if event != call else graph.strand_of(event).stop - 1
    request = request_around(graph, event)
    if request < 0:
        return -1, event
    begin, end, _ = (int(column[0]) for column in request_spans(graph, np.array([request])))
    return begin, end if event == request else event


def _since(path: CriticalPath, event: int) -> str:
    """Return ` since request write began` for the path to an event inside a request, else ""."""
    request = request_around(path.graph, event) if path.since_ns is not None else -1
    if request < 0:
        return ""
    begin, end, _ = (int(column[0]) for column in request_spans(path.graph, np.array([request])))
    whole = event in (request, end) or path.graph.at("ts", begin) != path.since_ns
    return "" if whole else f" since request {path.graph.channel(request)} began"


def _levels(names: list[str]) -> list[str]:
    return [name for name in names if name != EVENT]


def _segments(path: CriticalPath, gone: Missing) -> list[PathSegment]:
    graph = path.graph
    by_strand: dict[int, list[Gap]] = {}
    for gap in gone.place:
        by_strand.setdefault(gap.strand, []).append(gap)
    places = places_of_functions(graph) if path.level == "function" else {}
    made = []
    for segment, saving in zip(path.segments, path.savings(FASTER), strict=True):
        site = places.get(segment.label)
        corrected, uncertain = _clock(graph, segment)
        inside = (it for it in by_strand.get(segment.strand, ()) if overlaps(graph, it, segment.start, segment.end))
        made.append(
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
                # A segment may begin with the return from another function, whose location would be wrong.
                location=Location(site.file, site.line) if site else location(graph, segment.first_event),
                savingNs=float(saving),
                machine=machine_of(graph, segment.first_event),
                clock=corrected,
                uncertain=uncertain,
                gaps=gone.places(inside),
                waitFor=waited_for(graph, segment.edge) if segment.wait_ns else "",
                waitWhy=wait_sentence(graph, segment.edge) if segment.wait_ns else "",
                event=int(segment.first_event),
            )
        )
    return made


def _clock(graph: ExecutionGraph, segment: Segment) -> tuple[str, bool]:
    """Return the clock correction of the edge through which the path enters the segment."""
    if segment.edge < 0:
        return "", False
    source, target = int(graph.edge_src[segment.edge]), int(graph.edge_dst[segment.edge])
    return clock(graph.crossing(source, target), int(graph.ts[target] - graph.ts[source]))


def places_of_functions(graph: ExecutionGraph) -> dict[str, Site]:
    """Return the sites of the functions by label."""
    sites = [site for site in graph.sites if site.file and not site.is_adapter]
    return {site.label: site for site in sorted(sites, key=lambda site: site.kind != "log")}


def coalesce(segments: list[PathSegment], limit: int) -> list[PathSegment]:
    """Return at most `limit` segments with the same sums: the longest ones stay, and the others between two of them
    become one.

    If these are still too many, fewer of the longest ones stay.
    """
    if len(segments) <= limit:
        return segments
    by_length = sorted(range(len(segments)), key=lambda at: segments[at].selfNs + segments[at].waitNs, reverse=True)
    kept = limit
    while True:
        chosen = set(by_length[:kept])
        joined: list[PathSegment] = []
        for together, group in itertools.groupby(range(len(segments)), key=lambda at: at in chosen):
            part = [segments[at] for at in group]
            joined += part if together else [_join(part)]
        if len(joined) <= limit or kept == 0:
            return joined
        # Each remaining segment can have a joint segment on either side.
        kept = min(kept - 1, kept - (len(joined) - limit) // 2)


def _join(part: list[PathSegment]) -> PathSegment:
    if len(part) == 1:
        return part[0]
    return PathSegment(
        label=f"{len(part):,} short segments",
        process=part[0].process if len({segment.process for segment in part}) == 1 else "",
        strand=part[0].strand if len({(segment.process, segment.strand) for segment in part}) == 1 else "",
        selfNs=sum(segment.selfNs for segment in part),
        waitNs=sum(segment.waitNs for segment in part),
        slackNs=0.0,
        startNs=part[0].startNs,
        endNs=part[-1].endNs,
        nodeId="",
        machine=part[0].machine if len({segment.machine for segment in part}) == 1 else "",
        clock="; ".join(dict.fromkeys(segment.clock for segment in part if segment.clock)),
        uncertain=any(segment.uncertain for segment in part),
        gaps=sorted({gap for segment in part for gap in segment.gaps}),
    )
