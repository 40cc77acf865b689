"""Build the elements of flows: the calls of a run, and the cause of each call.

A *frame* is a call or a *visit*. A visit is a region that began in the middle of a call, such as a worker that takes
the next item from its queue. The visit of a request may also begin outside any call. The parent of a frame is the
call that made it, if both are in one region. A generator of another region is skipped in favour of the call that
resumed it. Otherwise the parent is the frame at the source of the edge that opened the frame's region. The parent of
a request without an opening edge is its caller, or the opener of the region around its call. That region may belong
to a handler that receives a message. Regions without frames are passed through. Invariant: frames form a forest;
regions that opened each other in a cycle have no parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.build.regions import OPENING, ROOT_OPENING
from clew.graph.model.graph import I64, ExecutionGraph, RegionKind
from clew.records.errors import ClewError
from clew.records.format.event import Kind

I32 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

MOST = (1 << 31) - 2
"""The maximum number of frames in a run: frame numbers are 32 bits wide."""


@dataclass(frozen=True)
class _Calls:
    """Locates calls in regions."""

    graph: ExecutionGraph
    number: I32
    """For each event the call that it opened, -1 for none."""

    @cached_property
    def home(self) -> npt.NDArray[np.uint32]:
        """Return the region that each call began in."""
        return self.graph.region[self.graph.calls.enter]

    def inside(self, rows: npt.NDArray[Any], region: I64, at: I64) -> I32:
        """Return for each given ENTER (-1: none) the innermost enclosing call, itself included, that began in
        `region`; -1 for none.

        Outside a generator's call are its callers. If none of them began in the region, the search continues with the
        call that last resumed the generator before the events `at`. Requests that share a generator therefore each
        get the work that it did for them.
        """
        found = self._among_callers(rows, region)
        lost = np.flatnonzero((found < 0) & (rows >= 0))
        call, at = rows[lost].astype(np.int64), at[lost]
        while len(lost):
            call, at = self._resumed_by(call, at)
            resumed = call >= 0
            lost, call, at = lost[resumed], call[resumed], at[resumed]
            found[lost] = self._among_callers(call, region[lost])
            still = found[lost] < 0
            lost, call, at = lost[still], call[still], at[still]
        return found

    @cached_property
    def _resumes(self) -> tuple[I64, I64]:
        """Return the rows of all RESUMEs, grouped by call, and their sort keys: the call times the number of events,
        plus the row.
        """
        rows = np.flatnonzero(self.graph.kind == Kind.RESUME)
        keys = self.graph.call[rows].astype(np.int64) * len(self.graph) + rows
        order = np.argsort(keys)
        return rows[order], keys[order]

    def _resumed_by(self, call: I64, at: I64) -> tuple[I64, I64]:
        """Return for each ENTER the innermost call that ran when its call was last resumed before `at`, and the
        resume's row.

        The running call is given as its ENTER, -1 for none.
        """
        rows, keys = self._resumes
        if not len(rows):
            return np.full(len(call), -1, np.int64), at
        place = np.maximum(np.searchsorted(keys, call * len(self.graph) + at, "right") - 1, 0)
        resumed = rows[place]
        before = np.maximum(resumed - 1, 0)
        strand = self.graph.strand
        fits = (
            (self.graph.call[resumed] == call) & (resumed <= at) & (resumed > 0) & (strand[before] == strand[resumed])
        )
        return np.where(fits, self.graph.inner[before], -1), resumed

    def _among_callers(self, rows: npt.NDArray[Any], region: I64) -> I32:
        caller = self.graph.calls.caller
        found = np.full(len(rows), -1, np.int32)
        open_ = np.flatnonzero(rows >= 0)
        found[open_] = self.number[rows[open_]]
        while True:
            open_ = open_[self.home[found[open_]] != region[open_]]
            if not len(open_):
                return found
            outer = caller[found[open_]]
            found[open_] = np.where(outer >= 0, self.number[outer], -1)
            open_ = open_[outer >= 0]


class Visits(NamedTuple):
    region: I64
    call: I32
    """The call that the region began in, -1 for none."""


@dataclass(frozen=True)
class Frames:
    """Frames as columns: first the calls in the graph's order, then the visits."""

    graph: ExecutionGraph
    where: _Calls
    visits: Visits
    visit: I32
    """For each region its visit's frame, -1 for none."""
    hung: I32
    """For each region its parent frame, -1 for none."""
    parent: I32
    """The parent of each frame, -1 for none."""
    channel: I32
    """For each frame the channel that opened it, as an index into the graph's strings; -1 for a plain call."""
    delay: I64
    """The delay of each frame, in ns."""
    edge: I64
    """For each region the edge that connects it to its parent frame, -1 for none."""
    cause: I64
    """For each region the event in its parent frame that led to it, -1 for none."""

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def calls(self) -> int:
        return len(self.graph.calls.enter)

    def at(self, rows: I64) -> I32:
        """Return the frames that some events are in, -1 for none."""
        region = self.graph.region[rows].astype(np.int64)
        inside = self.where.inside(self.graph.call[rows], region, rows)
        own = np.where(inside >= 0, inside, self.visit[region])
        return np.where(own >= 0, own, self.hung[region])

    def roots(self, requests: I64) -> I32:
        """Return the root frame of each request: its own call, or the visit of its region."""
        graph = self.graph
        region = graph.region[requests]
        call = graph.call[requests].astype(np.int64)
        mine = call >= 0
        mine[mine] = graph.region[call[mine]] == region[mine]
        result = self.visit[region]
        result[mine] = self.where.number[call[mine]]
        return result


def began_requests(frames: Frames) -> tuple[I64, I32, I64]:
    """Return the calls of requests that have no parent frame but were still begun by an event.

    Such a call has no parent because a request's flow is not part of the program's own flow. Return the frames, the
    parent frames of the regions around them, and the edges that connect those regions.
    """
    graph, regions = frames.graph, frames.graph.regions
    request = np.flatnonzero((regions.kind == RegionKind.REQUEST) & (regions.parent >= 0))
    call = graph.call[regions.opener[request]].astype(np.int64)
    request, call = request[call >= 0], call[call >= 0]
    inside = graph.region[call] == request
    frame, around = frames.where.number[call[inside]].astype(np.int64), regions.parent[request[inside]]
    began = (frames.parent[frame] < 0) & (frames.hung[around] >= 0) & (frames.edge[around] >= 0)
    frame, around = frame[began], around[began]
    return frame, frames.hung[around], frames.edge[around]


def find_frames(graph: ExecutionGraph) -> Frames:
    """Return the frames of a run. Raise `ClewError` for a run with too many calls."""
    calls = graph.calls
    enter, caller, count = calls.enter, calls.caller, len(calls.enter)
    # Each region has at most one visit.
    if count + len(graph.regions) > MOST:
        raise ClewError(f"the run has {count:,} calls; its requests can be compared up to {MOST:,}")
    number = np.full(len(graph), -1, np.int32)
    number[enter] = np.arange(count, dtype=np.int32)
    where = _Calls(graph, number)
    home = where.home
    visits, visit = _visits(graph, number)
    frames = count + len(visits.region)
    opening = _opening_edges(graph)
    hung, cause, edge = _hang(where, opening, visit)
    above = np.full(len(hung), -1, np.int64)
    by_call, by_visit = np.flatnonzero((hung >= 0) & (hung < count)), np.flatnonzero(hung >= count)
    above[by_call] = home[hung[by_call]]
    above[by_visit] = visits.region[hung[by_visit] - count]
    hung[_in_cycles(above)] = -1

    parent = np.full(frames, -1, np.int32)
    called = np.flatnonzero(caller >= 0)
    parent[called] = number[caller[called]]
    # Nearly all callers are in the region of their calls.
    elsewhere = called[home[parent[called]] != home[called]]
    parent[elsewhere] = where.inside(caller[elsewhere], home[elsewhere].astype(np.int64), enter[elsewhere])
    tops = np.flatnonzero(parent[:count] < 0)
    of_visit = visit[home[tops]]
    parent[tops] = of_visit
    tops = tops[of_visit < 0]
    region = np.concatenate((home[tops].astype(np.int64), visits.region))
    tops = np.concatenate((tops, np.arange(count, frames)))
    parent[tops] = hung[region]
    by_edge = (hung[region] >= 0) & (edge[region] >= 0)
    tops, region = tops[by_edge], region[by_edge]
    channel = np.full(frames, -1, np.int32)
    channel[tops] = graph.edge_channel[edge[region]]
    delay = np.zeros(frames, np.int64)
    _delays(graph, _tops(graph, visits, tops, region), cause, delay)
    return Frames(graph, where, visits, visit, hung, parent, channel, delay, edge, cause)


def _visits(graph: ExecutionGraph, number: I32) -> tuple[Visits, I32]:
    regions = graph.regions
    kind, opener = regions.kind, regions.opener
    own_scope = kind == RegionKind.SCOPE
    own_scope[own_scope] = ~graph.site_is_adapter[graph.site[opener[own_scope]]]
    chosen = np.flatnonzero((kind == RegionKind.RECEIVE) | (kind == RegionKind.REQUEST) | own_scope)
    call = graph.call[opener[chosen]].astype(np.int64)
    begun_inside = np.where(call >= 0, graph.region[call] == chosen, False)
    in_call = (call >= 0) & ~begun_inside
    # Every request has a root, whatever it consists of.
    keep = in_call | ((kind[chosen] == RegionKind.REQUEST) & (call < 0))
    chosen, call = chosen[keep], call[keep]
    visits = Visits(chosen, np.where(call >= 0, number[call], -1).astype(np.int32))
    visit = np.full(len(regions), -1, np.int32)
    visit[chosen] = int((number >= 0).sum()) + np.arange(len(chosen), dtype=np.int32)
    return visits, visit


class _Opening(NamedTuple):
    """For each region the edge that opened it, the edge's source and its target; -1 for none."""

    edge: I64
    source: I64
    target: I64


def _opening_edges(graph: ExecutionGraph) -> _Opening:
    """Return for each region the first edge, by target, that leads from another region to the region's beginning."""
    count = len(graph.regions)
    found = _Opening(*(np.full(count, -1, np.int64) for _ in range(3)))
    src, dst = graph.edge_src, graph.edge_dst
    if not len(src):
        return found
    region = graph.region[dst].astype(np.int64)
    chosen = np.flatnonzero((graph.region[src] != region) & (graph.kind[dst] != Kind.ACQUIRE))
    region, target = region[chosen], dst[chosen]
    begins = target < _opened(graph, region, target)[region]
    chosen, region, target = chosen[begins], region[begins], target[begins]
    order = np.lexsort((chosen, target, region))
    region = region[order]
    first = np.flatnonzero(np.concatenate(([True], region[1:] != region[:-1]))) if len(region) else order
    which, of = chosen[order[first]], region[first]
    found.edge[of], found.source[of], found.target[of] = which, src[which], dst[which]
    return found


def _opened(graph: ExecutionGraph, region: I64, target: I64) -> I64:
    """Return for each region the first row after its opening records, searching only up to the edges' `target` rows."""
    of_root, of_others = np.zeros(256, bool), np.zeros(256, bool)
    of_root[list(ROOT_OPENING)] = of_others[list(OPENING)] = True
    last = np.full(len(graph.regions), -1, np.int64)
    np.maximum.at(last, region, target)
    at = graph.regions.first.copy()
    open_ = np.flatnonzero(last >= 0)
    root = graph.regions.kind == RegionKind.ROOT
    while len(open_):
        kind = graph.kind[at[open_]]
        open_ = open_[np.where(root[open_], of_root[kind], of_others[kind])]
        at[open_] += 1
        open_ = open_[at[open_] <= last[open_]]
    return at


def _hang(where: _Calls, opening: _Opening, visit: I32) -> tuple[I32, I64, I64]:
    """Return for each region its parent frame, the event there that led to it, and the connecting edge; -1 for none.

    The parent is the frame of the event that opened the region. A region without a frame is passed through: its
    dependents get its own parent.
    """
    graph, regions = where.graph, where.graph.regions
    hung, above = np.full(len(regions), -1, np.int32), np.full(len(regions), -1, np.int64)
    cause, edge = opening.source.copy(), opening.edge.copy()
    opened = np.flatnonzero(cause >= 0)
    # A request without an opening edge may have been called, by another call or by the code that runs handlers.
    called = np.flatnonzero((regions.kind == RegionKind.REQUEST) & (edge < 0) & (regions.parent >= 0))
    call = graph.call[regions.opener[called]].astype(np.int64)
    called, call = called[call >= 0], call[call >= 0]
    called, call = called[graph.region[call] == called], call[graph.region[call] == called]
    caller = graph.calls.caller[where.number[call]]
    led = (caller >= 0) | (regions.kind[regions.parent[called]] != RegionKind.ROOT)
    called, caller = called[led], caller[led]
    for those, rows, around, at in (
        (opened, graph.call[cause[opened]], graph.region[cause[opened]].astype(np.int64), cause[opened]),
        (called, caller, regions.parent[called], call[led]),
    ):
        inside = where.inside(rows, around, at)
        hung[those] = np.where(inside >= 0, inside, visit[around])
        above[those] = around
    open_ = np.flatnonzero((hung < 0) & (above >= 0))
    # Each step doubles the distance; entries still open afterwards lie on a cycle.
    for _ in range(len(hung).bit_length() + 1):
        if not len(open_):
            break
        over = above[open_]
        edge[open_] = np.where(edge[open_] >= 0, edge[open_], edge[over])
        hung[open_], cause[open_], above[open_] = hung[over], cause[over], above[over]
        open_ = open_[(hung[open_] < 0) & (above[open_] >= 0)]
    return hung, cause, np.where(cause >= 0, edge, -1)


def _in_cycles(above: I64) -> I64:
    """Return the regions that lie on a cycle; `above` is the parent region of each region, -1 for none."""
    at = np.flatnonzero(above >= 0)
    far = above.copy()
    for _ in range(len(above).bit_length() + 1):
        if not len(at):
            return at
        at = at[far[at] >= 0]
        step = far[at]
        ahead = far[step]
        far[at] = ahead
        at = at[ahead >= 0]
    # After more steps than there are regions, exactly the regions on cycles are reached.
    return np.unique(far[at])


class _Tops(NamedTuple):
    """The frames that edges lead to, their regions and times."""

    frame: I64
    region: I64
    begin: I64
    end: I64


def _tops(graph: ExecutionGraph, visits: Visits, frames: I64, region: I64) -> _Tops:
    """Return the frames region by region, sorted by their beginning."""
    ts, calls = graph.ts, graph.calls
    count = len(calls.enter)
    begin, end = ts[graph.regions.first[region]], ts[graph.regions.last[region]]
    is_call = frames < count
    begin[is_call] = ts[calls.enter[frames[is_call]]]
    end[is_call] = begin[is_call] + calls.total_ns[frames[is_call]]
    order = np.lexsort((frames, begin, region))
    return _Tops(frames[order], region[order], begin[order], end[order])


def _delays(graph: ExecutionGraph, tops: _Tops, cause: I64, delay: I64) -> None:
    """Fill in the delays of the edges.

    A delay counts from the cause to the frame's beginning, without the time of other frames of the region in between.
    If the region's answer is joined where the region was opened, the delay also counts from the answer to the end of
    the wait for it.
    """
    if not len(tops.frame):
        return
    ts = graph.ts
    frames, of, begin, end = tops
    since = ts[cause[of]]
    later = np.flatnonzero(of[1:] == of[:-1]) + 1
    since[later] = np.maximum(since[later], end[later - 1])
    delay[frames] = np.maximum(begin - since, 0)

    src, dst = graph.edge_src, graph.edge_dst
    answered = graph.region[src].astype(np.int64)
    back = np.flatnonzero((cause[answered] >= 0) & (graph.kind[dst] == Kind.JOIN))
    sent = cause[answered[back]]
    back = back[(graph.region[dst[back]] == graph.region[sent]) & (dst[back] > sent)]
    answered = answered[back]
    # Credit the first answer of each region to the last of its frames.
    order = np.lexsort((back, dst[back], answered))
    back, answered = back[order], answered[order]
    new = np.flatnonzero(np.concatenate(([True], answered[1:] != answered[:-1]))) if len(back) else order
    back, answered = back[new], answered[new]
    last = np.full(len(cause), -1, np.int64)
    last[of] = frames
    has = last[answered] >= 0
    back, answered = back[has], answered[has]
    joined = dst[back]
    delay[last[answered]] += np.maximum(ts[joined] - np.maximum(ts[src[back]], ts[joined - 1]), 0)
