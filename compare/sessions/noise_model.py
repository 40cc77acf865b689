"""Test whether times of a few samples differ by more than their scatter, given many subjects of which most did not change.

A test has one time per session, so its own scatter is almost unknown. The scatter is estimated from all subjects of
similar size together (short times scatter more): from repetitions on either side, and from the median change between the
sides. The scatter of a subject itself counts in proportion to its samples (a moderated t test). Times are compared as
ratios, after the effects that all subjects of a run share are removed. Invariant: without evidence, no change is reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import F64, I64, benjamini_hochberg

ENOUGH = 20
"""The minimum number of subjects to estimate their scatter and the shared effect of a run."""
ASSUMED = 0.25
"""The assumed scatter of logarithms of times without data."""
FEWEST, MOST = 2.0, 30.0
"""The minimum and maximum degrees of freedom of the common distribution."""
NEAR = 60
"""The number of subjects of similar size whose scatter is estimated together."""
_STEP = NEAR // 6
_LEAST = 1e-6
_FEW = 4
_ROUNDS = 8


@dataclass(frozen=True)
class Scatter:
    """The changes and their noise as columns, one row per subject; NaN for a side without samples."""

    ratio: F64
    """The ratio of the geometric means, after to before, without the shared change."""
    low: F64
    high: F64
    """The bounds of the ratio at 95 %."""
    p: F64
    """The probability that the ratio is 1, corrected for all tested subjects."""
    within: F64
    """The ratio that chance may reach at 95 %: 1.2 for 20 % more or less."""
    shared: float
    """The shared change: the factor by which the median subject took longer after."""
    learnt: bool
    """Whether the scatter was estimated and not assumed."""
    repeated: bool
    """Whether subjects have several samples on a side."""
    tested: int


class Times(NamedTuple):
    """The samples as columns: subject, run, side, and time in ns."""

    subject: I64
    run: I64
    after: npt.NDArray[np.bool_]
    time: F64


def compare_times(times: Times, subjects: int, floor_ns: float) -> Scatter:
    """Compare times by subject.

    Subjects below `floor_ns` on both sides are not tested: their change would not matter, and each test makes the others
    less certain.
    """
    value = np.log(np.maximum(times.time, 1.0))
    effects = _effects(times, value, subjects)
    value = value - effects[times.run]
    side = times.after.astype(np.int64)
    count, mean, square = np.zeros((3, 2, subjects))
    np.add.at(count, (side, times.subject), 1)
    np.add.at(mean, (side, times.subject), value)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = mean / count
        parts = (1 / count).sum(0)
    np.add.at(square, (side, times.subject), (value - mean[side, times.subject]) ** 2)
    change, size = mean[1] - mean[0], (mean[0] + mean[1]) / 2
    places = np.flatnonzero(np.isfinite(change) & (mean.max(0) >= np.log(max(floor_ns, 1.0))))
    own = np.maximum(count - 1, 0).sum(0)
    found = Changes(change[places], parts[places], square.sum(0)[places], own[places], size[places])
    return judge(found, places, np.exp(change), _shared(times, effects))


class Changes(NamedTuple):
    """The tested subjects as columns: logarithms of ratios, sums of 1/n, own sums of squares and degrees of freedom, and
    sizes."""

    change: F64
    parts: F64
    square: F64
    own: F64
    size: F64


def judge(changes: Changes, places: I64, ratio: F64, shared: float) -> Scatter:
    """Test whether changes exceed chance. `places` are the rows of the subjects in the result."""
    from scipy.special import stdtr, stdtrit

    prior, learnt = _prior(changes)
    tails = _degrees_of_freedom(changes.change / np.sqrt(prior * changes.parts)) if len(places) >= ENOUGH else FEWEST
    # A few close samples are weak evidence against heavy tails, so they count less; samples far apart count fully.
    own = np.maximum(changes.own - _FEW, 0.0)
    freedom = tails + own
    with np.errstate(invalid="ignore"):
        close = (tails * prior + np.nan_to_num(changes.square / changes.own) * own) / freedom
    far = (tails * prior + changes.square) / (tails + changes.own)
    error = np.sqrt(np.maximum(close, far) * changes.parts)
    wide = stdtrit(freedom, 0.975) * error
    low, high, p, within = np.full((4, len(ratio)), np.nan)
    low[places], high[places] = np.exp(changes.change - wide), np.exp(changes.change + wide)
    p[places] = benjamini_hochberg(2 * stdtr(freedom, -np.abs(changes.change) / error))
    within[places] = np.exp(wide)
    return Scatter(ratio, low, high, p, within, shared, learnt, bool((changes.own > 0).any()), len(places))


def _effects(times: Times, value: F64, subjects: int) -> F64:
    """Return the shared effect of each run: the median deviation of its subjects from their means (median polish)."""
    runs = int(times.run.max(initial=-1)) + 1
    effects = np.zeros(runs)
    counts = np.bincount(times.subject, minlength=subjects)
    of_run = [np.flatnonzero(times.run == run) for run in range(runs)]
    for _ in range(_ROUNDS):
        rest = value - effects[times.run]
        mean = np.bincount(times.subject, rest, subjects) / np.maximum(counts, 1)
        deviation = rest - mean[times.subject]
        for run, samples in enumerate(of_run):
            shared = samples[counts[times.subject[samples]] > 1]
            if len(shared) >= ENOUGH:
                effects[run] += np.median(deviation[shared])
    return effects


def _shared(times: Times, effects: F64) -> float:
    sides = np.zeros(len(effects), bool)
    sides[times.run[times.after]] = True
    if not sides.any() or sides.all():
        return 1.0
    return float(np.exp(effects[sides].mean() - effects[~sides].mean()))


def _prior(changes: Changes) -> tuple[F64, bool]:
    """Return the variance of a single sample per subject, and whether it was estimated."""
    if len(changes.change) < ENOUGH:
        learnt = changes.own.sum() >= ENOUGH / 2
        return np.full(len(changes.change), changes.square.sum() / changes.own.sum() if learnt else ASSUMED**2), bool(
            learnt
        )
    order = np.argsort(changes.size, kind="stable")
    variance = np.zeros(len(order))
    for place in range(0, len(order), _STEP):
        begin = min(max(place + _STEP // 2 - NEAR // 2, 0), max(len(order) - NEAR, 0))
        near = order[begin : begin + NEAR]
        # The median of squared normal values is 0.4549 times their mean.
        across = np.median(changes.change[near] ** 2 / changes.parts[near]) / 0.4549
        repeats, within = near[changes.own[near] > 0], 0.0
        if len(repeats) >= ENOUGH / 2:
            own = changes.own[repeats]
            within = float(np.median(changes.square[repeats] / own / (1 - 2 / (9 * own)) ** 3))
        variance[order[place : place + _STEP]] = max(across, within, _LEAST)
    return variance, True


def _degrees_of_freedom(z: F64) -> float:
    """Return the degrees of freedom of the Student distribution whose |z| has the observed ratio of 95 % quantile to
    median."""
    from scipy.special import stdtrit

    target = float(np.quantile(np.abs(z), 0.95) / max(float(np.median(np.abs(z))), 1e-9))
    freedoms = np.linspace(FEWEST, MOST, 200)
    ratios = stdtrit(freedoms, 0.975) / stdtrit(freedoms, 0.75)
    return float(freedoms[int(np.argmin(np.abs(ratios - target)))])


def sessions_needed(within: float, share: float, before: int, after: int) -> int:
    """Return the minimum number of samples per side at which a change by `share` exceeds chance.

    With `before` and `after` samples, chance reaches the ratio `within`; it decreases with the square root of the number
    of samples.
    """
    narrower = math.log1p(share) / math.log(within)
    return max(math.ceil(2 / (narrower**2 * (1 / before + 1 / after)) - 1e-9), 1)
