"""Bars of calls and tiles of them, in C (`csrc/`); `bars` says what they mean, `bars_reference` has the twins.

Arrays are as wide as the numpy columns of the same name; bars are `bars.BAR`. Sizes, sites and bars that do not
fit raise ValueError.
"""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

def count(kind: Array, site: Array, ts: Array, strand_start: Array, depths: Array, /) -> bytes:
    """How many bars (64 bits) each row has, strand by strand and depth by depth; `depths` gets how many rows a strand has."""

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
    """Writes the bars, row by row, and per event at which depth its strand was after it."""

def coarser(bars: Array, row_start: Array, shift: int, sites: int, to: Array, to_start: Array, /) -> int:
    """Bars with those shorter than 2^shift ns joined; `to` needs room for as many as there were. Gives how many there are."""

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
    """Fills as many buckets a row as `cells` has room for, from `start` ns on; row -1 stays empty. Gives the palette (32-bit
    sites) and the bars of at least `least` ns (`bars.NAMED`)."""
