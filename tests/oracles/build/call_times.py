"""Reference implementation of the durations of calls, idle gaps and waits in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.build.call_times import I64, Mask, passive_kinds
from clew.graph.model.array_utils import lengths
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import Calls, Rows
from clew.records.format.event import Kind


def idle_gaps_by_columns(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, sequence: Rows, *, by_loop: Mask
) -> Mask:
    """Return the result of `call_times.idle_gaps`."""
    idle = np.zeros(len(kind), bool)
    if len(kind):
        idle[:-1] = (sequence[1:] != sequence[:-1] + 1) | (kind[:-1] == Kind.STEP_END)
        between = np.flatnonzero((kind[:-1] == Kind.SCOPE_END) & (kind[1:] == Kind.SCOPE_BEGIN))
        idle[between] |= by_loop[site[between]] & by_loop[site[between + 1]]
        idle[strand_start[1:][lengths(strand_start) > 0] - 1] = False
    return idle


def mark_waits_by_columns(
    idle: Mask, ts: I64, kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], edges: Joined
) -> None:
    """Do the work of `call_times.mark_waits`."""
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
        # Go further back while only passive records are in between.
        open_ = open_[~before & passive[kind[here]]]
        at[open_] -= 1


def gaps(ts: I64, strand: npt.NDArray[np.uint32]) -> I64:
    """Return for each event the nanoseconds to the strand's next event; 0 for the last."""
    length = np.zeros(len(ts), np.int64)
    if len(ts):
        np.subtract(ts[1:], ts[:-1], out=length[:-1])
        length[:-1][strand[1:] != strand[:-1]] = 0
    return length


def call_times_by_columns(
    nesting: Nesting, ts: I64, strand: npt.NDArray[np.uint32], strand_start: I64, idle: Mask
) -> Calls:
    """Return the result of `call_times.call_times`."""
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
    """Return exact sums per group; a float is exact for nanoseconds up to 104 days."""
    return np.bincount(group, weights=value, minlength=groups).astype(np.int64)
