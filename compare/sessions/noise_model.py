"""Whether times of a few samples differ by more than they scatter, where most of many subjects have not changed.

A test has one time in each session, so that its own scatter is hardly known. How much times scatter is learnt from all of them
together, by their size (short ones scatter more), from repetitions on either side and from what changed from one side to the
other at the median; a subject's own scatter counts as far as it has samples (a moderated t test). Times are compared by their
ratios, after what all of a run have in common is taken out. Invariant: a change is called none where nothing tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import F64, I64, benjamini_hochberg

ENOUGH = 20
"""Of fewer subjects neither their scatter nor what a run has in common is learnt."""
ASSUMED = 0.25
"""The scatter of logarithms of times where nothing tells."""
FEWEST, MOST = 2.0, 30.0
"""Degrees of freedom that the tails of all may stand for."""
NEAR = 60
"""So many subjects of about one size tell each other's scatter."""
_STEP = NEAR // 6
_LEAST = 1e-6
_FEW = 4
_ROUNDS = 8


@dataclass(frozen=True)
class Scatter:
    """Columns, a row per subject; NaN where a side has no sample."""

    ratio: F64
    """Of the geometric means, after to before, without what all have in common."""
    low: F64
    high: F64
    """The bounds that it lies in, at 95 %."""
    p: F64
    """That it is 1, corrected for all subjects that were tested."""
    within: F64
    """What the ratio may be by chance, at 95 %: 1.2 for a fifth more or less."""
    shared: float
    """What all have in common: how many times as long the median subject took after."""
    learnt: bool
    """The scatter was learnt, not assumed."""
    repeated: bool
    """There are several samples of subjects on a side."""
    tested: int


class Times(NamedTuple):
    """Samples as columns: whose, of which run, of which side, how long in ns."""

    subject: I64
    run: I64
    after: npt.NDArray[np.bool_]
    time: F64


def compare_times(times: Times, subjects: int, floor_ns: float) -> Scatter:
    """Subjects that take less than `floor_ns` on both sides are not tested: their change could not matter, and each
    test makes the others less sure."""
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
    """Of subjects that are tested: logarithms of ratios, sums of 1/n, squares and degrees of freedom of their own, sizes."""

    change: F64
    parts: F64
    square: F64
    own: F64
    size: F64


def judge(of: Changes, places: I64, ratio: F64, shared: float) -> Scatter:
    """Whether changes are more than chance; `places` are those of their subjects in the columns of the answer."""
    from scipy.special import stdtr, stdtrit

    prior, learnt = _prior(of)
    tails = _freedom(of.change / np.sqrt(prior * of.parts)) if len(places) >= ENOUGH else FEWEST
    # A few samples that happen to lie close say little against tails like these; that they lie far apart is taken as it is.
    own = np.maximum(of.own - _FEW, 0.0)
    freedom = tails + own
    with np.errstate(invalid="ignore"):
        close = (tails * prior + np.nan_to_num(of.square / of.own) * own) / freedom
    far = (tails * prior + of.square) / (tails + of.own)
    error = np.sqrt(np.maximum(close, far) * of.parts)
    wide = stdtrit(freedom, 0.975) * error
    low, high, p, within = np.full((4, len(ratio)), np.nan)
    low[places], high[places] = np.exp(of.change - wide), np.exp(of.change + wide)
    p[places] = benjamini_hochberg(2 * stdtr(freedom, -np.abs(of.change) / error))
    within[places] = np.exp(wide)
    return Scatter(ratio, low, high, p, within, shared, learnt, bool((of.own > 0).any()), len(places))


def _effects(times: Times, value: F64, subjects: int) -> F64:
    """Per run what its subjects have in common: the median of how they deviate from their means (median polish)."""
    runs = int(times.run.max(initial=-1)) + 1
    effects = np.zeros(runs)
    many = np.bincount(times.subject, minlength=subjects)
    of_run = [np.flatnonzero(times.run == run) for run in range(runs)]
    for _ in range(_ROUNDS):
        rest = value - effects[times.run]
        mean = np.bincount(times.subject, rest, subjects) / np.maximum(many, 1)
        deviation = rest - mean[times.subject]
        for run, samples in enumerate(of_run):
            shared = samples[many[times.subject[samples]] > 1]
            if len(shared) >= ENOUGH:
                effects[run] += np.median(deviation[shared])
    return effects


def _shared(times: Times, effects: F64) -> float:
    sides = np.zeros(len(effects), bool)
    sides[times.run[times.after]] = True
    if not sides.any() or sides.all():
        return 1.0
    return float(np.exp(effects[sides].mean() - effects[~sides].mean()))


def _prior(of: Changes) -> tuple[F64, bool]:
    """The variance of a single sample, by subject, and whether it was learnt."""
    if len(of.change) < ENOUGH:
        learnt = of.own.sum() >= ENOUGH / 2
        return np.full(len(of.change), of.square.sum() / of.own.sum() if learnt else ASSUMED**2), bool(learnt)
    order = np.argsort(of.size, kind="stable")
    variance = np.zeros(len(order))
    for place in range(0, len(order), _STEP):
        begin = min(max(place + _STEP // 2 - NEAR // 2, 0), max(len(order) - NEAR, 0))
        near = order[begin : begin + NEAR]
        # The median of squares that are normal is 0.4549 of their mean.
        across = np.median(of.change[near] ** 2 / of.parts[near]) / 0.4549
        repeats, within = near[of.own[near] > 0], 0.0
        if len(repeats) >= ENOUGH / 2:
            own = of.own[repeats]
            within = float(np.median(of.square[repeats] / own / (1 - 2 / (9 * own)) ** 3))
        variance[order[place : place + _STEP]] = max(across, within, _LEAST)
    return variance, True


def _freedom(z: F64) -> float:
    """How heavy the tails are: of which Student distribution the 95 % quantile is as far beyond the median as that of |z|."""
    from scipy.special import stdtrit

    wanted = float(np.quantile(np.abs(z), 0.95) / max(float(np.median(np.abs(z))), 1e-9))
    freedoms = np.linspace(FEWEST, MOST, 200)
    ratios = stdtrit(freedoms, 0.975) / stdtrit(freedoms, 0.75)
    return float(freedoms[int(np.argmin(np.abs(ratios - wanted)))])


def sessions_needed(within: float, share: float, before: int, after: int) -> int:
    """How many samples a side it takes at least until a change by a share is more than chance, where so many on either side let
    chance reach the ratio `within`: chance shrinks by the root of their number."""
    narrower = math.log1p(share) / math.log(within)
    return max(math.ceil(2 / (narrower**2 * (1 / before + 1 / after)) - 1e-9), 1)
