"""Tell what a thread waited for while it did not run: a processor, the GIL, or nothing that was recorded (sleep, I/O).

The kernel told the recorder how long a thread waited for a processor. The GIL is inferred: the thread blocked without a
recorded wait, another thread of its process ran meanwhile, and it blocked in pieces that are no longer than the interval at
which CPython hands the GIL over. Invariant: the three times of a pause never add up to more than its length. A pause of a
recorded wait (a lock, a queue, …) has only the time for the processor, because its edge tells the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import DELAY_BITS, Kind

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

GIL_NS = 5_500_000
"""The longest pause that one wait for the GIL makes: `sys.getswitchinterval()`, and the way back to the processor."""
_RECORDED = (
    Kind.JOIN, Kind.ACQUIRE, Kind.RECEIVE, Kind.WAKE, Kind.STEP_BEGIN, Kind.SCOPE_BEGIN, Kind.RESUME,
)  # fmt: skip
"""The kinds that a strand records first after a wait that is told by an edge or a fact."""


@dataclass(frozen=True)
class Pauses:
    """Columns with one row per pause, in the order of events. Times are in ns."""

    row: I64
    call: I64
    """The row of the call in `graph.calls`, -1 outside all calls."""
    processor_ns: I64
    gil_ns: I64
    blocked_ns: I64
    """The time without a recorded cause: sleep, I/O, or code that is not followed."""

    def of_calls(self, column: I64, calls: int) -> I64:
        """Return the sum of a column of times for each of the graph's calls."""
        inside = self.call >= 0
        return np.bincount(self.call[inside], column[inside], calls).astype(np.int64)

    @property
    def taken_ns(self) -> I64:
        """The time that others had the processor or the GIL."""
        return self.processor_ns + self.gil_ns


def pauses(graph: ExecutionGraph) -> Pauses:
    """Return the pauses of all threads; none for a run that has not recorded them."""
    return cached(graph, "pauses", lambda: _pauses(graph))


def pause_ns(graph: ExecutionGraph, row: int) -> int:
    """Return how long the strand of a PAUSE did not run: until its next event, 0 if it has none."""
    following = row + 1
    if following >= len(graph) or graph.at("strand", following) != graph.at("strand", row):
        return 0
    return int(graph.at("ts", following) - graph.at("ts", row))


def _pauses(graph: ExecutionGraph) -> Pauses:
    rows = graph.rows_of([Kind.PAUSE])
    rows = rows[rows + 1 < len(graph)]
    rows = rows[graph.strand[rows] == graph.strand[rows + 1]]
    if not len(rows):
        none = np.zeros(0, np.int64)
        return Pauses(none, none, none, none, none)
    key = graph.extensions.key[graph.ext[rows]].astype(np.uint64)
    length = graph.ts[rows + 1] - graph.ts[rows]
    processor = np.minimum((key & np.uint64((1 << DELAY_BITS) - 1)).astype(np.int64), length)
    blocked = np.where(_is_recorded(graph, rows), 0, length - processor)
    most = np.minimum(blocked, (key >> np.uint64(DELAY_BITS)).astype(np.int64) * GIL_NS)
    gil = np.minimum(most, _others_ran(graph, rows, most > 0, processor))
    inner = graph.inner[rows].astype(np.int64)
    call = np.where(inner >= 0, np.searchsorted(graph.calls.enter, inner), -1)
    return Pauses(rows, call, processor, gil, blocked - gil)


def _is_recorded(graph: ExecutionGraph, rows: I64) -> Mask:
    """Return whether an edge or a fact tells what the thread waited for, or it was an event loop without work."""
    thread = _threads(graph)
    shared = np.bincount(thread)[thread] > 1
    of_loop = shared & np.array([strand.kind == "thread" for strand in graph.strands], bool)
    found: Mask = np.isin(graph.kind[rows + 1], _RECORDED) | of_loop[graph.strand[rows]]
    return found


def _threads(graph: ExecutionGraph) -> I64:
    """Return a number of the thread of each strand."""
    threads = np.array([(strand.process << 32) + strand.thread for strand in graph.strands], np.int64)
    return np.unique(threads, return_inverse=True)[1].reshape(-1)


def _others_ran(graph: ExecutionGraph, rows: I64, wanted: Mask, processor: I64) -> I64:
    """Return how long another thread of the process ran, or was about to, during each `wanted` pause; 0 for the others.

    A thread that waits for a processor may have the GIL, so that it counts as one that runs.
    """
    ran = np.zeros(len(rows), np.int64)
    process = graph.strand_process[graph.strand[rows]].astype(np.int64)
    of_threads = np.unique(np.stack((_threads(graph), graph.strand_process.astype(np.int64))), axis=1)[1]
    several = np.bincount(of_threads, minlength=int(graph.strand_process.max(initial=0)) + 1) > 1
    is_ready = 2 * processor >= graph.ts[rows + 1] - graph.ts[rows]
    for number in np.unique(process[wanted & several[process]]).tolist():
        busy = [
            np.arange(strand.start, strand.stop - 1)
            for index, strand in enumerate(graph.strands)
            if graph.strand_process[index] == number and strand.stop - strand.start > 1
        ]
        at = np.concatenate(busy)
        at = np.concatenate((at[~graph.idle[at]], rows[is_ready & (process == number)]))
        for level in (1, 2):  # a pause that counts as running is one of the two
            mine = np.flatnonzero(wanted & (process == number) & (is_ready == (level == 2)))
            instants, until = _covered(graph.ts[at], graph.ts[at + 1], level)
            begin, end = (np.interp(graph.ts[rows[mine] + more], instants, until) for more in (0, 1))
            ran[mine] = end - begin
    return ran


def _covered(low: I64, high: I64, level: int) -> tuple[I64, I64]:
    """Return the bounds of some intervals in order, and for how long at least `level` of them had covered the time by then."""
    if not len(low):
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    instants = np.concatenate((low, high))
    order = np.argsort(instants, kind="stable")
    instants = instants[order]
    count = np.cumsum(np.where(order < len(low), 1, -1))
    length = np.where(count[:-1] >= level, np.diff(instants), 0)
    return instants, np.concatenate(([0], np.cumsum(length)))
