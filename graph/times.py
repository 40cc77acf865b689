"""How long calls took and how much of that was their own work.

A strand's time falls into gaps between neighbouring events; each gap belongs to the call that runs in it, and is either work
or idle. Invariant: along a strand, self times, idle gaps and gaps outside any call add up to the strand's duration.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import lengths
from clew.graph.calls import Nesting
from clew.graph.edges import Joined
from clew.graph.model import Calls, Rows
from clew.graph.spilled import Room
from clew.graph.walks import in_c, walks
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_PASSIVE = (
    Kind.EXIT, Kind.UNWIND, Kind.RESUME, Kind.STEP_BEGIN, Kind.RECEIVE, Kind.JOIN, Kind.ACQUIRE, Kind.SCOPE_BEGIN,
    Kind.PAYLOAD, Kind.REQUEST, Kind.NAME,
)  # fmt: skip
"""What a strand records when a wait is over, before it works on."""


def passive_kinds() -> Mask:
    """By kind: may it stand between a wait and the target of the edge that ended it?"""
    table = np.zeros(256, bool)
    table[list(_PASSIVE)] = True
    return table


def idle_gaps(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, sequence: Rows, *, by_loop: Mask
) -> Mask:
    """Per event: is the time up to the strand's next event not work of the call that runs then?

    So it is when another strand ran on the thread meanwhile or the strand was suspended (the thread's next record, by
    `sequence`, is another one), and between two scopes that a loop runs (`by_loop`, per site).
    """
    if not in_c:
        return idle_gaps_by_columns(kind, site, strand_start, sequence, by_loop=by_loop)
    idle = np.zeros(len(kind), bool)
    walks.idle(
        np.ascontiguousarray(kind), np.ascontiguousarray(site), np.ascontiguousarray(sequence),
        sequence.dtype == np.int64, np.ascontiguousarray(strand_start, np.int64), by_loop, idle,
    )  # fmt: skip
    return idle


def idle_gaps_by_columns(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, sequence: Rows, *, by_loop: Mask
) -> Mask:
    """The same in numpy."""
    idle = np.zeros(len(kind), bool)
    if len(kind):
        idle[:-1] = (sequence[1:] != sequence[:-1] + 1) | (kind[:-1] == Kind.STEP_END)
        between = np.flatnonzero((kind[:-1] == Kind.SCOPE_END) & (kind[1:] == Kind.SCOPE_BEGIN))
        idle[between] |= by_loop[site[between]] & by_loop[site[between + 1]]
        idle[strand_start[1:][lengths(strand_start) > 0] - 1] = False
    return idle


def mark_waits(idle: Mask, ts: I64, kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], edges: Joined) -> None:
    """Marks the events after which an edge's target's strand waited for the edge's source.

    It waited when its latest event before the source did happen is separated from the target only by passive records.
    """
    if in_c:
        walks.waits(
            np.ascontiguousarray(ts), np.ascontiguousarray(kind), np.ascontiguousarray(strand), passive_kinds(),
            np.ascontiguousarray(edges.src), np.ascontiguousarray(edges.dst), idle,
        )  # fmt: skip
    else:
        mark_waits_by_columns(idle, ts, kind, strand, edges)


def mark_waits_by_columns(
    idle: Mask, ts: I64, kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], edges: Joined
) -> None:
    """The same in numpy."""
    passive, src, dst = passive_kinds(), edges.src, edges.dst
    at = dst - 1
    open_ = np.flatnonzero((at >= 0) & (strand[src] != strand[dst]))
    while len(open_):
        here = at[open_]
        open_ = open_[(here >= 0)]
        here = at[open_]
        same = strand[here] == strand[dst[open_]]
        open_, here = open_[same], here[same]
        before = ts[here] < ts[src[open_]]
        idle[here[before]] = True
        # Not yet far enough back: go on while only passive records lie between.
        open_ = open_[~before & passive[kind[here]]]
        at[open_] -= 1


def gaps(ts: I64, strand: npt.NDArray[np.uint32]) -> I64:
    """Per event the nanoseconds to the strand's next event, 0 at its last."""
    length = np.zeros(len(ts), np.int64)
    if len(ts):
        np.subtract(ts[1:], ts[:-1], out=length[:-1])
        length[:-1][strand[1:] != strand[:-1]] = 0
    return length


def call_times(
    nesting: Nesting, ts: I64, strand: npt.NDArray[np.uint32], strand_start: I64, idle: Mask, *, room: Room = np.empty
) -> Calls:
    """A call without an end lasts as long as its strand's recording."""
    if not in_c:
        return call_times_by_columns(nesting, ts, strand, strand_start, idle)
    enter, exits = np.ascontiguousarray(nesting.enter), np.ascontiguousarray(nesting.exit)
    total, self_ns, waiting = (room(len(enter), np.int64) for _ in range(3))
    self_ns[:] = waiting[:] = 0
    walks.durations(
        nesting.call, nesting.inner, nesting.call.dtype == np.int64, enter, exits, ts, idle,
        np.ascontiguousarray(strand_start, np.int64), np.ascontiguousarray(nesting.suspended), total, self_ns, waiting,
    )  # fmt: skip
    return Calls(enter, exits, nesting.caller, total, self_ns, waiting)


def call_times_by_columns(
    nesting: Nesting, ts: I64, strand: npt.NDArray[np.uint32], strand_start: I64, idle: Mask
) -> Calls:
    """The same in numpy."""
    enter = nesting.enter
    if not len(enter):
        nothing = np.zeros(0, np.int64)
        return Calls(enter, nesting.exit, nesting.caller, nothing, nothing, nothing)
    number = np.full(len(ts) + 1, -1, np.int64)
    number[enter] = np.arange(len(enter))
    last = strand_start[strand[enter].astype(np.int64) + 1] - 1
    end = np.where(nesting.exit >= 0, nesting.exit, last)
    total = ts[end] - ts[enter]
    length = gaps(ts, strand)
    running = number[nesting.inner]
    work = (running >= 0) & ~idle
    self_ns = _sum(running[work], length[work], len(enter))
    wait = (running >= 0) & idle
    waiting = _sum(running[wait], length[wait], len(enter))
    pause, ended = nesting.suspended[:, 0], nesting.suspended[:, 1]
    waiting += _sum(number[nesting.call[pause]], ts[ended] - ts[pause], len(enter))
    return Calls(enter, nesting.exit, nesting.caller, total, self_ns, waiting)


def _sum(group: I64, value: I64, groups: int) -> I64:
    """Exact sums per group: a float holds whole nanoseconds up to 104 days."""
    return np.bincount(group, weights=value, minlength=groups).astype(np.int64)
