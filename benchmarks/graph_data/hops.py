"""A breadth-first search by numpy that keeps to a number of hops: what slices with a limit are measured beside.

It marks events, and goes from all that it has just reached to all that they lead to at once. Invariant: an event is taken up
once, after the fewest edges that count; fall-through is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from graph_data.make import Data

Array = npt.NDArray[Any]


class Hops:
    """All events and edges; for slices backward in a mirror, the last event first."""

    def __init__(self, data: Data, *, forward: bool, counted: Array) -> None:
        begin, end = data.run_row.astype(np.int64), np.append(data.run_row[1:], data.events).astype(np.int64)
        near, far = data.src.astype(np.int64), data.dst.astype(np.int64)
        self.mirror = None if forward else data.events - 1
        if self.mirror is not None:
            begin, end = data.events - end[::-1], data.events - begin[::-1]
            near, far = self.mirror - far, self.mirror - near
        order = np.argsort(near, kind="stable")
        self.far, self.counted = far[order], counted[order]
        self.first = np.searchsorted(near[order], np.arange(data.events + 1))
        self.end = np.repeat(end, end - begin)
        """Per event where its region ends."""
        self.seen = np.zeros(data.events, bool)

    def slice(self, roots: Array, limit: int) -> Array:
        """The events that are reached over no more than `limit` of the edges that count."""
        due, seen, found = self._mirrored(roots), self.seen, []
        for _ in range(limit + 1):
            later = []
            while len(due):
                rows = np.unique(expand(due, self.end[due]))
                rows = rows[~seen[rows]]
                seen[rows] = True
                found.append(rows)
                edges = expand(self.first[rows], self.first[rows + 1])
                counted = self.counted[edges]
                later.append(self.far[edges[counted]])
                due = self.far[edges[~counted]]
                due = due[~seen[due]]
            if not later:
                break
            due = np.concatenate(later)
            due = due[~seen[due]]
        rows = np.concatenate(found)
        seen[rows] = False
        return self._mirrored(rows)

    def _mirrored(self, rows: Array) -> Array:
        return rows if self.mirror is None else self.mirror - rows
