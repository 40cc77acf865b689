"""Calls as bars, row by row of strand and depth, at widths that grow: what tiles of a timeline are painted from.

A bar is a stretch of its strand's time in which a call is on the stack, or is suspended and nothing else is in its place.
Invariants: the bars of a row follow each other without overlap; at a level of 2^shift ns all bars that are shorter and begin in
the same 2^shift ns are one, with the share of its time that they fill and the function that has the most of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clew.graph.bars_reference import ASLEEP, CELL_ASLEEP
from clew.graph.kernel import CHOICE_VARIABLE

if TYPE_CHECKING:
    from clew.graph import _timeline as painter
else:
    try:
        from clew.graph import _timeline as painter
    except ImportError:  # no compiler was at hand
        painter = None
    if painter is None or os.environ.get(CHOICE_VARIABLE, "") == "python":
        from clew.graph import bars_reference as painter

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]

__all__ = ["ASLEEP", "BAR", "CELL_ASLEEP", "NAMED", "Bars", "Level", "Painted", "bars_of", "painter", "wider"]

BAR = np.dtype([("begin", "<i8"), ("end", "<i8"), ("key", "<u4"), ("what", "<u4")])
"""`key` is the site, with `ASLEEP` while the call is suspended; `what` the event that it begins with, or, at coarser levels,
how much of it is filled, of 2^32 - 1."""
NAMED = np.dtype([("begin", "<i8"), ("end", "<i8"), ("row", "<u4"), ("cell", "<u4")])
"""A bar with room for a name, in a tile: its row and cell there."""
FIRST_SHIFT, STEP = 4, 2
WORTH = 0.75
"""A level is kept when it has at most so much of the bars of the one before."""


@dataclass(frozen=True)
class Level:
    shift: int
    """-1 for the bars themselves."""
    row_start: I64
    """Row r has the bars from `row_start[r]` up to the next."""
    bars: Array


@dataclass(frozen=True)
class Painted:
    cells: npt.NDArray[np.uint16]
    """Per row and bucket 0 for none, else 1 + the place in `palette`, with `CELL_ASLEEP` for a suspended call."""
    covers: npt.NDArray[np.uint8]
    """How much of the bucket is filled, of 255."""
    palette: U32
    """Sites."""
    named: Array
    """Of `NAMED`."""


@dataclass(frozen=True)
class Bars:
    depths: U32
    """Rows of every strand."""
    sites: int
    """One more than the greatest site."""
    levels: tuple[Level, ...]
    """The exact one first, then ever wider ones."""

    @cached_property
    def first_row(self) -> I64:
        """Of every strand, and one more at the end."""
        return np.concatenate(([0], np.cumsum(self.depths, dtype=np.int64)))

    def row(self, strand: int, depth: int) -> int:
        """-1 where the strand is not so deep."""
        return int(self.first_row[strand]) + depth if 0 <= depth < self.depths[strand] else -1

    def level(self, shift: int) -> Level:
        """The widest one that is no wider than 2^shift ns."""
        return [level for level in self.levels if level.shift <= shift][-1]

    def exact(self, row: int) -> Array:
        level = self.levels[0]
        return level.bars[int(level.row_start[row]) : int(level.row_start[row + 1])]

    def paint(self, rows: I64, start: int, shift: int, buckets: int, named: int) -> Painted:
        """Buckets of 2^shift ns from `start` ns on; bars of at least `named` buckets come with their ends. Raises `ValueError`
        when the bars are damaged."""
        level = self.level(shift)
        cells, covers = np.zeros((len(rows), buckets), np.uint16), np.zeros((len(rows), buckets), np.uint8)
        palette, found = painter.paint(
            level.bars, level.row_start, level.shift < 0, self.sites, rows, start, shift, named << shift, cells, covers
        )
        return Painted(cells, covers, np.frombuffer(palette, np.uint32), np.frombuffer(found, NAMED))


def bars_of(
    kind: npt.NDArray[np.uint8], site: U32, ts: I64, strand_start: I64
) -> tuple[U32, Level, npt.NDArray[np.uint16]]:
    """The depths of all strands, the bars themselves, and per event how deep its strand's stack was after it: 0 for
    the first call."""
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
    """The levels that are worth keeping, up to the width of the whole."""
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
