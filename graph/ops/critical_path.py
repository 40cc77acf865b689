"""The critical path of a slice: the one chain of work and waiting that its duration consists of.

Computed on events in time order, which is always acyclic. Invariant: `total_ns` is the sum of the segments' self and waiting
times, and the time between the path's first and last event. `docs/critical-path.md` has an example computed by hand.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from clew.graph.levels import LabelFunction, Labels, labels_of
from clew.graph.model import ExecutionGraph
from clew.graph.ops.slice import Slice
from clew.graph.ops.what_if import WhatIf, gap_codes, sooner
from clew.graph.regions import opens
from clew.graph.times import passive_kinds
from clew.records.errors import ClewError
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]

_SCOPE_END = int(Kind.SCOPE_END)


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
    rivals: tuple[int, ...] = ()
    """What else was waited for where the path came into the region."""


@dataclass(frozen=True)
class Branch:
    """Work beside the path that the path joined: it was done before what the path waited for."""

    label: str
    event: int
    """Its last event; the other end of the path's jump came later."""
    end: int
    joined_by: int
    """The path's event that waited for both."""
    slack_ns: int
    """How much later it could have been done without delaying the path there."""


@dataclass(frozen=True, eq=False)
class CriticalPath:
    graph: ExecutionGraph
    level: str
    segments: list[Segment]
    """In the order of time."""
    total_ns: int
    pieces: tuple[_Piece, ...] = field(repr=False)
    labels: Labels = field(repr=False)
    since_ns: int | None = None
    """The path was asked for from this time on only."""

    def branches(self) -> list[Branch]:
        """What was waited for beside the path and was done sooner, in the order in which the path joined it; named after what
        led up to it."""
        ts, edge_src = self.graph.ts, self.graph.edge_src
        found = [
            (event, int(piece.rows[0]), int(ts[edge_src[piece.edge]] - ts[event]))
            for piece in self.pieces
            if piece.edge >= 0
            for event in piece.rivals
            if ts[event] <= ts[edge_src[piece.edge]]
        ]
        events = np.array([event for event, _, _ in found], np.int64)
        before = np.maximum(events - 1, 0)
        before = np.where(self.graph.strand[before] == self.graph.strand[events], before, events)
        codes = gap_codes(self.graph, self.labels, before, events).tolist()
        return [
            Branch(self.labels.name(code), event, int(ts[event]), joined_by, slack)
            for code, (event, joined_by, slack) in zip(codes, found, strict=True)
        ]

    def what_if(self, label: str, percent: float) -> WhatIf:
        """How much sooner the path's end would come if all work of a label of its level were `percent` % faster (a negative
        number: slower) from its beginning on, wherever it is done: what was beside the path until now is waited for then.

        Raises `ClewError` for a label that did no work, naming the nearest, and for more than 100 %.
        """
        if not percent <= 100 or not isfinite(percent):
            raise ClewError(f"{percent:g} % faster: give at most 100, which is no time at all")
        if not self.segments:
            raise ClewError("this path is empty: nothing on it can be faster")
        end = int(self.pieces[-1].rows[-1])
        saved, work = sooner(self.graph, self.labels, label, percent, end=end, since_ns=self.segments[0].start)
        if not work:
            known = sorted({segment.label for segment in self.segments if segment.self_ns})
            near = difflib.get_close_matches(label, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"on the path are {', '.join(known[:8])}"
            raise ClewError(f"no {self.level} {label!r} did any work before the path's end; {hint}")
        return WhatIf(label, percent, self.total_ns, saved, work)

    def project(self, level: str | LabelFunction) -> CriticalPath:
        """The same path with another level's labels; neighbours with one label become one segment."""
        return _project(self.graph, self.pieces, level, self.since_ns)

    def savings(self, percent: float) -> list[int]:
        """Per segment the nanoseconds that the whole would take less if the segment's own work were `percent` % faster.

        At most what every later wait on the path leaves before it would be for something else.
        """
        ends = self.graph.ts[[piece.rows[-1] for piece in self.pieces]]
        limits = np.minimum.accumulate(np.array([piece.slack_ns for piece in self.pieces])[::-1])[::-1]
        limits = np.append(limits, inf)
        places = np.searchsorted(ends, [segment.end for segment in self.segments])
        return [
            int(min(segment.self_ns * percent / 100, limits[place]))
            for segment, place in zip(self.segments, places.tolist(), strict=True)
        ]


def critical_path(
    graph: ExecutionGraph, slice_: Slice, level: str | LabelFunction = "function", *, since_ns: int | None = None
) -> CriticalPath:
    """Walks back from the slice's last event: along its strand to the latest wait or to what opened the region, there along the
    edge that ended it, to the root. Of several edges that ended one wait, the latest source is taken: the others had slack.

    Whoever held a lock that was waited for is on the path, too, though not a cause and so not in a slice of causes. The scopes
    that ran on the strand meanwhile (a pool thread's work items) are gone through, whether or not the slice of
    causes has them: the strand could not go on before they were over. With `since_ns` the path begins at that time.
    An empty slice gives an empty path.
    """
    rows = slice_.events()
    if not len(rows):
        labels = labels_of(graph, level)
        return CriticalPath(graph, labels.level, [], 0, (), labels)
    event, found = int(rows[graph.ts[rows] == graph.ts[rows].max()][-1]), None
    walk = _Walk(graph, slice_)
    pieces: list[_Piece] = []
    seen: set[int] = set()
    while True:
        seen.add(event)
        cause = found
        rows, found = walk.along_strand(event)
        slack = cause.slack(graph, event, rows) if cause else inf
        edge = found.edge
        if edge >= 0 and int(graph.edge_src[edge]) in seen:
            edge = -1  # clocks that disagree can close a circle
        if since_ns is not None and graph.ts[rows[0]] <= since_ns:
            rows, edge = rows[max(0, int(np.searchsorted(graph.ts[rows], since_ns, "right")) - 1) :], -1
        pieces.append(_Piece(rows, edge, slack, found.rivals))
        if edge < 0 or (since_ns is not None and graph.ts[graph.edge_src[edge]] <= since_ns):
            break
        event = int(graph.edge_src[edge])
    return _project(graph, tuple(reversed(pieces)), level, since_ns)


@dataclass(frozen=True)
class _Entry:
    """Where the path came into a region."""

    row: int
    edge: int
    """Along which edge, -1: it began here."""
    rivals: tuple[int, ...] = ()
    """The events that would have been waited for, had the edge's source come sooner; none when nothing else was."""

    def slack(self, graph: ExecutionGraph, source: int, before: I64) -> float:
        """By how much the edge's source came later than its rivals; those in the path `before` it move with it."""
        if not self.rivals:
            return inf
        others = np.array(self.rivals, np.int64)
        # The rows of a piece ascend.
        others = others[np.append(before, -1)[np.searchsorted(before, others)] != others]
        return max(0, int(graph.ts[source]) - int(graph.ts[others].max())) if len(others) else inf


class _Walk:
    def __init__(self, graph: ExecutionGraph, slice_: Slice) -> None:
        self.graph = graph
        self.slice = slice_
        self.inside = np.zeros(len(graph.edge_src), bool)
        self.inside[slice_.edges()] = True
        self.passive: list[bool] = passive_kinds().tolist()

    def along_strand(self, event: int) -> tuple[I64, _Entry]:
        """The rows from where the path came to the event's strand up to the event, and how it came."""
        graph = self.graph
        home = int(graph.region[event])
        entries: dict[int, _Entry] = {}
        parts: list[I64] = []
        while True:
            region = int(graph.region[event])
            entry = entries.get(region)
            if entry is None or entry.row > event:
                entry = entries[region] = self.back(event)
            gap = self._other_region(entry.row, event)
            if gap >= 0:
                parts.append(np.arange(gap + 1, event + 1))
                event = gap
                continue
            first = int(graph.regions.first[region])
            if region != home:
                entry = self._of_nested(entry, first)
            parts.append(np.arange(entry.row, event + 1))
            if region == home or entry.edge >= 0:
                return np.concatenate(parts[::-1]), entry
            event = first - 1

    def _other_region(self, entry: int, event: int) -> int:
        """The last row before `event`, but after `entry`, of a scope nested in the event's region; -1 for none."""
        region, high, size = self.graph.region, event, 64
        while high > entry:
            low = max(entry, high - size)
            other = np.flatnonzero(region[low : high + 1] != region[event])
            if len(other):
                return low + int(other[-1])
            high, size = low, 2 * size
        return -1

    def _of_nested(self, entry: _Entry, first: int) -> _Entry:
        """As `entry`, but without the edge when the scope's turn came later than its cause: the strand was busy until then."""
        graph = self.graph
        if entry.edge >= 0 and opens(graph, entry.row):
            came, free = int(graph.ts[graph.edge_src[entry.edge]]), int(graph.ts[first - 1])
            return _Entry(entry.row, entry.edge, (first - 1,)) if free < came else _Entry(first, -1)
        return entry if entry.edge >= 0 else _Entry(first, -1)

    def back(self, event: int) -> _Entry:
        """Where the path to an event entered the event's region."""
        graph = self.graph
        region = int(graph.region[event])
        edges, targets = graph.index.into(region)
        place = int(np.searchsorted(targets, event, "right"))
        while place > 0:
            # The edges into one run of passive records end one wait together.
            target = int(targets[place - 1])
            begin = self._run_begin(target)
            first = int(np.searchsorted(targets[:place], begin, "left"))
            found = self._latest(edges[first:place], begin, region)
            if found is not None:
                return found
            place = first
        first_row = int(graph.regions.first[region])
        return _Entry(max(first_row, int(self.slice.bounds[region])) if self.slice.forward else first_row, -1)

    def _beyond(self, events: I64) -> npt.NDArray[np.bool_]:
        """Which events lie beside the slice of causes, in scopes that the strand ran in between?"""
        if self.slice.forward:
            return np.zeros(len(events), bool)
        return events > self.slice.bounds[self.graph.region[events]]

    def _excluding(self, edges: I64) -> npt.NDArray[np.bool_]:
        """Which edges say who had a lock that a strand on the path waited for?"""
        excludes = self.graph.edge_excludes
        if excludes is None or self.slice.forward:
            return np.zeros(len(edges), bool)
        return excludes[edges]

    def _run_begin(self, target: int) -> int:
        """The first row of the passive records that lead up to `target`, and of what a loop ran before it gave back control."""
        graph, row = self.graph, target
        start, kinds, passive = graph.strand_of(target).start, graph.kind, self.passive
        while row > start:
            kind = int(kinds[row - 1])
            if passive[kind]:
                row -= 1
            elif kind == _SCOPE_END and graph.site_is_adapter[graph.site[row - 1]]:
                row = max(int(graph.regions.first[graph.region[row - 1]]), start)
            else:
                break
        return row

    def _latest(self, edges: I64, begin: int, region: int) -> _Entry | None:
        """The edge that ended a wait after the row before `begin`, or that opened the region, if one of them did."""
        graph = self.graph
        edges = edges[self.inside[edges] | self._excluding(edges) | self._beyond(graph.edge_dst[edges])]
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
            return _Entry(entry, edge, (begin - 1,))
        rivals = np.delete(graph.edge_src[edges], best).tolist()
        return _Entry(entry, edge, tuple(rivals if fresh else [*rivals, begin - 1]))


def _project(
    graph: ExecutionGraph, pieces: tuple[_Piece, ...], level: str | LabelFunction, since_ns: int | None
) -> CriticalPath:
    """One segment per stretch of a label; the first of a piece also has the way into it, the last the piece's slack. Where an
    edge leads back in time (clocks differ), what it leads to counts from the edge's source on."""
    labels = labels_of(graph, level)
    across = labels.level not in ("event", "function", "class")
    gaps = np.array([max(len(piece.rows) - 1, 1) for piece in pieces], np.int64)
    begin = np.concatenate([piece.rows[: max(len(piece.rows) - 1, 1)] for piece in pieces])
    end = np.concatenate([piece.rows[min(len(piece.rows) - 1, 1) :] for piece in pieces])
    home = np.repeat(np.arange(len(pieces)), gaps)
    first_of, last_of = np.cumsum(gaps) - gaps, np.cumsum(gaps) - 1
    edge = np.array([piece.edge for piece in pieces], np.int64)
    # No piece begins before all that lead to it are over.
    floor = np.append(np.iinfo(np.int64).min if since_ns is None else since_ns, graph.ts[end[last_of[:-1]]])
    floor = np.maximum.accumulate(floor)
    from_ns, to_ns = np.maximum(graph.ts[begin], floor[home]), np.maximum(graph.ts[end], floor[home])
    way = np.zeros(len(begin), np.int64)
    way[first_of] = np.where(edge >= 0, from_ns[first_of] - np.where(edge >= 0, floor, 0), 0)
    code = np.where(begin == end, labels.of(begin), gap_codes(graph, labels, begin, end))
    known, code = np.unique(code, return_inverse=True)
    numbers: dict[str, int] = {}
    code = np.array([numbers.setdefault(labels.name(number), len(numbers)) for number in known.tolist()])[code]
    names = list(numbers)
    length = to_ns - from_ns
    # Time in which the strand did something else, or nothing, is a pause.
    work = np.where(graph.idle[begin] | (end != begin + 1), 0, length)
    new = np.append(True, code[1:] != code[:-1])
    if not across:
        new[first_of[edge >= 0]] = True
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(begin)) - 1
    self_ns = np.add.reduceat(work, first)
    slack = np.array([piece.slack_ns if isfinite(piece.slack_ns) else 0 for piece in pieces]).astype(np.int64)
    columns = (
        code[first],
        graph.strand[begin[first]],
        from_ns[first] - way[first],
        to_ns[last],
        self_ns,
        np.add.reduceat(length + way, first) - self_ns,
        np.where(last == last_of[home[last]], slack[home[last]], 0),
        begin[first],
        end[last],
        np.where(first == first_of[home[first]], edge[home[first]], -1),
    )
    segments = [
        Segment(names[name], *rest) for name, *rest in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return CriticalPath(graph, labels.level, segments, segments[-1].end - segments[0].start, pieces, labels, since_ns)
