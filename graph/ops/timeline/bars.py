"""Build the bars of calls that timeline tiles are painted from, row by row of strand and depth, at increasing widths.

A bar is an interval of its strand's time in which a call is on the stack, or is suspended while no other call takes
its place. Invariants: the bars of a row follow each other without overlap. At a level of 2^shift ns, all shorter bars
that begin in the same 2^shift ns are merged into one. The merged bar has the share of its time that the bars fill,
and the function with the largest share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _timeline as painter

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]

ASLEEP = 1 << 31
"""A flag in the key of a bar: the call is suspended."""
CELL_ASLEEP = 0x8000
"""A flag in a cell: the call is suspended."""

BAR = np.dtype([("begin", "<i8"), ("end", "<i8"), ("key", "<u4"), ("what", "<u4")])
"""The dtype of a bar.

`key` is the site, with `ASLEEP` while the call is suspended. `what` is the event that the bar begins with; at coarser
levels it is the filled share, out of 2^32 - 1.
"""
NAMED = np.dtype([("begin", "<i8"), ("end", "<i8"), ("row", "<u4"), ("cell", "<u4")])
"""The dtype of a bar in a tile that is wide enough for a name, with its row and cell in the tile."""
FIRST_SHIFT, STEP = 4, 2
WORTH = 0.75
"""A level is kept if it has at most this share of the previous level's bars."""


@dataclass(frozen=True)
class Level:
    shift: int
    """The width exponent; -1 for the bars themselves."""
    row_start: I64
    """The offsets of the rows: row r has the bars from `row_start[r]` up to `row_start[r + 1]`."""
    bars: Array


@dataclass(frozen=True)
class Painted:
    cells: npt.NDArray[np.uint16]
    """For each row and bucket 0 if empty, else 1 + the index in `palette`, with `CELL_ASLEEP` for a suspended call.
    """
    covers: npt.NDArray[np.uint8]
    """The filled share of each bucket, out of 255."""
    palette: U32
    """The sites that cells refer to."""
    named: Array
    """The bars with room for a name, as `NAMED`."""


@dataclass(frozen=True)
class Bars:
    depths: U32
    """The number of rows of each strand."""
    sites: int
    """One more than the largest site."""
    levels: tuple[Level, ...]
    """The levels: the exact level first, then increasing widths."""

    @cached_property
    def first_row(self) -> I64:
        """Return the first row of each strand, plus one entry for the end."""
        return np.concatenate(([0], np.cumsum(self.depths, dtype=np.int64)))

    def row(self, strand: int, depth: int) -> int:
        """Return the row of a strand and depth, -1 if the strand is not that deep."""
        return int(self.first_row[strand]) + depth if 0 <= depth < self.depths[strand] else -1

    def level(self, shift: int) -> Level:
        """Return the widest level that is at most 2^shift ns wide."""
        return [level for level in self.levels if level.shift <= shift][-1]

    def exact(self, row: int) -> Array:
        level = self.levels[0]
        return level.bars[int(level.row_start[row]) : int(level.row_start[row + 1])]

    def paint(self, rows: I64, start: int, shift: int, buckets: int, named: int) -> Painted:
        """Paint buckets of 2^shift ns from `start` ns on.

        Bars of at least `named` buckets are returned with their ends. Raise `ValueError` if the bars are damaged.
        """
        level = self.level(shift)
        cells, covers = np.zeros((len(rows), buckets), np.uint16), np.zeros((len(rows), buckets), np.uint8)
        palette, found = painter.paint(
            level.bars, level.row_start, level.shift < 0, self.sites, rows, start, shift, named << shift, cells, covers
        )
        return Painted(cells, covers, np.frombuffer(palette, np.uint32), np.frombuffer(found, NAMED))


def bars_of(
    kind: npt.NDArray[np.uint8], site: U32, ts: I64, strand_start: I64
) -> tuple[U32, Level, npt.NDArray[np.uint16]]:
    """Return the depths of all strands, the bars, and for each event its strand's stack depth after it: 0 for the
    first call.
    """
    given = (
        np.ascontiguousarray(kind), np.ascontiguousarray(site), np.ascontiguousarray(ts, np.int64),
        np.ascontiguousarray(strand_start, np.int64),
    )  # fmt: skip
    depths = np.zeros(len(strand_start) - 1, np.uint32)
    counts = np.frombuffer(painter.count(*given, depths), np.int64)
    row_start = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    bars, depth = np.zeros(int(row_start[-1]), BAR), np.zeros(len(kind), np.uint16)
    painter.fill(*given, depths, row_start, bars, depth)
    return depths, Level(-1, row_start, bars), depth


def wider(exact: Level, sites: int, span_ns: int) -> list[Level]:
    """Return the levels worth keeping, up to the width of the whole run."""
    found = [exact]
    room = np.zeros(len(exact.bars), BAR)
    for shift in range(FIRST_SHIFT, 61, STEP):
        if span_ns >> shift == 0:
            break
        start = np.zeros(len(exact.row_start), np.int64)
        made = painter.coarser(exact.bars, exact.row_start, shift, sites, room, start)
        if made <= WORTH * len(found[-1].bars):
            found.append(Level(shift, start, room[:made].copy()))
    return found
