"""Find the dominators of a slice: the events that every path passes through, computed on segments of events.

The events of each region in a slice are cut after each edge's source, before each edge's target and at roots. Edges
therefore lead only from the end of a segment to the beginning of a segment. Inside a segment each event is dominated
by the previous one. The kernel solves the segments (`csrc/structure/dominators.c`). Invariant: the answer equals that of the
event-by-event graph of the slice, in the slice's own direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _structure as kernel
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.graph.ops.slicing.interval import Slice

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dominators:
    """The events that every path from the slice's roots passes. Roots have no dominator, so several roots have
    no dominator in common.
    """

    slice: Slice
    region: I64
    """The region of each segment in the structure plane."""
    start: I64
    """The first position of each segment, ascending."""
    stop: I64
    above: list[int]
    """The segment that immediately dominates each segment, -1 if it has none."""
    reached: I64
    """The reached segments, dominators before the segments that they dominate."""
    ways: tuple[I64, I64]
    """The ways between segments in the slice's direction: along edges, and onward in the same region."""

    def immediate(self, event: int) -> int | None:
        """Return the last event that every path passes before this event.

        Return None for a root, or if the paths have no event in common. Raise `ClewError` if the event is outside the
        slice.
        """
        stretch, position = self._place(event)
        # Paths enter a forward segment at its first position and a backward segment at its last position.
        step = -1 if self.slice.forward else 1
        if position != self._entry(stretch):
            return self._row(stretch, position + step)
        other = self.above[stretch]
        return None if other < 0 else self._row(other, self._way_out(other))

    def dominates(self, event: int, other: int) -> bool:
        """Return whether every path to `other` passes `event`. Each event dominates itself."""
        (mine, at), (stretch, position) = self._place(event), self._place(other)
        if mine == stretch:
            return at <= position if self.slice.forward else at >= position
        while stretch >= 0 and stretch != mine:
            stretch = self.above[stretch]
        return stretch == mine

    def stretches(self, event: int) -> list[tuple[int, int]]:
        """Return the (first, last) events of each segment that every path to the event passes, in path order.

        The event's own segment comes last.
        """
        stretch, _ = self._place(event)
        above = [self._ends(other) for other in self._chain(self.above[stretch])]
        return [*above, (self._row(stretch, self._entry(stretch)), event)]

    def common(self) -> list[tuple[int, int]]:
        """Return the segments that every complete path passes, in the form of `stretches`.

        A complete path goes as far as the slice does, for example to everything that led to a root.
        """
        return [self._ends(stretch) for stretch in self._common]

    def meeting(self, event: int) -> int | None:
        """Return the first event where diverging paths to an event join again, or None if they never diverge.

        In a slice of causes this is the common origin: every way back from the event passes it.
        """
        stretch, _ = self._place(event)
        source, target = self.ways
        leads = _leading_to(stretch, source, target, len(self.start))
        # For each segment, count the successors that can still reach this segment.
        onward = leads[target]
        pairs = np.unique(source[onward] * len(self.start) + target[onward])
        ways = np.bincount(pairs // len(self.start), minlength=len(self.start))
        for near, far in pairwise(self._chain(stretch)):
            if ways[near] > 1:
                return self._row(far, self._entry(far))
        return None

    def _chain(self, stretch: int) -> list[int]:
        chain = []
        while stretch >= 0:
            chain.append(stretch)
            stretch = self.above[stretch]
        return chain[::-1]

    def _ends(self, stretch: int) -> tuple[int, int]:
        return self._row(stretch, self._entry(stretch)), self._row(stretch, self._way_out(stretch))

    @cached_property
    def _common(self) -> list[int]:
        """Return the segments that `common` describes."""
        ends = np.setdiff1d(np.arange(len(self.start)), self.ways[0])
        # Count the ends that each segment dominates, farthest first; the answer is the first segment that dominates
        # all ends.
        below = np.bincount(ends, minlength=len(self.start)).tolist()
        for stretch in self.reached[::-1].tolist():
            if len(ends) and below[stretch] == len(ends):
                return self._chain(stretch)
            if self.above[stretch] >= 0:
                below[self.above[stretch]] += below[stretch]
        return []

    def _place(self, event: int) -> tuple[int, int]:
        if not (0 <= event < len(self.slice.graph) and self.slice.contains(event)):
            raise ClewError(f"event {event} is not in this slice; dominators exist only for events of the slice")
        _, positions = self.slice.graph.structure.locate(np.array([event], np.int64))
        position = int(positions[0])
        return int(np.searchsorted(self.start, position, "right")) - 1, position

    def _entry(self, stretch: int) -> int:
        return int(self.start[stretch] if self.slice.forward else self.stop[stretch] - 1)

    def _way_out(self, stretch: int) -> int:
        return int(self.stop[stretch] - 1 if self.slice.forward else self.start[stretch])

    def _row(self, stretch: int, position: int) -> int:
        regions, positions = np.array([self.region[stretch]], np.uint32), np.array([position], np.uint32)
        return int(self.slice.graph.structure.rows_of(regions, positions)[0])


def dominators(slice_: Slice) -> Dominators:
    """Return the dominators of all events of a slice. The cost is a few passes over its edges."""
    forward, structure = slice_.forward, slice_.graph.structure
    begin = structure.arrays["start"].astype(np.int64)
    regions, last = structure.by_region(slice_.reached, forward=forward)
    order = np.argsort(regions)
    touched: I64 = regions[order].astype(np.int64)
    bounds: I64 = last[order].astype(np.int64)
    low, high = (bounds, begin[touched + 1]) if forward else (begin[touched], bounds + 1)
    source, target = _edges(slice_)
    roots = _positions(slice_, np.array(slice_.roots, np.int64))
    cuts = np.concatenate((source + 1, target) if forward else (source, target + 1))
    cuts = np.unique(np.concatenate((low, cuts, roots if forward else roots + 1)))
    home = np.searchsorted(low, cuts, "right") - 1
    inside = (home >= 0) & (cuts < high[home])
    start, home = cuts[inside], home[inside]
    # Positions ascend with regions, so a segment ends at the next segment's start or at the slice's bound in its
    # region.
    stop = np.minimum(np.append(start[1:], np.iinfo(np.int64).max), high[home])
    region = touched[home]
    source, target = _ways(region, start, source, target, forward=forward)
    entries = np.unique(np.searchsorted(start, roots, "right") - 1)
    ends = (np.ascontiguousarray(column, np.uint32) for column in (source, target, entries))
    above, reached = kernel.dominators(len(start), *ends)
    # The kernel marks a missing dominator with the largest unsigned number, which reads as -1 when signed.
    dominator, order = np.frombuffer(above, np.int32).tolist(), np.frombuffer(reached, np.uint32).astype(np.int64)
    return Dominators(slice_, region, start, stop, dominator, order, (source, target))


def _positions(slice_: Slice, rows: I64) -> I64:
    return slice_.graph.structure.locate(rows)[1].astype(np.int64)


def _edges(slice_: Slice) -> tuple[I64, I64]:
    """Return the end positions of the slice's edges, from where paths come to where they lead."""
    graph, edges = slice_.graph, slice_.edges()
    source, target = _positions(slice_, graph.edge_src[edges]), _positions(slice_, graph.edge_dst[edges])
    return (source, target) if slice_.forward else (target, source)


def _ways(region: I64, start: I64, source: I64, target: I64, *, forward: bool) -> tuple[I64, I64]:
    """Return the ways between segments, given the edges between positions."""
    source, target = (np.searchsorted(start, ends, "right") - 1 for ends in (source, target))
    on = np.flatnonzero(region[1:] == region[:-1])
    before, after = (on, on + 1) if forward else (on + 1, on)
    return np.concatenate((source, before)), np.concatenate((target, after))


def _leading_to(stretch: int, source: I64, target: I64, stretches: int) -> npt.NDArray[np.bool_]:
    """Return for each segment whether a way leads from it to the given segment."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    back = csr_array((np.ones(len(source), np.int8), (target, source)), shape=(stretches, stretches))
    leads = np.zeros(stretches, bool)
    leads[breadth_first_order(back, stretch, return_predecessors=False)] = True
    return leads
