"""The timeline: the threads and tasks of a run, and tiles, arrows and single calls of them.

Invariant: an answer fits a screen: strands, functions, gaps, cells and arrows are limited, and omissions are counted.
"""

from __future__ import annotations

import base64
import threading
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from clew.graph.model.gaps import gaps as all_gaps
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.timeline.bars import CELL_ASLEEP
from clew.graph.ops.timeline.layout import Spot, Timeline
from clew.graph.store.timeline_cache import timeline_of
from clew.query.api import Run
from clew.query.operators.answers.strands import strands_named
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.server.protocol.shared import Location
from clew.server.protocol.views.timeline import (
    TimelineArrow,
    TimelineArrowsParams,
    TimelineArrowsResult,
    TimelineCall,
    TimelineCallParams,
    TimelineCallResult,
    TimelineFunction,
    TimelineGap,
    TimelineLane,
    TimelineParams,
    TimelineProcess,
    TimelineResult,
    TimelineStrand,
    TimelineTileParams,
    TimelineTileResult,
)
from clew.server.session.session import Session, Task
from clew.server.text.gaps import MOST_GAPS, missing
from clew.server.views.target import nothing_recorded

MAX_STRANDS = 2000
MAX_FUNCTIONS = 2000
MAX_ARROWS = 1000
TILE = 512
"""Buckets per tile."""
MAX_CELLS = 110_000
"""Maximum cells of an answer: 440 KB in base64."""
MAX_ROWS = 1000
NAMED_BUCKETS = 16
MIXED = 64
"""Maximum number of strands that the one row of a process combines: those with the most events."""
ACTIVITY = 1000
"""Maximum number of values."""

Row = npt.NDArray[np.unsignedinteger]

_MADE: WeakKeyDictionary[Run, Timeline] = WeakKeyDictionary()
_LOCK = threading.Lock()


def timeline_view(session: Session, params: TimelineParams, task: Task) -> TimelineResult:
    """Raises `ClewError` for an unknown strand."""
    run, timeline = open_timeline(session, params.run, task)
    graph = run.graph
    named = strands_named(graph, params.strand)
    there = [strand for strand in named if graph.strands[strand].stop > graph.strands[strand].start]
    most = max(1, min(params.maxStrands, MAX_STRANDS))
    visible = sorted(
        sorted(there, key=lambda strand: -_events(graph, strand))[:most], key=lambda strand: _order(graph, strand)
    )
    processes = list(dict.fromkeys(graph.strands[strand].process for strand in visible))
    begin, end = _span(graph, there)
    scale = _scale(end - begin, ACTIVITY)
    task.phase("finding active times")
    busy = timeline.busy(there[:: 1 + len(there) // MAX_STRANDS], begin, scale, ((end - begin) >> scale) + 1)
    sites = _listed(timeline)
    lost = [gap for gap in all_gaps(graph) if gap.strand in set(visible)]
    summary = missing(graph, lost, MOST_GAPS)
    strand_of = {place: gap.strand for gap, place in summary.place.items()}
    message = "" if len(timeline.row_ns) else nothing_recorded(run)
    if len(graph) and not len(timeline.row_ns):
        message = "No calls were recorded. Select functions in a spec, or use `clew run` without one."
    return TimelineResult(
        run=session.ref(run),
        processes=[_process(graph, process, there) for process in processes],
        strands=[_strand(graph, timeline, strand) for strand in visible],
        hiddenStrands=len(there) - len(visible),
        events=len(graph),
        fromNs=float(begin),
        toNs=float(end),
        scale=scale,
        activity=[round(float(value), 4) for value in busy],
        gaps=[TimelineGap(strand_of.get(place, -1), gap) for place, gap in enumerate(summary.shown)],
        hiddenGaps=summary.hidden,
        functions=[_function(graph, site) for site in sites],
        hiddenFunctions=int(np.count_nonzero(timeline.site_ns[1:])) - len(sites),
        message=message,
    )


def timeline_tile(session: Session, params: TimelineTileParams, task: Task) -> TimelineTileResult:
    """Return as many of the lanes as fit. Raises `ClewError` for an impossible tile."""
    run, timeline = open_timeline(session, params.run, task)
    graph = run.graph
    if not (0 <= params.scale <= 50 and 1 <= params.tiles <= 64 and abs(params.first) < 1 << 53 - params.scale):
        raise ClewError(f"there are no {params.tiles} tiles of 2^{params.scale} ns a bucket at {params.first}")
    buckets = TILE * params.tiles
    start = TILE * params.first << params.scale
    lanes: list[TimelineLane] = []
    rows = 0
    for lane in params.lanes:
        rows += _rows(lane)
        if lanes and (rows * buckets > MAX_CELLS or rows > MAX_ROWS):
            break
        lanes.append(lane)
    asked = [(_known(graph, lane.strand), lane.depth, _rows(lane)) if lane.process < 0 else _NOTHING for lane in lanes]
    rows = sum(count for _, _, count in asked)
    mixed = [_members(graph, lane.process) if lane.process >= 0 else [] for lane in lanes]
    members = [(strand, 0, 1) for strands in mixed for strand in strands]
    painted = timeline.paint([*asked, *members], start, params.scale, buckets, NAMED_BUCKETS)
    cells, covers = painted.cells[:rows], painted.covers[:rows]
    row, member = 0, rows
    for strands, (_, _, count) in zip(mixed, asked, strict=True):
        if strands:
            part = slice(member, member + len(strands))
            cells[row], covers[row] = _busiest(painted.cells[part], painted.covers[part])
            member += len(strands)
        row += count
    listed = set(_listed(timeline))
    return TimelineTileResult(
        run=run.info.id,
        scale=params.scale,
        first=params.first,
        tiles=params.tiles,
        lanes=len(lanes),
        cells=_base64(cells.astype("<u2", copy=False).tobytes() + covers.tobytes()),
        named=_base64(painted.named[painted.named["row"] < rows].tobytes()),
        functions=painted.palette.tolist(),
        unknown=[_function(graph, site) for site in painted.palette.tolist() if site not in listed],
    )


def timeline_arrows(session: Session, params: TimelineArrowsParams, task: Task) -> TimelineArrowsResult:
    run, timeline = open_timeline(session, params.run, task)
    graph = run.graph
    shown = np.zeros(len(graph.strands), bool)
    shown[[_known(graph, strand) for strand in params.strands]] = True
    most = max(0, min(params.most, MAX_ARROWS))
    found, hidden = timeline.arrows_in(int(params.fromNs), int(params.toNs), shown, most)
    return TimelineArrowsResult(
        [
            TimelineArrow(
                source=int(arrow["source"]),
                target=int(arrow["target"]),
                sourceStrand=int(arrow["source_strand"]),
                targetStrand=int(arrow["target_strand"]),
                sourceDepth=int(arrow["source_depth"]),
                targetDepth=int(arrow["target_depth"]),
                sourceNs=float(arrow["source_ns"]),
                targetNs=float(arrow["target_ns"]),
                channel=graph.strings[int(arrow["channel"])],
            )
            for arrow in found
        ],
        hidden,
    )


def timeline_call(session: Session, params: TimelineCallParams, task: Task) -> TimelineCallResult:
    run, timeline = open_timeline(session, params.run, task)
    strand = _known(run.graph, params.strand)
    spot = timeline.spot(strand, params.depth, int(params.ns), int(max(0, params.slackNs)))
    match params.move:
        case "next" | "previous":
            spot = timeline.neighbour(strand, params.depth, int(params.ns), 1 if params.move == "next" else -1)
        case "into":
            spot = timeline.inside(spot)[0] if spot else None
        case "out":
            spot = timeline.spot(strand, params.depth - 1, spot.begin if spot else int(params.ns))
        case _:
            pass
    return TimelineCallResult(None if spot is None else call_of(run.graph, timeline, spot))


def longest_calls(
    session: Session, which: str, strands: list[int], most: int, task: Task
) -> tuple[list[TimelineCall], int]:
    """Return the longest calls of some strands, and the number of all their calls."""
    run, timeline = open_timeline(session, which, task)
    spots, all_ = timeline.longest(strands, most)
    return [call_of(run.graph, timeline, spot) for spot in spots], all_


def open_timeline(session: Session, which: str, task: Task) -> tuple[Run, Timeline]:
    run = session.snapshot(which, task)
    made = _MADE.get(run)
    if made is None:
        task.phase("laying out the timeline")
        with task.hold(_LOCK):
            made = _MADE.get(run)
            if made is None:
                made = _MADE[run] = timeline_of(run.folder, run.info, run.graph, task)
    return run, made


def _events(graph: ExecutionGraph, strand: int) -> int:
    return graph.strands[strand].stop - graph.strands[strand].start


def _order(graph: ExecutionGraph, strand: int) -> tuple[int, int, bool, int]:
    of = graph.strands[strand]
    return graph.processes[of.process].first_ns, of.process, of.kind != "thread", graph.at("ts", of.start)


def _span(graph: ExecutionGraph, strands: list[int]) -> tuple[int, int]:
    begin = min((graph.at("ts", graph.strands[strand].start) for strand in strands), default=0)
    return begin, max((graph.at("ts", graph.strands[strand].stop - 1) for strand in strands), default=begin)


def _scale(span: int, most: int) -> int:
    """Return the scale of the narrowest buckets of which at most `most` cover a span."""
    return max(0, (max(1, span) - 1) // most).bit_length()


def _rows(lane: TimelineLane) -> int:
    return max(1, min(lane.depths, MAX_ROWS)) if lane.process < 0 else 1


_NOTHING = (0, -1, 1)
"""A lane of one empty row."""


def _known(graph: ExecutionGraph, strand: int) -> int:
    if not 0 <= strand < len(graph.strands):
        raise ClewError(f"there is no thread or task number {strand}; the run has {len(graph.strands)}")
    return strand


def _members(graph: ExecutionGraph, process: int) -> list[int]:
    of = [strand.index for strand in graph.strands if strand.process == process]
    return sorted(of, key=lambda strand: -_events(graph, strand))[:MIXED]


def _busiest(cells: npt.NDArray[np.uint16], covers: npt.NDArray[np.uint8]) -> tuple[Row, Row]:
    """Return, per bucket, the busiest of some rows."""
    awake = np.where(cells < CELL_ASLEEP, covers, 0)
    best = np.argmax(awake, axis=0)[None]
    cover = np.take_along_axis(awake, best, 0)[0]
    return np.where(cover > 0, np.take_along_axis(cells, best, 0)[0], 0), cover


def _listed(timeline: Timeline) -> list[int]:
    """Return the functions with the most time."""
    order = np.argsort(-timeline.site_ns, kind="stable")[: MAX_FUNCTIONS + 1]
    return [site for site in order[timeline.site_ns[order] > 0].tolist() if site][:MAX_FUNCTIONS]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _process(graph: ExecutionGraph, process: int, strands: list[int]) -> TimelineProcess:
    of = graph.processes[process]
    return TimelineProcess(
        process=process,
        name=of.name,
        machine=graph.machines[of.machine].name if len(graph.machines) > 1 else "",
        strands=sum(graph.strands[strand].process == process for strand in strands),
    )


def _strand(graph: ExecutionGraph, timeline: Timeline, strand: int) -> TimelineStrand:
    of = graph.strands[strand]
    begin, end = graph.at("ts", of.start), graph.at("ts", of.stop - 1)
    row = timeline.bars.row(strand, 0)
    return TimelineStrand(
        strand=strand,
        process=of.process,
        name=of.name or f"a {of.kind}",
        kind=of.kind,
        depth=int(timeline.bars.depths[strand]),
        events=_events(graph, strand),
        busy=int(timeline.row_ns[row]) / (end - begin) if row >= 0 and end > begin else 0.0,
        fromNs=float(begin),
        toNs=float(end),
    )


def _function(graph: ExecutionGraph, site: int) -> TimelineFunction:
    of = graph.sites[site]
    return TimelineFunction(site, of.label, Location(of.file, of.line, of.end_line) if of.file else None)


def call_of(graph: ExecutionGraph, timeline: Timeline, spot: Spot) -> TimelineCall:
    strand = graph.strands[spot.strand]
    function = _function(graph, spot.site)
    return TimelineCall(
        strand=spot.strand,
        depth=spot.depth,
        event=spot.event,
        resumed=graph.at("kind", spot.event) == Kind.RESUME,
        label=function.label,
        fromNs=float(spot.begin),
        toNs=float(spot.end),
        selfNs=float(spot.end - spot.begin - timeline.inside(spot)[1]),
        process=graph.processes[strand.process].name,
        strandName=strand.name or f"a {strand.kind}",
        location=function.location,
    )
