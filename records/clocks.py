"""From a process's ticks to monotonic nanoseconds, by pairs of both clocks taken while it was recorded.

Invariant: the conversion is monotone and continuous, so it never changes an order that the ticks had. Cycle counters of one
machine run in step: all pairs of a boot make one map, which is shared by all processes recorded in that boot.
"""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections.abc import Iterable
from typing import NamedTuple

Pair = tuple[int, int]
"""Ticks and monotonic nanoseconds of one instant."""

KNOT_SPAN_NS = 10_000_000
"""Closer pairs make no segment of their own: 100 ns of error over 10 ms are a rate that is off by 0.001 %."""
_PLAUSIBLE = (0.1, 2.5)
"""Nanoseconds per cycle of processors between 400 MHz and 10 GHz; what lies outside is damage."""
_TOLERANCE_NS = 1_000_000
_TOLERANCE = 0.001
"""A pair further from the common line than 1 ms plus 0.1 % of its distance from the middle is damage; a clock that is being
set right drifts by half of that at most."""
_FAR_NS = 100_000_000
"""Pairs further apart weigh no more: they are exact already, and a damaged one must not outweigh the rest."""
_SAMPLES = 48
_GUESS = 0.4


class Segment(NamedTuple):
    """From `ticks` on, to the next segment's: `ns + (t - ticks) * rate`."""

    ticks: int
    ns: int
    rate: float


class ClockMap(NamedTuple):
    """Sorted segments. The first one also holds before its ticks, the last one for ever."""

    segments: tuple[Segment, ...]
    known: bool = True
    """False when the pairs did not fix a rate and it is a guess."""

    def monotonic_ns(self, ticks: int) -> int:
        place = bisect.bisect_right(self.segments, ticks, key=lambda segment: segment.ticks)
        ticks0, ns0, rate = self.segments[max(place - 1, 0)]
        return ns0 + (ticks - ticks0 if rate == 1.0 else round((ticks - ticks0) * rate))


MONOTONIC = ClockMap((Segment(0, 0, 1.0),))
"""For ticks that are nanoseconds already."""


def fit(pairs: Iterable[Pair]) -> ClockMap:
    """The map through pairs in any order, some of them possibly damaged. Never fails: see `ClockMap.known`."""
    ordered = sorted({(ticks, ns) for ticks, ns in pairs if ticks and ns})
    rate = _rate(ordered)
    if rate is None:
        first = ordered[0] if ordered else (0, 0)
        return ClockMap((Segment(*first, _GUESS),), known=False)
    good = _without_outliers(ordered, rate)
    knots = [good[0]]
    for ticks, ns in good[1:]:
        if ns - knots[-1][1] >= KNOT_SPAN_NS and ticks > knots[-1][0]:
            knots.append((ticks, ns))
    if len(knots) == 1:
        return ClockMap((Segment(*knots[0], rate),))
    segments = [
        Segment(ticks, ns, (next_ns - ns) / (next_ticks - ticks))
        for (ticks, ns), (next_ticks, next_ns) in itertools.pairwise(knots)
    ]
    return ClockMap((*segments, Segment(*knots[-1], rate)))


def _rate(ordered: list[Pair]) -> float | None:
    """The median slope between pairs (Theil and Sen), weighted by their distance; None when no two give one."""
    step = max(1, len(ordered) // _SAMPLES)
    slopes = []
    for (ticks, ns), (later_ticks, later_ns) in itertools.combinations(ordered[::step] + ordered[-1:], 2):
        if later_ticks > ticks and later_ns > ns:
            slope = (later_ns - ns) / (later_ticks - ticks)
            if _PLAUSIBLE[0] <= slope <= _PLAUSIBLE[1]:
                slopes.append((slope, min(later_ns - ns, _FAR_NS)))
    half = sum(weight for _, weight in slopes) / 2
    for slope, weight in sorted(slopes):
        half -= weight
        if half <= 0:
            return slope
    return None


def _without_outliers(ordered: list[Pair], rate: float) -> list[Pair]:
    offsets = [ns - round(ticks * rate) for ticks, ns in ordered]
    middle = statistics.median_low(offsets)
    centre = ordered[offsets.index(middle)][1]
    return [
        (ticks, ns)
        for (ticks, ns), offset in zip(ordered, offsets, strict=True)
        if abs(offset - middle) <= _TOLERANCE_NS + _TOLERANCE * abs(ns - centre)
    ]
