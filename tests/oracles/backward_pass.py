"""The walk back along a critical path in Python."""

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
    """Where the path came into a region."""

    row: int
    edge: int
    """Along which edge, -1: it began here."""
    rivals: tuple[int, ...] = ()
    """The events that would have been waited for, had the edge's source come sooner; none when nothing else was."""

    def slack(self, graph: ExecutionGraph, source: int, before: I64) -> int:
        """By how much the edge's source came later than its rivals; those in the path `before` it move with it. -1 for none."""
        if not self.rivals:
            return -1
        others = np.array(self.rivals, np.int64)
        # The rows of a piece ascend.
        others = others[np.append(before, -1)[np.searchsorted(before, others)] != others]
        return max(0, int(graph.ts[source]) - int(graph.ts[others].max())) if len(others) else -1


class _Walk:
    """The walk in Python."""

    def __init__(self, graph: ExecutionGraph, extent: Extent) -> None:
        self.graph = graph
        self.extent = extent
        self.passive: list[bool] = passive_kinds().tolist()

    def back_from(self, event: int, since: int) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], I64]:
        """What `Plane.path` of the kernel gives."""
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
        """The stretches of rows from where the path came to the event's strand, but from the last row of a time on, up to the
        event, the latest first, and how it came."""
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
        """The last row before `event`, but after `entry`, of a scope nested in the event's region; -1 for none."""
        region, high, size = self.graph.region, event, 64
        while high > entry:
            low = max(entry, high - size)
            other = np.flatnonzero(region[low : high + 1] != region[event])
            if len(other):
                return low + int(other[-1])
            high, size = low, 2 * size
        return -1

    def _of_nested(self, entry: _Entry, first: int) -> _Entry:
        """As `entry`, but without the edge when the scope's turn came later than its cause: the strand was busy until then."""
        graph = self.graph
        if entry.edge >= 0 and first > graph.strand_of(first).start and opens(graph, entry.row):
            came, free = int(graph.ts[graph.edge_src[entry.edge]]), int(graph.ts[first - 1])
            return _Entry(entry.row, entry.edge, (first - 1,)) if free < came else _Entry(first, -1)
        return entry if entry.edge >= 0 else _Entry(first, -1)

    def back(self, event: int, since: int) -> _Entry:
        """Where the path to an event entered the event's region; when that was not after a time, any row that was not."""
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
        """Which events lie beside the slice of causes, in scopes that the strand ran in between?"""
        if self.extent.forward:
            return np.zeros(len(events), bool)
        return events > self.extent.bounds[self.graph.region[events]]

    def _run_begin(self, target: int) -> int:
        """The first row of the passive records that lead up to `target`, and of what a loop ran before it gave back control."""
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
        """The edge that ended a wait after the row before `begin`, or that opened the region, if one of them did."""
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
    """Return what `backward_pass.walk_back` gives."""
    walk = _Walk(graph, extent_of(graph, slice_))
    walked = Pieces.backward(*walk.back_from(event, NEVER if since_ns is None else since_ns))
    return walked if since_ns is None else walked.since(graph, since_ns)
