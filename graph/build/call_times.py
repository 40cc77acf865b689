"""Computes the duration of calls, and how much of it is their own work.

The time of a strand is divided into gaps between neighbouring events. Each gap belongs to the call that runs in it, and is
either work or idle. Invariant: the self times, idle gaps and gaps outside calls of a strand add up to its duration.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import Calls, Rows
from clew.graph.runtime.mmap_arrays import Allocator
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_PASSIVE = (
    Kind.EXIT, Kind.UNWIND, Kind.RESUME, Kind.STEP_BEGIN, Kind.RECEIVE, Kind.JOIN, Kind.ACQUIRE, Kind.SCOPE_BEGIN,
    Kind.PAYLOAD, Kind.REQUEST, Kind.NAME, Kind.WAIT, Kind.WAKE, Kind.EXCEPTION, Kind.CANCEL, Kind.PAUSE,
)  # fmt: skip
"""The kinds that a strand records after a wait, before it continues its work."""


def passive_kinds() -> Mask:
    """Return, by kind, whether its records may be between a wait and the target of the edge that ended the wait."""
    table = np.zeros(256, bool)
    table[list(_PASSIVE)] = True
    return table


def idle_gaps(
    kind: npt.NDArray[np.uint8], site: npt.NDArray[np.uint32], strand_start: I64, sequence: Rows, *, by_loop: Mask
) -> Mask:
    """Return, per event, whether the time until the strand's next event is not work of the running call.

    It is not if another strand ran on the thread meanwhile or the strand was suspended, i.e. if the strand's next record is not
    the thread's next one (by `sequence`). It is not between two scopes that a loop runs either (`by_loop`, per site),
    nor where the thread did not run (PAUSE).
    """
    idle = np.zeros(len(kind), bool)
    kernels.idle(
        np.ascontiguousarray(kind), np.ascontiguousarray(site), np.ascontiguousarray(sequence),
        sequence.dtype == np.int64, np.ascontiguousarray(strand_start, np.int64), by_loop, idle,
    )  # fmt: skip
    return idle


def mark_waits(idle: Mask, ts: I64, kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], edges: Joined) -> None:
    """Mark, in `idle`, the events after which the strand of an edge's target waited for the edge's source.

    It waited if only passive records are between the target and the strand's latest event before the source.
    """
    kernels.waits(
        np.ascontiguousarray(ts), np.ascontiguousarray(kind), np.ascontiguousarray(strand), passive_kinds(),
        np.ascontiguousarray(edges.src), np.ascontiguousarray(edges.dst), idle,
    )  # fmt: skip


def call_times(
    nesting: Nesting,
    ts: I64,
    strand: npt.NDArray[np.uint32],
    strand_start: I64,
    idle: Mask,
    *,
    allocate: Allocator = np.empty,
) -> Calls:
    """Return the times of all calls. A call without an end lasts until its strand's last event."""
    enter, exits = np.ascontiguousarray(nesting.enter), np.ascontiguousarray(nesting.exit)
    total, self_ns, waiting = (allocate(len(enter), np.int64) for _ in range(3))
    self_ns[:] = waiting[:] = 0
    kernels.durations(
        nesting.call, nesting.inner, nesting.call.dtype == np.int64, enter, exits, ts, idle,
        np.ascontiguousarray(strand_start, np.int64), np.ascontiguousarray(nesting.suspended), total, self_ns, waiting,
    )  # fmt: skip
    return Calls(enter, exits, nesting.caller, total, self_ns, waiting)
