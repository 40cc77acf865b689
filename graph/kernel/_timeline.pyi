"""Compute bars of calls and tiles of bars in C (`csrc/`); `clew.graph.ops.timeline.bars` defines them.

Arrays are as wide as the numpy columns of the same name; bars are `bars.BAR`. Sizes, sites and bars that do not
fit raise ValueError.
"""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

def count(kind: Array, site: Array, ts: Array, strand_start: Array, depths: Array, /) -> bytes:
    """Return the number of bars (64 bits) of each row, ordered by strand and depth; write each strand's row count to
    `depths`."""

def fill(
    kind: Array,
    site: Array,
    ts: Array,
    strand_start: Array,
    depths: Array,
    row_start: Array,
    bars: Array,
    depth: Array,
    /,
) -> None:
    """Write the bars, row by row, and for each event the depth of its strand after the event."""

def coarser(bars: Array, row_start: Array, shift: int, sites: int, to: Array, to_start: Array, /) -> int:
    """Join the bars shorter than 2^shift ns, write the result to `to` and return its bar count. `to` must have room for
    all input bars."""

def paint(
    bars: Array,
    row_start: Array,
    exact: bool,
    sites: int,
    rows: Array,
    start: int,
    shift: int,
    least: int,
    cells: Array,
    covers: Array,
    /,
) -> tuple[bytes, bytes]:
    """Fill as many buckets per row as `cells` has room for, from `start` ns on; row -1 stays empty. Return the palette (32-bit
    sites) and the bars of at least `least` ns (`bars.NAMED`)."""
