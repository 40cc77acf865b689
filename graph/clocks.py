"""Columns of ticks to nanoseconds by a `ClockMap`, as its `monotonic_ns` does one number at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.records.clocks import ClockMap


def monotonic_ns(clock: ClockMap, ticks: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Monotonic nanoseconds, exact where a float of a segment's length is (a segment of two months)."""
    segments = clock.segments
    begins = np.array([segment.ticks for segment in segments], np.uint64)
    base = np.array([segment.ns for segment in segments], np.int64)
    rate = np.array([segment.rate for segment in segments])
    if len(segments) == 1:
        return _along(ticks - begins[0], base[0], rate[0])
    place = np.maximum(np.searchsorted(begins, ticks, "right") - 1, 0)
    return _along(ticks - begins[place], base[place], rate[place])


def _along(
    since: npt.NDArray[np.uint64], base: np.int64 | npt.NDArray[np.int64], rate: np.float64 | npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    # The difference wraps in 64 bits, so that ticks before the first segment give a negative number.
    signed = since.view(np.int64)
    if np.all(rate == 1.0):
        return signed + base
    result: npt.NDArray[np.int64] = np.rint(signed * rate).astype(np.int64) + base
    return result
