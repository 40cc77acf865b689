"""Compute the recorded waits of calls, without the suspensions that their callers share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_times import passive_kinds
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.timing.pauses import pauses
from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]
_PART = 1 << 22
"""The number of events read at a time."""


def waits_of_calls(graph: ExecutionGraph, *, unexplained: bool = False) -> I64:
    """Return the recorded waits of each call of the graph.

    The suspensions of the call are excluded, because its caller was suspended with it. With `unexplained`, waits for a
    result or a message are excluded, too: they last as long as the recorded work of somebody else. So are the times in
    which others had the processor or the GIL, sleep and I/O. Waits for a lock remain.
    """
    enter = graph.calls.enter
    found: I64 = graph.allocate(len(enter), np.int64)
    found[:] = 0
    explained = _ended_by_result(graph) if unexplained else np.zeros(0, bool)
    paused = pauses(graph) if unexplained else None
    for first in range(0, len(graph) - 1, _PART):
        last = min(first + _PART, len(graph) - 1)
        waits = graph.idle[first:last] & (graph.inner[first:last] >= 0)
        rows = first + np.flatnonzero(waits & (graph.strand[first:last] == graph.strand[first + 1 : last + 1]))
        if unexplained:
            rows = rows[~explained[rows]]
        length = graph.ts[rows + 1] - graph.ts[rows]
        if paused is not None and len(paused.row):
            at = np.minimum(np.searchsorted(paused.row, rows), len(paused.row) - 1)
            length -= np.where(paused.row[at] == rows, (paused.taken_ns + paused.blocked_ns)[at], 0)
        np.add.at(found, np.searchsorted(enter, graph.inner[rows]), length)
    return found


def _ended_by_result(graph: ExecutionGraph) -> npt.NDArray[np.bool_]:
    """Return, per event, whether the wait after it ended with a result, an item or a message that an edge brought."""
    ended = np.zeros(len(graph), bool)
    target = np.unique(graph.edge_dst)
    target = target[np.isin(graph.kind[target], (Kind.JOIN, Kind.RECEIVE))]
    at = target.astype(np.int64) - 1
    passive = passive_kinds()
    # Only passive records are between the wait and the target.
    while len(at):
        at = at[at >= 0]
        idle = graph.idle[at]
        ended[at[idle]] = True
        at = at[~idle]
        at = at[passive[graph.kind[at]]] - 1
    return ended
