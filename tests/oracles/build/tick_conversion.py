"""Reference implementation of the conversion of ticks to nanoseconds in numpy."""

from __future__ import annotations

import numpy as np

from clew.graph.build.tick_conversion import I64, U64, _segments
from clew.records.read.clock_map import ClockMap


def by_columns(clock: ClockMap, ticks: U64) -> I64:
    """Return the result of `tick_conversion.monotonic_ns`."""
    begin, base, rate = _segments(clock)
    place = np.maximum(np.searchsorted(begin, ticks, "right") - 1, 0)
    # The difference wraps in 64 bits, so that ticks before the first segment give a negative number.
    since = (ticks - begin[place]).view(np.int64)
    scaled = since * rate[place]
    far = ~(np.abs(scaled) < 9.2e18)  # a damaged record's
    passed = np.where(far, np.iinfo(np.int64).min, np.rint(np.where(far, 0, scaled)).astype(np.int64))
    return np.where(rate[place] == 1.0, since, passed) + base[place]
