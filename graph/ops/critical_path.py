"""The critical path of a slice: the one chain of work and waiting that its duration consists of.

Computed on events in time order, which is always acyclic. Invariant: `total_ns` is the sum of the segments' self and waiting
times, and the time between the path's first and last event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from clew.graph.levels import LabelFunction, Labels, labels_of
from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import Slice
from clew.graph.regions import opens
from clew.graph.times import passive_kinds
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """A stretch of the path with one label, on one strand. Times in nanoseconds since the run's start."""

    label: str
    strand: int
    start: int
    end: int
    self_ns: int
    """Time in which something was done; with `wait_ns` it makes up `end - start`."""
    wait_ns: int
    """Time from the event that caused the segment until it began, and pauses inside it."""
    slack_ns: int
    """How much sooner the segment's result was of use, before something else would have been waited for; 0 also when
    nothing else was waited for, or when nobody waited for the result."""
    first_event: int
    last_event: int
    edge: int
    """The edge that the path came along into the segment, -1 when it went on from the one before."""


@dataclass(frozen=True)
class _Piece:
    """The path inside one region: its rows in order, how it was entered, and by how much its last row came too late."""

    rows: I64
    edge: int
    slack_ns: float


@dataclass(frozen=True, eq=False)
class CriticalPath:
    graph: ExecutionGraph
    level: str
    segments: list[Segment]
    """In the order of time."""
    total_ns: int
    pieces: tuple[_Piece, ...] = field(repr=False)

    def project(self, level: str | LabelFunction) -> CriticalPath:
        """The same path with another level's labels; neighbours with one label become one segment."""
        return _project(self.graph, self.pieces, level)

    def saving(self, segment: int, percent: float) -> int:
        """Nanoseconds that the whole would take less if a segment's own work were `percent` % faster.

        At most what every later wait on the path leaves before it would be for something else.
        """
        chosen = self.segments[segment]
        limits = [piece.slack_ns for piece in self.pieces if self._after(piece, chosen)]
        return int(min([chosen.self_ns * percent / 100, *limits]))

    def _after(self, piece: _Piece, segment: Segment) -> bool:
        """Does the piece end at or after the segment?"""
        return int(self.graph.ts[piece.rows[-1]]) >= segment.end


def critical_path(graph: ExecutionGraph, slice_: Slice, level: str | LabelFunction = "function") -> CriticalPath:
    """Walks back from the slice's last event: along its region to the latest wait or to what opened the region, there along the
    edge that ended it, to the root. Of several edges that ended one wait, the latest source is taken: the others had slack.

    An empty slice gives an empty path.
    """
    rows = slice_.events()
    if not len(rows):
        return CriticalPath(graph, str(level), [], 0, ())
    event, slack = int(rows[graph.ts[rows] == graph.ts[rows].max()][-1]), inf
    walk = _Walk(graph, slice_)
    pieces: list[_Piece] = []
    seen: set[int] = set()
    while True:
        seen.add(event)
        entry, edge, next_slack = walk.back(event)
        if edge >= 0 and int(graph.edge_src[edge]) in seen:
            edge = -1  # clocks that disagree can close a circle
        pieces.append(_Piece(walk.rows_between(entry, event), edge, slack))
        if edge < 0:
            break
        event, slack = int(graph.edge_src[edge]), next_slack
    return _project(graph, tuple(reversed(pieces)), level)


class _Walk:
    def __init__(self, graph: ExecutionGraph, slice_: Slice) -> None:
        self.graph = graph
        self.slice = slice_
        self.inside = np.zeros(len(graph.edge_src), bool)
        self.inside[slice_.edges()] = True
        self.passive = passive_kinds()

    def rows_between(self, entry: int, event: int) -> I64:
        """The rows of the event's region from `entry` to it."""
        return entry + np.flatnonzero(self.graph.region[entry : event + 1] == self.graph.region[event])

    def back(self, event: int) -> tuple[int, int, float]:
        """Where the path entered this region, along which edge (-1: it began here), and the slack of the edge's source."""
        graph, index = self.graph, self.graph.index.into
        region = int(graph.region[event])
        low, high = int(index.first[region]), int(index.first[region + 1])
        place = low + int(np.searchsorted(index.near[low:high], event, "right"))
        while place > low:
            # The edges into one run of passive records end one wait together.
            target = int(index.near[place - 1])
            begin = self._run_begin(target)
            first = low + int(np.searchsorted(index.near[low:place], begin, "left"))
            found = self._latest(index.edge[first:place], begin, region)
            if found is not None:
                return found
            place = first
        first_row = int(graph.regions.first[region])
        return (max(first_row, int(self.slice.bounds[region])) if self.slice.forward else first_row), -1, inf

    def _run_begin(self, target: int) -> int:
        """The first row of the passive records that lead up to `target`, and of what a loop ran before it gave back control."""
        graph, row = self.graph, target
        start = graph.strand_of(target).start
        while row > start:
            if self.passive[graph.kind[row - 1]]:
                row -= 1
            elif graph.kind[row - 1] == Kind.SCOPE_END and graph.sites[graph.site[row - 1]].is_adapter:
                row = max(int(graph.regions.first[graph.region[row - 1]]), start)
            else:
                break
        return row

    def _latest(self, edges: I64, begin: int, region: int) -> tuple[int, int, float] | None:
        """The edge that ended a wait after the row before `begin`, or that opened the region, if one of them did."""
        graph = self.graph
        edges = edges[self.inside[edges]]
        edges = edges[graph.region[graph.edge_src[edges]] != region]
        if not len(edges):
            return None
        sources = graph.ts[graph.edge_src[edges]]
        best = int(np.argmax(sources))
        edge, came = int(edges[best]), int(sources[best])
        entry = int(graph.edge_dst[edge])
        fresh = begin == graph.strand_of(entry).start
        waited = fresh or int(graph.ts[begin - 1]) < came
        if not waited and not opens(graph, entry):
            return None
        if not waited:
            return entry, edge, 0.0
        rivals = [*np.delete(sources, best).tolist(), *([] if fresh else [int(graph.ts[begin - 1])])]
        return entry, edge, came - max(rivals) if rivals else inf


def _project(graph: ExecutionGraph, pieces: tuple[_Piece, ...], level: str | LabelFunction) -> CriticalPath:
    labels = labels_of(graph, level)
    segments: list[Segment] = []
    across = labels.level not in ("event", "function", "class")
    for piece in pieces:
        for segment in _segments(graph, piece, labels):
            last = segments[-1] if segments else None
            if last and last.label == segment.label and (across or segment.edge < 0):
                segments[-1] = replace(
                    last,
                    end=segment.end,
                    self_ns=last.self_ns + segment.self_ns,
                    wait_ns=last.wait_ns + segment.wait_ns,
                    slack_ns=segment.slack_ns,
                    last_event=segment.last_event,
                )
            else:
                segments.append(segment)
    total = int(graph.ts[pieces[-1].rows[-1]] - graph.ts[pieces[0].rows[0]])
    return CriticalPath(graph, labels.level, segments, total, pieces)


def _segments(graph: ExecutionGraph, piece: _Piece, labels: Labels) -> Iterator[Segment]:
    """One segment per stretch of a label; the first also has the way into the piece, the last its slack."""
    rows, edge = piece.rows, piece.edge
    if len(rows) == 1:
        rows = np.repeat(rows, 2)
    begin, end = rows[:-1], rows[1:]
    running = labels.running(begin)
    code = np.where((running >= 0) & (len(piece.rows) > 1), running, labels.of(begin))
    length = graph.ts[end] - graph.ts[begin]
    # Time in which the strand did something else, or nothing, is a pause.
    work = np.where(graph.idle[begin] | (end != begin + 1), 0, length)
    first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
    last = np.append(first[1:], len(code)) - 1
    self_ns, whole_ns = np.add.reduceat(work, first).tolist(), np.add.reduceat(length, first).tolist()
    way = int(graph.ts[rows[0]] - graph.ts[graph.edge_src[edge]]) if edge >= 0 else 0
    slack = int(piece.slack_ns) if isfinite(piece.slack_ns) else 0
    strand = int(graph.strand[rows[0]])
    events = zip(begin[first].tolist(), end[last].tolist(), strict=True)
    times = graph.ts[np.append(begin[first], end[-1])].tolist()
    codes = code[first].tolist()
    for number, (a, b) in enumerate(events):
        came = way if number == 0 else 0
        yield Segment(
            label=labels.name(codes[number]),
            strand=strand,
            start=times[number] - came,
            end=times[number + 1],
            self_ns=self_ns[number],
            wait_ns=whole_ns[number] - self_ns[number] + came,
            slack_ns=slack if number == len(first) - 1 else 0,
            first_event=a,
            last_event=b,
            edge=edge if number == 0 else -1,
        )
