"""Compute the recorded waits of calls, without the suspensions that their callers share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph

I64 = npt.NDArray[np.int64]
_PART = 1 << 22
"""The number of events read at a time."""


def waits_of_calls(graph: ExecutionGraph) -> I64:
    """Return the recorded waits of each call of the graph.

    The suspensions of the call are excluded, because its caller was suspended with it.
    """
    enter = graph.calls.enter
    found: I64 = graph.allocate(len(enter), np.int64)
    found[:] = 0
    for first in range(0, len(graph) - 1, _PART):
        last = min(first + _PART, len(graph) - 1)
        waits = graph.idle[first:last] & (graph.inner[first:last] >= 0)
        rows = first + np.flatnonzero(waits & (graph.strand[first:last] == graph.strand[first + 1 : last + 1]))
        np.add.at(found, np.searchsorted(enter, graph.inner[rows]), graph.ts[rows + 1] - graph.ts[rows])
    return found
