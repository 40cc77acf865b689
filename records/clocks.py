"""From a process's ticks to monotonic nanoseconds, by pairs of both clocks taken while it was recorded.

Invariant: the conversion is monotone and continuous, so it never changes an order that the ticks had. Cycle counters of one
machine run in step: all pairs of a boot make one map, which is shared by all processes recorded in that boot.
"""

import bisect
import itertools
from collections.abc import Iterable

from clew.records.tuples import NamedTuple

Pair = tuple[int, int]
"""Ticks and monotonic nanoseconds of one instant."""

KNOT_SPAN_NS = 10_000_000
"""Closer pairs make no segment of their own: 100 ns of error over 10 ms are a rate that is off by 0.001 %."""
_PLAUSIBLE = (0.1, 2.5)
"""Nanoseconds per cycle of processors between 400 MHz and 10 GHz; what lies outside is damage."""
_TOLERANCE_NS = 1_000_000
_TOLERANCE = 0.001
"""A pair further from the line through another than 1 ms plus 0.1 % of their distance is not in line with it; a clock that
is being set right drifts by half of that at most."""
_FAR_NS = 100_000_000
"""Pairs further apart weigh no more: they are exact already, and a damaged one must not outweigh the rest."""
_SAMPLES = 48
_NEAR = 4
_SEARCHED = 8
"""Groups of pairs in line that the next pair may belong to: the latest, and those that damaged pairs made meanwhile."""
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
    knots: list[Pair] = []
    for ticks, ns in itertools.chain.from_iterable(_knots(group, rate) for group in _groups(ordered, rate)):
        if not knots or (ticks > knots[-1][0] and ns >= knots[-1][1]):
            knots.append((ticks, ns))
    segments = [
        Segment(ticks, ns, (next_ns - ns) / (next_ticks - ticks))
        for (ticks, ns), (next_ticks, next_ns) in itertools.pairwise(knots)
    ]
    return ClockMap((*segments, Segment(*knots[-1], rate)))


def _rate(ordered: list[Pair]) -> float | None:
    """The median slope between pairs (Theil and Sen), weighted by their distance; None when no two give one."""
    step = max(1, len(ordered) // _SAMPLES)
    slopes = []
    sample = ordered[::step] + ordered[-1:]
    # Not of any two: between some the machine may have been suspended.
    near = (
        pairs for place, pair in enumerate(sample) for pairs in zip(itertools.repeat(pair), sample[place + 1 :][:_NEAR])
    )
    for (ticks, ns), (later_ticks, later_ns) in near:
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


def _groups(ordered: list[Pair], rate: float) -> list[list[Pair]]:
    """Pairs in line with each other, damaged ones left out. There is more than one group where the machine was suspended:
    its counter went on and its clock stood still. One pair alone tells of no such thing."""
    groups: list[list[Pair]] = []
    for pair in ordered:
        nearest = _nearest(groups[-_SEARCHED:], pair, rate)
        if nearest:
            nearest.append(pair)
        else:
            groups.append([pair])
    middle = groups.index(max(groups, key=len))
    found = [groups[middle]]
    for group in groups[middle + 1 :]:
        if len(group) > 1 and _follows(found[-1], group):
            found.append(group)
    for group in reversed(groups[:middle]):
        if len(group) > 1 and _follows(group, found[0]):
            found.insert(0, group)
    return found


def _lag(before: Pair, after: Pair, rate: float) -> int:
    """By how many ns the clock fell behind the counter between two pairs."""
    return round((after[0] - before[0]) * rate) - (after[1] - before[1])


def _nearest(groups: list[list[Pair]], pair: Pair, rate: float) -> list[Pair]:
    """The group that the pair is most in line with, so that one damaged pair beside the line does not take on all that
    follow; empty for a pair that is in line with none."""
    nearest = min(reversed(groups), key=lambda group: abs(_lag(group[-1], pair, rate)), default=[])
    in_line = nearest and abs(_lag(nearest[-1], pair, rate)) <= _TOLERANCE_NS + _TOLERANCE * abs(
        pair[1] - nearest[-1][1]
    )
    return nearest if in_line else []


def _follows(before: list[Pair], after: list[Pair]) -> bool:
    return before[-1][0] < after[0][0] and before[-1][1] <= after[0][1]


def _knots(group: list[Pair], rate: float) -> list[Pair]:
    """From a group's first pair to its last."""
    knots = [group[0]]
    for ticks, ns in group[1:]:
        if ns - knots[-1][1] >= KNOT_SPAN_NS and ticks > knots[-1][0]:
            knots.append((ticks, ns))
    ticks, ns = knots[-1]
    last = group[-1][0]
    return [*knots, (last, ns + round((last - ticks) * rate))]
