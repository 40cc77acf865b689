"""Whether a test waits longer than before, by more than waiting varies by itself.

On a busy machine everything now and then waits for the processor, a few milliseconds or many, so that ratios tell nothing and
no distribution fits. What waiting varies by itself is therefore taken from what it did vary: of tests of about one length, from
repeated sessions of a side, or, where there is none, by how much others wait *less* than before. Invariant: what is named
exceeds all of that by a margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.compare.sessions.noise_model import ENOUGH, Times
from clew.compare.stats.tests import F64

NEAR = 200
"""So many subjects of about one length tell each other's variation."""
SHARE = 0.25
"""What waits long (for a program that it started) may by itself wait longer by this share, whatever others tell,"""
ASSUMED_NS = 20e6
"""and where too few tell, by such a share of all it takes, and by as much as the processor may be others' for a while."""


@dataclass(frozen=True)
class Waits:
    """Columns, a row per subject, ns; NaN where a side has no sample."""

    before: F64
    after: F64
    """Medians over sessions."""
    by_chance: F64
    """How much longer it may wait by itself."""
    tested: int


def compare_waits(times: Times, length: F64, subjects: int) -> Waits:
    """`times` are waiting times; `length` is per subject how long it takes."""
    sides: list[list[list[float]]] = [[[] for _ in range(subjects)] for _ in range(2)]
    for subject, after, time in zip(times.subject.tolist(), times.after.tolist(), times.time.tolist(), strict=True):
        sides[after][subject].append(time)
    before, after = (np.array([float(np.median(mine)) if mine else np.nan for mine in side]) for side in sides)
    both = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    varied = [_varied(sides[0][subject]) + _varied(sides[1][subject]) for subject in both.tolist()]
    if not any(varied):
        varied = [[max(change, 0.0)] for change in (before[both] - after[both]).tolist()]
    by_chance = np.full(subjects, np.nan)
    order = np.argsort(length[both], kind="stable")
    flat = np.array([value for other in order.tolist() for value in varied[other]])
    first = np.concatenate(([0], np.cumsum([len(varied[other]) for other in order.tolist()]))).astype(np.int64)
    for place, at in enumerate(order.tolist()):
        begin = min(max(place - NEAR // 2, 0), max(len(order) - NEAR, 0))
        near = flat[first[begin] : first[min(begin + NEAR, len(order))]]
        least = SHARE * before[both[at]]
        if len(near) < ENOUGH:
            least = max(least, SHARE * length[both[at]], ASSUMED_NS)
        by_chance[both[at]] = near.max(initial=least)
    return Waits(before, after, by_chance, len(both))


def _varied(values: list[float]) -> list[float]:
    """By how much each of several exceeds the others' median."""
    return [
        max(value - float(np.median(values[:place] + values[place + 1 :])), 0.0)
        for place, value in enumerate(values)
        if len(values) > 1
    ]
