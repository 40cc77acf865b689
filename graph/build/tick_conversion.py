"""Converts columns of ticks to nanoseconds, as `ClockMap.monotonic_ns` does for single values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.records.read.clock_map import ClockMap

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


def monotonic_ns(clock: ClockMap, ticks: U64) -> I64:
    """Return monotonic nanoseconds, exact while a float represents a segment's length exactly (up to two months)."""
    found = np.empty(len(ticks), np.int64)
    kernels.nanoseconds(ticks, *_segments(clock), found)
    return found


def _segments(clock: ClockMap) -> tuple[U64, I64, npt.NDArray[np.float64]]:
    begin = np.array([segment.ticks for segment in clock.segments], np.uint64)
    base = np.array([segment.ns for segment in clock.segments], np.int64)
    return begin, base, np.array([segment.rate for segment in clock.segments], np.float64)
