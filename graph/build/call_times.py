"""How long calls took and how much of that was their own work.

A strand's time falls into gaps between neighbouring events; each gap belongs to the call that runs in it, and is either work
or idle. Invariant: along a strand, self times, idle gaps and gaps outside any call add up to the strand's duration.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import Calls, Rows
from clew.graph.runtime.mmap_arrays import Room
from clew.records.format.event import Kind

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
    idle = np.zeros(len(kind), bool)
    kernels.idle(
        np.ascontiguousarray(kind), np.ascontiguousarray(site), np.ascontiguousarray(sequence),
        sequence.dtype == np.int64, np.ascontiguousarray(strand_start, np.int64), by_loop, idle,
    )  # fmt: skip
    return idle


def mark_waits(idle: Mask, ts: I64, kind: npt.NDArray[np.uint8], strand: npt.NDArray[np.uint32], edges: Joined) -> None:
    """Marks the events after which an edge's target's strand waited for the edge's source.

    It waited when its latest event before the source did happen is separated from the target only by passive records.
    """
    kernels.waits(
        np.ascontiguousarray(ts), np.ascontiguousarray(kind), np.ascontiguousarray(strand), passive_kinds(),
        np.ascontiguousarray(edges.src), np.ascontiguousarray(edges.dst), idle,
    )  # fmt: skip


def call_times(
    nesting: Nesting, ts: I64, strand: npt.NDArray[np.uint32], strand_start: I64, idle: Mask, *, room: Room = np.empty
) -> Calls:
    """A call without an end lasts as long as its strand's recording."""
    enter, exits = np.ascontiguousarray(nesting.enter), np.ascontiguousarray(nesting.exit)
    total, self_ns, waiting = (room(len(enter), np.int64) for _ in range(3))
    self_ns[:] = waiting[:] = 0
    kernels.durations(
        nesting.call, nesting.inner, nesting.call.dtype == np.int64, enter, exits, ts, idle,
        np.ascontiguousarray(strand_start, np.int64), np.ascontiguousarray(nesting.suspended), total, self_ns, waiting,
    )  # fmt: skip
    return Calls(enter, exits, nesting.caller, total, self_ns, waiting)
