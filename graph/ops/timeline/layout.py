"""Lay out a run over time: calls as bars per strand and depth, use edges as arrows, for any time interval down to 1
ns.

Invariant: answering a query about an interval takes time in proportion to what is shown, not to the length of the
run. Widths of bars and lengths of arrows are sorted into powers of two beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.timeline.bars import ASLEEP, Array, Bars, Painted, bars_of, wider
from clew.records.format.event import EdgeKind

I64 = npt.NDArray[np.int64]

ARROW = np.dtype(
    [
        ("low", "<i8"), ("source_ns", "<i8"), ("target_ns", "<i8"), ("source", "<u4"), ("target", "<u4"),
        ("source_strand", "<u4"), ("target_strand", "<u4"), ("channel", "<u4"), ("source_depth", "<u2"),
        ("target_depth", "<u2"),
    ]
)  # fmt: skip
"""The dtype of a use edge between two strands; `low` is the earlier of its times."""
CLASSES = 64
"""The number of length classes: class c has the arrows shorter than 2^c ns that are in no lower class."""
MOST_EXAMINED = 50_000
"""The maximum number of arrows examined per class, evenly sampled."""
NEAR = 4096
"""The number of bars around a point among which the longest is the one pointed at."""


class Spot(NamedTuple):
    """A bar of a running call."""

    strand: int
    depth: int
    begin: int
    end: int
    site: int
    event: int


@dataclass(frozen=True)
class Timeline:
    """The arrays of `Timeline.arrays`, from any source."""

    bars: Bars
    row_ns: I64
    """For each row, the time in which calls were on it and not suspended."""
    site_ns: I64
    """For each site, the time in which its calls were on some row. A recursive function counts once per call."""
    arrows: Array
    """The arrows, as `ARROW`, class by class, each class sorted by `low`."""
    arrow_class: I64
    """The offset of each class, plus one entry for the end."""

    @staticmethod
    def of(graph: ExecutionGraph) -> Timeline:
        """Build the timeline in one pass over all events and a sort of the edges."""
        start = np.array([*(strand.start for strand in graph.strands), len(graph)], np.int64)
        with graph.passing() as release:
            depths, exact, depth = bars_of(graph.kind, graph.site, graph.ts, start)
            arrows, arrow_class = _arrows(graph, depth)
            release()
        sites = len(graph.sites)
        running = exact.bars["key"] < ASLEEP
        length = np.where(running, exact.bars["end"] - exact.bars["begin"], 0)
        site_ns = np.bincount(exact.bars["key"] & np.uint32(ASLEEP - 1), weights=length, minlength=sites).astype(
            np.int64
        )
        summed = np.concatenate((np.zeros(1, np.int64), np.cumsum(length)))
        row_ns = summed[exact.row_start[1:]] - summed[exact.row_start[:-1]]
        del length, summed, running
        span = int(exact.bars["end"].max()) if len(exact.bars) else 0
        return Timeline(Bars(depths, sites, tuple(wider(exact, sites, span))), row_ns, site_ns, arrows, arrow_class)

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Return all arrays; `from_arrays` restores a timeline from them."""
        levels = {}
        for level in self.bars.levels:
            levels[f"start{level.shift}"] = level.row_start
            levels[f"bars{level.shift}"] = level.bars
        return {
            "depths": self.bars.depths,
            "row_ns": self.row_ns,
            "site_ns": self.site_ns,
            "arrows": self.arrows,
            "arrow_class": self.arrow_class,
            **levels,
        }

    def paint(self, lanes: list[tuple[int, int, int]], start: int, shift: int, buckets: int, named: int) -> Painted:
        """Paint rows of lanes (strand, first depth, number of depths), one after the other; see `Bars.paint`."""
        rows = [self.bars.row(strand, depth + at) for strand, depth, count in lanes for at in range(count)]
        return self.bars.paint(np.array(rows, np.int64), start, shift, buckets, named)

    def busy(self, strands: list[int], start: int, shift: int, buckets: int) -> npt.NDArray[np.float64]:
        """Return for each bucket how many of the strands were in a recorded call, on average."""
        found = np.zeros(buckets, np.float64)
        for at in range(0, len(strands), 256):
            painted = self.paint(
                [(strand, 0, 1) for strand in strands[at : at + 256]], start, shift, buckets, buckets + 1
            )
            awake = painted.cells < (1 << 15)
            found += np.where(awake, painted.covers, 0).sum(axis=0) / 255.0
        return found

    # One bar

    def spot(self, strand: int, depth: int, ns: int, slack: int = 0) -> Spot | None:
        """Return the call that runs at a depth of a strand at a time, else the longest such call within `slack` ns of
        it.
        """
        row = self.bars.row(strand, depth)
        if row < 0:
            return None
        bars = self.bars.exact(row)
        at = _ends_after(bars, ns)
        if at < len(bars) and bars["begin"][at] <= ns and bars["key"][at] < ASLEEP and not slack:
            return _spot(strand, depth, bars[at])
        low, high = _ends_after(bars, ns - slack), _begins_after(bars, ns + slack)
        low, high = max(low, at - NEAR // 2), min(high, at + NEAR // 2)
        near = bars[low:high]
        near = near[near["key"] < ASLEEP]
        return _spot(strand, depth, near[int(np.argmax(near["end"] - near["begin"]))]) if len(near) else None

    def neighbour(self, strand: int, depth: int, ns: int, by: int) -> Spot | None:
        """Return the next (1) or previous (-1) running call of the row, relative to the call at a time."""
        row = self.bars.row(strand, depth)
        if row < 0:
            return None
        bars = self.bars.exact(row)
        at = _ends_after(bars, ns)
        inside = at < len(bars) and bars["begin"][at] <= ns
        at += (1 if inside else 0) if by > 0 else -1
        while 0 <= at < len(bars):
            if bars["key"][at] < ASLEEP:
                return _spot(strand, depth, bars[at])
            at += by
        return None

    def inside(self, spot: Spot) -> tuple[Spot | None, int]:
        """Return the first call that a call makes, and the total running time of all calls that it makes."""
        row = self.bars.row(spot.strand, spot.depth + 1)
        if row < 0:
            return None, 0
        bars = self.bars.exact(row)
        within = bars[_ends_after(bars, spot.begin) : _begins_after(bars, spot.end - 1)]
        running = within["key"] < ASLEEP
        first = int(np.argmax(running)) if len(within) else 0
        found = _spot(spot.strand, spot.depth + 1, within[first]) if running.any() else None
        return found, int(np.where(running, within["end"] - within["begin"], 0).sum())

    def longest(self, strands: list[int], most: int) -> tuple[list[Spot], int]:
        """Return the longest running calls of some strands, longest first, and their total number."""
        found: list[tuple[int, Spot]] = []
        count = 0
        for strand in strands:
            for depth in range(int(self.bars.depths[strand])):
                bars = self.bars.exact(self.bars.row(strand, depth))
                running = bars[bars["key"] < ASLEEP]
                count += len(running)
                length = running["end"] - running["begin"]
                kept = np.argpartition(-length, most)[:most] if len(length) > most else np.arange(len(length))
                found += [(int(length[at]), _spot(strand, depth, running[at])) for at in kept.tolist()]
            found = sorted(found, key=lambda one: (-one[0], one[1]))[:most]
        return [spot for _, spot in found], count

    # Arrows

    def arrows_in(self, begin: int, end: int, shown: npt.NDArray[np.bool_], most: int) -> tuple[Array, int]:
        """Return the longest arrows between shown strands that touch an interval, and how many more were found.

        The count is complete unless there are too many arrows to examine.
        """
        found: list[Array] = []
        count, hidden = 0, 0
        for number in range(CLASSES - 1, -1, -1):
            low, high = int(self.arrow_class[number]), int(self.arrow_class[number + 1])
            if low == high:
                continue
            lows = self.arrows["low"][low:high]
            first = _search(lows, begin - (1 << number))
            last = _search(lows, end)
            step = 1 + (last - first) // MOST_EXAMINED
            some = self.arrows[low + first : low + last : step]
            high_ns = np.maximum(some["source_ns"], some["target_ns"])
            some = some[(high_ns >= begin) & shown[some["source_strand"]] & shown[some["target_strand"]]]
            if count >= most:
                hidden += len(some) * step
                if hidden > MOST_EXAMINED:
                    break
                continue
            found.append(some)
            count += len(some)
        if not found:
            return self.arrows[:0], 0
        every = np.concatenate(found)
        order = np.argsort(-np.abs(every["target_ns"] - every["source_ns"]), kind="stable")[:most]
        return every[order], hidden + len(every) - len(order)


def from_arrays(arrays: Mapping[str, Any]) -> Timeline:
    """Return the timeline of these arrays; the inverse of `Timeline.arrays`."""
    from clew.graph.ops.timeline.bars import Level

    shifts = sorted(int(name.removeprefix("bars")) for name in arrays if name.startswith("bars"))
    levels = tuple(Level(shift, arrays[f"start{shift}"], arrays[f"bars{shift}"]) for shift in shifts)
    bars = Bars(arrays["depths"], len(arrays["site_ns"]), levels)
    return Timeline(bars, arrays["row_ns"], arrays["site_ns"], arrays["arrows"], arrays["arrow_class"])


def _arrows(graph: ExecutionGraph, depth: npt.NDArray[np.uint16]) -> tuple[Array, I64]:
    src, dst = graph.edge_src, graph.edge_dst
    edges = np.flatnonzero((graph.edge_kind == EdgeKind.USE) & (graph.strand[src] != graph.strand[dst]))
    src, dst = src[edges], dst[edges]
    arrows = np.zeros(len(edges), ARROW)
    arrows["source"], arrows["target"] = src, dst
    arrows["source_ns"], arrows["target_ns"] = graph.ts[src], graph.ts[dst]
    arrows["low"] = np.minimum(arrows["source_ns"], arrows["target_ns"])
    arrows["source_strand"], arrows["target_strand"] = graph.strand[src], graph.strand[dst]
    arrows["source_depth"], arrows["target_depth"] = depth[src], depth[dst]
    arrows["channel"] = graph.edge_channel[edges]
    length = np.abs(arrows["target_ns"] - arrows["source_ns"])
    bounds = np.left_shift(np.int64(1), np.arange(CLASSES - 2, dtype=np.int64))
    number = np.searchsorted(bounds, length, "right")
    arrows = arrows[np.lexsort((arrows["low"], number))]
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(number, minlength=CLASSES))))
    return arrows, first.astype(np.int64)


def _search(column: Array, value: int) -> int:
    """Return how many values of an ascending column are less than `value`.

    This is implemented here because numpy would copy the whole field of a structured array.
    """
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def _ends_after(bars: Array, ns: int) -> int:
    """Return the first bar that ends after a time."""
    return _search(bars["end"], ns + 1)


def _begins_after(bars: Array, ns: int) -> int:
    return _search(bars["begin"], ns + 1)


def _spot(strand: int, depth: int, bar: Any) -> Spot:
    return Spot(strand, depth, int(bar["begin"]), int(bar["end"]), int(bar["key"]), int(bar["what"]))
