"""Compute the critical path of a slice: the one chain of work and waiting that makes up its duration.

The path is computed on events in time order, which is always acyclic. Invariant: `total_ns` equals the sum of the
segments' self and waiting times, and the time between the path's first and last event. `docs/critical-path.md` has a
worked example.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import LabelFunction, Labels, labels_of
from clew.graph.ops.diff import duration
from clew.graph.ops.facts import unfollowed
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.backward_pass import NO_PIECES, Pieces, Walker, extent_of
from clew.graph.ops.timing.call_path import CallPaths, Flow
from clew.graph.ops.timing.destination import destination
from clew.graph.ops.timing.slack import Slack, slacks
from clew.graph.ops.timing.what_if import WhatIf, gap_codes, sooner
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]

MOST_LIMITS = 3
LEAST_OUTSIDE = 0.05
"""The least share of a path in work of others that is worth a sentence."""
NOT_RECORDED = "not recorded"
"""The label of time that the path cannot explain: nothing that was recorded led to what came after it."""


@dataclass(frozen=True)
class Segment:
    """A segment of the path with one label, on one strand. Times are in nanoseconds since the run's start."""

    label: str
    strand: int
    start: int
    end: int
    self_ns: int
    """Time in which work was done; together with `wait_ns` it makes up `end - start`."""
    wait_ns: int
    """Time from the event that caused the segment until it began, plus pauses inside it."""
    slack_ns: int
    """How much sooner the segment's result could have come before the path would wait for something else.

    It is the time by which the result came later than the other events waited for at the same point. It is 0 if there
    were no other events, or if the result was not waited for.
    """
    first_event: int
    last_event: int
    edge: int
    """The edge by which the path entered the segment, -1 if the segment continues the previous one."""


@dataclass(frozen=True)
class Branch:
    """Work outside the path that the path joined. It finished before the event that the path waited for."""

    label: str
    event: int
    """The last event of the branch. The other end of the path's jump came later."""
    end: int
    joined_by: int
    """The path's event that waited for both."""
    slack_ns: int
    """How much later the branch could have finished without delaying the path at the join."""


@dataclass(frozen=True, eq=False)
class CriticalPath:
    graph: ExecutionGraph
    level: str
    segments: list[Segment]
    """The segments in time order."""
    total_ns: int
    pieces: Pieces = field(repr=False)
    labels: Labels = field(repr=False)
    since_ns: int | None = None
    """The start time requested for the path, or None for the whole path."""
    limits: tuple[str, ...] = ()
    """Sentences about the choice of the path, the work of others on it, and what it lacks.

    It begins only after code that was not followed, and is empty if it ends inside such code; time before its beginning
    that was not recorded is a segment of its own.
    """
    after_ns: int | None = None
    """The time at which the pieces begin: `since_ns`, or later, after code that was not followed."""

    def branches(self) -> list[Branch]:
        """Return the branches that the path waited for and that finished sooner, in the order in which the path
        joined them. What was over before the path began is none of them.

        A branch is named after the work that led up to it. It is listed where the path first joined it.
        """
        ts, pieces = self.graph.ts, self.pieces
        home = np.repeat(np.arange(len(pieces)), pieces.rival_counts)
        came = ts[self.graph.edge_src[pieces.edge[home]]]
        least = self.segments[0].start if self.segments else 0
        beside = (ts[pieces.rivals] <= came) & (ts[pieces.rivals] >= least) & ~np.isin(pieces.rivals, pieces.rows)
        _, first = np.unique(pieces.rivals[beside], return_index=True)
        chosen = np.flatnonzero(beside)[np.sort(first)]
        events, home, came = pieces.rivals[chosen], home[chosen], came[chosen]
        before = np.maximum(events - 1, 0)
        before = np.where(self.graph.strand[before] == self.graph.strand[events], before, events)
        codes = gap_codes(self.graph, self.labels, before, events)
        columns = (events, ts[events], pieces.rows[pieces.bounds[home]], came - ts[events])
        names = {code: self.labels.name(code) for code in np.unique(codes).tolist()}
        return [
            Branch(names[code], *rest)
            for code, *rest in zip(codes.tolist(), *(column.tolist() for column in columns), strict=True)
        ]

    def what_if(self, label: str, percent: float) -> WhatIf:
        """Return how much sooner the path's end would come if all work of a label were `percent` % faster.

        A negative percentage means slower. The label belongs to the path's level. The change applies from the path's
        beginning, wherever the work is done. Work outside the original path is waited for if it becomes critical.

        Raise `ClewError` for a label without work (the error names the nearest labels), and for more than 100 %.
        """
        if not percent <= 100 or not isfinite(percent):
            raise ClewError(f"{percent:g} % faster: expected at most 100 %, which means that the work takes no time")
        if not self.segments:
            raise ClewError("this path is empty: it has no work that could be faster")
        end = int(self.pieces.stop[-1]) - 1
        saved, work = sooner(self.graph, self.labels, label, percent, end=end, since_ns=self.segments[0].start)
        if not work:
            known = sorted({segment.label for segment in self.segments if segment.self_ns})
            near = difflib.get_close_matches(label, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"on the path are {', '.join(known[:8])}"
            raise ClewError(f"no {self.level} {label!r} did any work before the path's end; {hint}")
        return WhatIf(label, percent, self.total_ns, saved, work)

    def slacks(self) -> list[Slack]:
        """Return how much longer the work of each label of the path's level could take: 0 on the path, more outside
        it.
        """
        if not self.segments:
            return []
        end = int(self.pieces.stop[-1]) - 1
        return slacks(self.graph, self.labels, end=end, since_ns=self.segments[0].start)

    def project(self, level: str | LabelFunction) -> CriticalPath:
        """Return the same path with another level's labels. Adjacent segments with one label become one segment."""
        return _project(self.graph, self.pieces, level, self.since_ns, after_ns=self.after_ns, limits=self.limits)

    def savings(self, percent: float) -> list[int]:
        """Return for each segment the nanoseconds saved in total if the segment's own work were `percent` % faster.

        Every later wait on the path limits the saving to its slack, because beyond it the path would wait for other
        work.
        """
        pieces = self.pieces
        ends = self.graph.ts[pieces.rows[pieces.bounds[1:] - 1]]
        limits = np.where(pieces.slack < 0, inf, pieces.slack)
        limits = np.append(np.minimum.accumulate(limits[::-1])[::-1], inf)
        places = np.searchsorted(ends, [segment.end for segment in self.segments])
        faster = np.array([segment.self_ns for segment in self.segments]) * percent / 100
        saved: list[int] = np.minimum(faster, limits[places]).astype(np.int64).tolist()
        return saved


def critical_path(
    graph: ExecutionGraph,
    slice_: Slice,
    level: str | LabelFunction = "function",
    *,
    since_ns: int | None = None,
    until: int | None = None,
) -> CriticalPath:
    """Return the critical path to an event of a slice, found by walking back from it.

    The event is `until`, else the end of the request that the slice follows from, else the slice's last event. If the
    slice follows from several requests, the path is that of the one that took longest, or that `until` belongs to.

    The walk follows the strand back to the latest wait or to the event that opened the region. There it follows the
    edge that ended the wait, and so on to the root. If several edges ended one wait, the latest source is taken; the
    others had slack.

    The holder of a lock that was waited for is on the path, although it is not a cause and so not in a slice of
    causes. The walk also passes through scopes that ran on the strand meanwhile (a pool thread's work items), even if
    the slice of causes lacks them. The strand could continue only after they ended. With `since_ns` the path begins
    at that time. An empty slice gives an empty path.

    In a thread that was not followed, what ran before an event may belong to another task. The path therefore begins
    after the last such event, and is empty if it would end there. Raise `ClewError` if the slice lacks `until`.
    """
    to = destination(graph, slice_, until)
    if to.end < 0:
        return _project(graph, NO_PIECES, level, since_ns, after_ns=since_ns)
    if to.begin >= 0 and since_ns is None:
        path = path_of_call(graph, to.begin, to.end, level, to.slice)
        return replace(path, limits=(*to.limits, *path.limits))
    walker = Walker(graph, extent_of(graph, slice_))
    return _followed(graph, level, to.end, since_ns, lambda since: walker.back(to.end, since))


def path_of_call(
    graph: ExecutionGraph, begin: int, end: int, level: str | LabelFunction = "function", within: Slice | None = None
) -> CriticalPath:
    """Return the critical path from the first event of a call to a later event of its flow, for example its end.

    The path stays in the flow where other work does not explain the call's time; see `call_path.py`. `within` is a slice
    of what followed from the call; if it has limits or a filter, the path follows only its edges. The segments add up
    to the time between the two events.
    """
    follow = np.ones(len(graph.edge_src), bool)
    if within is not None and not within.follows_all:
        follow[:] = False
        follow[within.edges()] = True
    flow, paths = Flow(graph, begin, follow), CallPaths(Walker.along(graph, follow))
    began = graph.at("ts", begin)

    def walk(since_ns: int | None) -> Pieces:
        return paths.to(end, flow, began if since_ns is None else since_ns)

    path = _followed(graph, level, end, began, walk)
    return replace(path, limits=(*path.limits, *_outside(path, flow)))


def _outside(path: CriticalPath, flow: Flow) -> tuple[str, ...]:
    """Return a sentence about the path's time outside the flow of its call, none for a path that stays in it."""
    graph, pieces = path.graph, path.pieces
    low, high = expand(pieces.low, pieces.stop - 1), expand(pieces.low + 1, pieces.stop)
    length = graph.ts[high] - np.maximum(graph.ts[low], path.since_ns or 0)
    chosen = ~flow.holds(low) & (length > 0)
    total = int(length[chosen].sum())
    if not total or total < LEAST_OUTSIDE * path.total_ns:
        return ()
    labels = labels_of(graph, "function")
    codes, place = np.unique(gap_codes(graph, labels, low[chosen], high[chosen]), return_inverse=True)
    most = int(codes[np.argmax(np.bincount(place, length[chosen]))])
    return (f"For {duration(total)} the path is in work of others that it waited for, most of it {labels.name(most)}.",)


def _followed(
    graph: ExecutionGraph,
    level: str | LabelFunction,
    event: int,
    since_ns: int | None,
    walk: Callable[[int | None], Pieces],
) -> CriticalPath:
    """Return the path that a walk since a time finds, without what came before code that was not followed."""
    told: tuple[str, ...] = ()
    pieces = walk(since_ns)
    passed = pieces.rows[unfollowed.are_unfollowed(graph, pieces.rows)]
    since = since_ns
    if len(passed):
        last = int(passed[-1])
        since, told = graph.at("ts", last), unfollowed.limits(graph, [last])
        pieces = NO_PIECES if last == event else walk(since)
    path = _project(graph, pieces, level, since_ns, after_ns=since)
    after = {b.label: b for a, b in pairwise(path.segments) if a.label == NOT_RECORDED}
    for label, segment in list(after.items())[:MOST_LIMITS]:
        where = graph.strand_of(segment.first_event).name
        told = (*told, f"Nothing that was recorded led to {label} in {where}; the time before it is *{NOT_RECORDED}*.")
    return replace(path, limits=told)


def _project(
    graph: ExecutionGraph,
    pieces: Pieces,
    level: str | LabelFunction,
    since_ns: int | None,
    *,
    after_ns: int | None,
    limits: tuple[str, ...] = (),
) -> CriticalPath:
    """Return one segment per row range with one label, and one before them if the pieces begin later than asked.

    The first segment of a piece also includes the way into it, the last segment the piece's slack. If an edge leads
    back in time because clocks differ, its target counts from the edge's source on.
    """
    labels = labels_of(graph, level)
    if not len(pieces):
        return CriticalPath(graph, labels.level, [], 0, pieces, labels, since_ns, limits, after_ns)
    across = labels.level not in ("event", "function", "class")
    # A piece of one event has a single, empty gap.
    rows, bounds, single = pieces.rows, pieces.bounds, np.diff(pieces.bounds) == 1
    keeps = np.ones(len(rows), bool)
    keeps[bounds[1:][~single] - 1] = False
    begin = rows[keeps]
    keeps[:] = True
    keeps[bounds[:-1][~single]] = False
    end = rows[keeps]
    gaps = np.maximum(np.diff(bounds) - 1, 1)
    home = np.repeat(np.arange(len(pieces)), gaps)
    first_of, last_of = np.cumsum(gaps) - gaps, np.cumsum(gaps) - 1
    edge = pieces.edge
    # A piece begins only after all events that lead to it are over.
    floor = np.append(np.iinfo(np.int64).min if after_ns is None else after_ns, graph.ts[end[last_of[:-1]]])
    floor = np.maximum.accumulate(floor)
    from_ns, to_ns = np.maximum(graph.ts[begin], floor[home]), np.maximum(graph.ts[end], floor[home])
    # Nothing recorded leads to a piece without an edge; what was before it is lost, back to the piece before or to the
    # beginning that was asked for.
    since = np.append(graph.ts[begin[:1]] if since_ns is None else since_ns, floor[1:])
    lost = np.where(edge < 0, np.maximum(from_ns[first_of] - since, 0), 0)
    way = np.zeros(len(begin), np.int64)
    way[first_of] = np.where(edge >= 0, from_ns[first_of] - np.where(edge >= 0, floor, 0), 0)
    code = np.where(begin == end, labels.of(begin), gap_codes(graph, labels, begin, end))
    known, code = np.unique(code, return_inverse=True)
    numbers: dict[str, int] = {}
    code = np.array([numbers.setdefault(labels.name(number), len(numbers)) for number in known.tolist()])[code]
    names = list(numbers)
    length = to_ns - from_ns
    # Time in which the strand did other work, or none, is a pause.
    work = np.where(graph.idle[begin] | (end != begin + 1), 0, length)
    new = np.append(True, code[1:] != code[:-1])
    new[first_of if not across else first_of[lost > 0]] = True
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(begin)) - 1
    self_ns = np.add.reduceat(work, first)
    slack = np.maximum(pieces.slack, 0)
    if since_ns is not None:
        # No result of the path can come before the path begins.
        slack = np.minimum(slack, np.maximum(graph.ts[end[last_of]] - since_ns, 0))
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
    for piece in np.flatnonzero(lost)[::-1].tolist():
        place = int(np.searchsorted(first, first_of[piece]))
        after, length_ns = segments[place], int(lost[piece])
        gap = replace(after, label=NOT_RECORDED, start=after.start - length_ns, end=after.start, self_ns=0)
        segments.insert(place, replace(gap, wait_ns=length_ns, slack_ns=0, last_event=after.first_event, edge=-1))
    total = segments[-1].end - segments[0].start
    return CriticalPath(graph, labels.level, segments, total, pieces, labels, since_ns, limits, after_ns)
