"""Convert a process's ticks to monotonic nanoseconds, by pairs of both clocks recorded with the events.

Invariant: the conversion is monotone and continuous, so it preserves the order of ticks. The cycle counters of one
machine are synchronous: all pairs of a boot make one map, which all processes recorded in that boot share.
"""

import bisect
import itertools
from collections.abc import Iterable

from clew.records.fast_namedtuple import NamedTuple

Pair = tuple[int, int]
"""Ticks and monotonic nanoseconds of one instant."""

KNOT_SPAN_NS = 10_000_000
"""Minimum span of a segment: 100 ns of error over 10 ms change the rate by 0.001 %."""
_PLAUSIBLE = (0.1, 2.5)
"""Nanoseconds per cycle of processors between 400 MHz and 10 GHz; other values are damage."""
_TOLERANCE_NS = 1_000_000
_TOLERANCE = 0.001
"""Maximum distance of a pair from the line through another: 1 ms plus 0.1 % of their distance. A clock under correction
drifts by at most half of that."""
_FAR_NS = 100_000_000
"""Maximum weight of distance: pairs further apart are exact already, and a damaged pair must not outweigh the rest."""
_SAMPLES = 48
_NEAR = 4
_SEARCHED = 8
"""Number of groups of collinear pairs that the next pair may belong to: the latest ones, including those of damaged
pairs."""
_GUESS = 0.4


class Segment(NamedTuple):
    """A segment from `ticks` to the next segment's: `ns + (t - ticks) * rate`."""

    ticks: int
    ns: int
    rate: float


class ClockMap(NamedTuple):
    """Sorted segments. The first one also applies before its ticks, the last one without end."""

    segments: tuple[Segment, ...]
    known: bool = True
    """False when the pairs do not determine the rate, which is then a guess."""

    def monotonic_ns(self, ticks: int) -> int:
        place = bisect.bisect_right(self.segments, ticks, key=lambda segment: segment.ticks)
        ticks0, ns0, rate = self.segments[max(place - 1, 0)]
        return ns0 + (ticks - ticks0 if rate == 1.0 else round((ticks - ticks0) * rate))


MONOTONIC = ClockMap((Segment(0, 0, 1.0),))
"""The map for ticks that already are nanoseconds."""


def fit(pairs: Iterable[Pair]) -> ClockMap:
    """Fit a map to pairs in any order, some of them possibly damaged. Never fails: see `ClockMap.known`."""
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
    """Return the median slope between pairs (Theil and Sen), weighted by their distance; None when no two pairs
    determine one."""
    step = max(1, len(ordered) // _SAMPLES)
    slopes = []
    sample = ordered[::step] + ordered[-1:]
    # Compare only near pairs, because the machine may have been suspended between distant ones.
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
    """Group collinear pairs, without damaged ones.

    There are several groups if the machine was suspended: its counter advanced while its clock stood still. A single
    pair does not show a suspension.
    """
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
    """Return by how many ns the clock fell behind the counter between two pairs."""
    return round((after[0] - before[0]) * rate) - (after[1] - before[1])


def _nearest(groups: list[list[Pair]], pair: Pair, rate: float) -> list[Pair]:
    """Return the group with the smallest distance to the pair, so that a damaged pair next to the line does not attract
    the following ones; empty if no group fits."""
    nearest = min(reversed(groups), key=lambda group: abs(_lag(group[-1], pair, rate)), default=[])
    in_line = nearest and abs(_lag(nearest[-1], pair, rate)) <= _TOLERANCE_NS + _TOLERANCE * abs(
        pair[1] - nearest[-1][1]
    )
    return nearest if in_line else []


def _follows(before: list[Pair], after: list[Pair]) -> bool:
    return before[-1][0] < after[0][0] and before[-1][1] <= after[0][1]


def _knots(group: list[Pair], rate: float) -> list[Pair]:
    """Return the knots from a group's first pair to its last."""
    knots = [group[0]]
    for ticks, ns in group[1:]:
        if ns - knots[-1][1] >= KNOT_SPAN_NS and ticks > knots[-1][0]:
            knots.append((ticks, ns))
    ticks, ns = knots[-1]
    last = group[-1][0]
    return [*knots, (last, ns + round((last - ticks) * rate))]
