"""Find tests that wait longer than before, by more than the natural variation of waiting.

On a busy machine every test occasionally waits for the processor, from a few to many milliseconds, so ratios are
meaningless and no distribution fits. Therefore the natural variation is taken from the data: from repeated sessions of a
side, or else from the tests that wait *less* than before, always among tests of similar length. Invariant: a reported
increase exceeds this variation by a margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.compare.sessions.noise_model import ENOUGH, Times
from clew.compare.stats.tests import F64

NEAR = 200
"""The number of subjects of similar length whose variation is used together."""
SHARE = 0.25
"""The minimum variation, as a share of a subject's waiting: a long wait (such as for a started program) may vary by this
much."""
ASSUMED_NS = 20e6
"""The minimum variation with too little data, in ns: the time for which other processes may use the processor. The share
then applies to the whole duration."""


@dataclass(frozen=True)
class Waits:
    """The waiting times as columns in ns, one row per subject; NaN for a side without samples."""

    before: F64
    after: F64
    """The medians over sessions."""
    by_chance: F64
    """The possible increase without a change."""
    tested: int


def compare_waits(times: Times, length: F64, subjects: int) -> Waits:
    """Compare waiting times; `length` is the duration of each subject."""
    sides: list[list[list[float]]] = [[[] for _ in range(subjects)] for _ in range(2)]
    for subject, after, time in zip(times.subject.tolist(), times.after.tolist(), times.time.tolist(), strict=True):
        sides[after][subject].append(time)
    before, after = (np.array([float(np.median(waits)) if waits else np.nan for waits in side]) for side in sides)
    both = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    excesses = [_excesses(sides[0][subject]) + _excesses(sides[1][subject]) for subject in both.tolist()]
    if not any(excesses):
        excesses = [[max(change, 0.0)] for change in (before[both] - after[both]).tolist()]
    by_chance = np.full(subjects, np.nan)
    order = np.argsort(length[both], kind="stable")
    flat = np.array([value for other in order.tolist() for value in excesses[other]])
    first = np.concatenate(([0], np.cumsum([len(excesses[other]) for other in order.tolist()]))).astype(np.int64)
    for place, at in enumerate(order.tolist()):
        begin = min(max(place - NEAR // 2, 0), max(len(order) - NEAR, 0))
        near = flat[first[begin] : first[min(begin + NEAR, len(order))]]
        least = SHARE * before[both[at]]
        if len(near) < ENOUGH:
            least = max(least, SHARE * length[both[at]], ASSUMED_NS)
        by_chance[both[at]] = near.max(initial=least)
    return Waits(before, after, by_chance, len(both))


def _excesses(values: list[float]) -> list[float]:
    """Return by how much each value exceeds the median of the others."""
    return [
        max(value - float(np.median(values[:place] + values[place + 1 :])), 0.0)
        for place, value in enumerate(values)
        if len(values) > 1
    ]
