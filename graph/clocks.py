"""Columns of ticks to nanoseconds by a `ClockMap`, as its `monotonic_ns` does one number at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.walks import in_c, walks
from clew.records.clocks import ClockMap

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


def monotonic_ns(clock: ClockMap, ticks: U64) -> I64:
    """Monotonic nanoseconds, exact where a float of a segment's length is (a segment of two months)."""
    if not in_c:
        return by_columns(clock, ticks)
    found = np.empty(len(ticks), np.int64)
    walks.nanoseconds(ticks, *_segments(clock), found)
    return found


def by_columns(clock: ClockMap, ticks: U64) -> I64:
    """The same in numpy."""
    begin, base, rate = _segments(clock)
    place = np.maximum(np.searchsorted(begin, ticks, "right") - 1, 0)
    # The difference wraps in 64 bits, so that ticks before the first segment give a negative number.
    since = (ticks - begin[place]).view(np.int64)
    scaled = since * rate[place]
    far = ~(np.abs(scaled) < 9.2e18)  # a damaged record's
    passed = np.where(far, np.iinfo(np.int64).min, np.rint(np.where(far, 0, scaled)).astype(np.int64))
    return np.where(rate[place] == 1.0, since, passed) + base[place]


def _segments(clock: ClockMap) -> tuple[U64, I64, npt.NDArray[np.float64]]:
    begin = np.array([segment.ticks for segment in clock.segments], np.uint64)
    base = np.array([segment.ns for segment in clock.segments], np.int64)
    return begin, base, np.array([segment.rate for segment in clock.segments], np.float64)
