"""Reference implementation of the walk back along a critical path in Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_times import passive_kinds
from clew.graph.build.regions import opens
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.structure_layout import PIECE, STRETCH
from clew.graph.ops.slicing.interval import Slice
from clew.graph.ops.timing.backward_pass import _SCOPE_END, I64, NEVER, Extent, Pieces, extent_of


@dataclass(frozen=True)
class _Entry:
    """The row and the edge by which the path enters a region."""

    row: int
    edge: int
    """The edge; -1 if the path begins here."""
    rivals: tuple[int, ...] = ()
    """The events that would have ended the wait if the edge's source had come sooner."""

    def slack(self, graph: ExecutionGraph, source: int, before: I64) -> int:
        """Return how much later than its rivals the edge's source came; -1 without rivals.

        Rivals in the path `before` the edge move with it and do not count.
        """
        if not self.rivals:
            return -1
        others = np.array(self.rivals, np.int64)
        # The rows of a path piece ascend.
        others = others[np.append(before, -1)[np.searchsorted(before, others)] != others]
        return max(0, int(graph.ts[source]) - int(graph.ts[others].max())) if len(others) else -1


class _Walk:
    """The walk along one graph."""

    def __init__(self, graph: ExecutionGraph, extent: Extent) -> None:
        self.graph = graph
        self.extent = extent
        self.passive: list[bool] = passive_kinds().tolist()

    def back_from(self, event: int, since: int) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], I64]:
        """Return the columns of the kernel's `Plane.path`."""
        graph, found = self.graph, None
        pieces: list[tuple[int, int, int, int]] = []
        stretches: list[tuple[int, int]] = []
        rivals: list[int] = []
        seen: set[int] = set()
        while True:
            seen.add(event)
            cause = found
            parts, found = self.along_strand(event, since)
            slack = (
                cause.slack(graph, event, np.concatenate([np.arange(*part) for part in parts[::-1]])) if cause else -1
            )
            source = int(graph.edge_src[found.edge]) if found.edge >= 0 else -1
            # Clocks that disagree can close a circle.
            if source in seen or graph.ts[parts[-1][0]] <= since:
                source = -1
            others = found.rivals if source >= 0 else ()
            pieces.append((found.edge if source >= 0 else -1, slack, len(parts), len(others)))
            stretches += parts
            rivals += others
            if source < 0 or graph.ts[source] <= since:
                return np.array(pieces, PIECE), np.array(stretches, STRETCH), np.array(rivals, np.int64)
            event = source

    def along_strand(self, event: int, since: int) -> tuple[list[tuple[int, int]], _Entry]:
        """Return the row ranges of the path in the event's strand up to the event, latest first, and how the path entered.

        The ranges begin no earlier than the last row at time `since`.
        """
        graph, start = self.graph, self.graph.strand_of(event).start
        floor = start + int(np.searchsorted(graph.ts[start : event + 1], since, "right")) - 1
        home = int(graph.region[event])
        entries: dict[int, _Entry] = {}
        parts: list[tuple[int, int]] = []
        while True:
            region = int(graph.region[event])
            entry = entries.get(region)
            if entry is None or entry.row > event:
                entry = entries[region] = self.back(event, since)
            low = min(max(entry.row, floor), event) if floor >= start else entry.row
            gap = self._other_region(low, event)
            if gap >= 0:
                parts.append((gap + 1, event + 1))
                event = gap
                continue
            if start <= floor and entry.row <= low <= floor:
                parts.append((low, event + 1))
                return parts, entry
            first = int(graph.regions.first[region])
            if region != home:
                entry = self._of_nested(entry, first)
            parts.append((entry.row, event + 1))
            if region == home or entry.edge >= 0 or first <= start:
                return parts, entry
            event = first - 1

    def _other_region(self, entry: int, event: int) -> int:
        """Return the last row before `event` and after `entry` that is in a nested scope; -1 if there is no such row."""
        region, high, size = self.graph.region, event, 64
        while high > entry:
            low = max(entry, high - size)
            other = np.flatnonzero(region[low : high + 1] != region[event])
            if len(other):
                return low + int(other[-1])
            high, size = low, 2 * size
        return -1

    def _of_nested(self, entry: _Entry, first: int) -> _Entry:
        """Return `entry`, without its edge if the strand was busy and could begin the scope only after the edge's source."""
        graph = self.graph
        if entry.edge >= 0 and first > graph.strand_of(first).start and opens(graph, entry.row):
            came, free = int(graph.ts[graph.edge_src[entry.edge]]), int(graph.ts[first - 1])
            return _Entry(entry.row, entry.edge, (first - 1,)) if free < came else _Entry(first, -1)
        return entry if entry.edge >= 0 else _Entry(first, -1)

    def back(self, event: int, since: int) -> _Entry:
        """Return where the path to an event entered its region; if that is not after `since`, any row not after it."""
        graph = self.graph
        region = int(graph.region[event])
        edges, targets = graph.index.into(region)
        place = int(np.searchsorted(targets, event, "right"))
        while place > 0:
            # The edges into one run of passive records end one wait together.
            target = int(targets[place - 1])
            if graph.ts[target] <= since:
                return _Entry(target, -1)
            begin = self._run_begin(target)
            first = int(np.searchsorted(targets[:place], begin, "left"))
            found = self._latest(edges[first:place], begin, region)
            if found is not None:
                return found
            place = first
        first_row = int(graph.regions.first[region])
        return _Entry(max(first_row, int(self.extent.bounds[region])) if self.extent.forward else first_row, -1)

    def _beyond(self, events: I64) -> npt.NDArray[np.bool_]:
        """Mark the events outside a backward slice, which are in scopes that the strand ran in between."""
        if self.extent.forward:
            return np.zeros(len(events), bool)
        return events > self.extent.bounds[self.graph.region[events]]

    def _run_begin(self, target: int) -> int:
        """Return the first row of the passive records, and of an event loop's scopes, that lead up to `target`."""
        graph, row = self.graph, target
        start, kinds, passive = graph.strand_of(target).start, graph.kind, self.passive
        while row > start:
            kind = int(kinds[row - 1])
            if passive[kind]:
                row -= 1
            elif kind == _SCOPE_END and graph.site_is_adapter[graph.site[row - 1]]:
                row = max(int(graph.regions.first[graph.region[row - 1]]), start)
            else:
                break
        return row

    def _latest(self, edges: I64, begin: int, region: int) -> _Entry | None:
        """Return the edge that ended a wait before `begin`, or that opened the region; None if no edge did."""
        graph = self.graph
        edges = edges[self.extent.follow[edges] | self._beyond(graph.edge_dst[edges])]
        edges = edges[graph.region[graph.edge_src[edges]] != region]
        if not len(edges):
            return None
        sources = graph.ts[graph.edge_src[edges]]
        best = int(np.argmax(sources))
        edge, came = int(edges[best]), int(sources[best])
        entry = int(graph.edge_dst[edge])
        fresh = begin == graph.strand_of(entry).start
        waited = fresh or int(graph.ts[begin - 1]) < came
        if not waited and not opens(graph, entry):
            return None
        if not waited:
            return _Entry(entry, edge, (begin - 1,))
        rivals = np.delete(graph.edge_src[edges], best).tolist()
        return _Entry(entry, edge, tuple(rivals if fresh else [*rivals, begin - 1]))


def walk_back(graph: ExecutionGraph, slice_: Slice, event: int, since_ns: int | None) -> Pieces:
    """Return the result of `backward_pass.walk_back`."""
    walk = _Walk(graph, extent_of(graph, slice_))
    walked = Pieces.backward(*walk.back_from(event, NEVER if since_ns is None else since_ns))
    return walked if since_ns is None else walked.since(graph, since_ns)
