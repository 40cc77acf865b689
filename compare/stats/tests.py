"""Compute statistics of many pairs of samples at once, one pair per category: tests, probabilities and effect sizes.

Samples are *ragged*: all values in one array, group after group. Invariants: each statistic equals scipy's if scipy has
it, without the cost of its import; ties count as ties; a group without values has NaN, never an invented number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

EXACT_PAIRS = 40_000
"""Maximum number of pairs of values (with up to `EXACT_VALUES` values) for the exact Kolmogorov–Smirnov test."""
EXACT_VALUES = 1_000
TAIL = 0.1
"""The share of all values that forms the upper tail."""
EXACT_RANKS = 400
"""Maximum number of pairs of values without ties for the exact Mann–Whitney test."""
SHIFT_PAIRS = 40_000
"""The maximum number of pairs of values for the exact median difference; with more, evenly spaced quantiles are used."""


@dataclass(frozen=True)
class Samples:
    """Ragged samples: group i consists of `values[first[i]:first[i + 1]]`."""

    values: F64
    first: I64

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def sizes(self) -> I64:
        return self.first[1:] - self.first[:-1]

    @property
    def groups(self) -> I64:
        """Return the group of each value."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def of(self, group: int) -> F64:
        return self.values[self.first[group] : self.first[group + 1]]

    def take(self, groups: I64) -> Samples:
        sizes = self.sizes[groups]
        first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        return Samples(self.values[expand(self.first[groups], self.first[groups + 1])], first)

    def means(self) -> F64:
        sums = np.bincount(self.groups, self.values, minlength=len(self))
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(self.sizes > 0, sums / self.sizes, np.nan))


def by_group(values: npt.NDArray[np.number], group: npt.NDArray[np.integer], groups: int) -> Samples:
    """Return the values as samples, sorted by group."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(groups + 1))
    return Samples(values[order].astype(np.float64), first.astype(np.int64))


def spaced(count: int, most: int) -> I64:
    """Return at most `most` evenly spaced indices."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)) if count else np.zeros(0, np.int64)


class _Mixed(NamedTuple):
    """The values of both samples of each group, in ascending order."""

    group: I64
    is_after: npt.NDArray[np.bool_]
    first: I64
    ends: npt.NDArray[np.bool_]
    """Whether the next value differs or belongs to another group."""


def _mix(before: Samples, after: Samples) -> _Mixed:
    """Merge both samples of each group in ascending order."""
    if len(before) != len(after):
        raise ValueError("before and after must have the same number of groups")
    values = np.concatenate((before.values, after.values))
    group = np.concatenate((before.groups, after.groups))
    is_after = np.arange(len(values)) >= len(before.values)
    order = np.lexsort((values, group))
    values, group = values[order], group[order]
    ends = np.ones(len(values), bool)
    ends[:-1] = (values[1:] != values[:-1]) | (group[1:] != group[:-1])
    return _Mixed(group, is_after[order], before.first + after.first, ends)


# Kolmogorov and Smirnov


class Test(NamedTuple):
    """A test statistic and its probability, per group."""

    statistic: F64
    p: F64


def ks_slower(before: Samples, after: Samples) -> Test:
    """Test per group whether the values after are larger (one-sided two-sample Kolmogorov–Smirnov).

    The statistic is the largest lead of the distribution before. p is exact for small samples,
    otherwise Hodges' approximation; NaN if a sample is empty."""
    mixed = _mix(before, after)
    n, m = before.sizes, after.sizes
    steps = np.where(mixed.is_after, -n[mixed.group], m[mixed.group])
    lead = np.concatenate(([0], np.cumsum(steps)))
    height = lead[1:] - lead[mixed.first[mixed.group]]
    top = np.zeros(len(n), np.int64)
    np.maximum.at(top, mixed.group[mixed.ends], height[mixed.ends])
    some = (n > 0) & (m > 0)
    pairs = np.maximum(n * m, 1)
    statistic = np.where(some, top / pairs, np.nan)
    p = _ks_approximately(n, m, statistic)
    exact = some & (pairs <= EXACT_PAIRS) & (n + m <= EXACT_VALUES)
    for at in np.flatnonzero(exact).tolist():
        p[at] = _ks_exactly(int(min(n[at], m[at])), int(max(n[at], m[at])), int(top[at]))
    return Test(statistic, p)


def _ks_approximately(n: I64, m: I64, statistic: F64) -> F64:
    large, small = np.maximum(n, m).astype(np.float64), np.minimum(n, m).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.sqrt(large * small / (large + small)) * statistic
        skew = 2 * z * (large + 2 * small) / np.sqrt(large * small * (large + small)) / 3
        return np.asarray(np.clip(np.exp(-2 * z**2 - skew), 0, 1))


@lru_cache(1 << 12)
def _ks_exactly(n: int, m: int, top: int) -> float:
    """Count the mixtures of n and m values that reach a lead of at least `top` (in units of 1 / nm).

    Mixtures are paths on a grid, counted row by row; a path that crossed the line once stays counted. The result is symmetric
    in n and m."""
    if top <= 0:
        return 1.0
    counted = np.zeros(m + 1)
    every = np.ones(m + 1)
    for row in range(1, n + 1):
        # Count all paths to the points of the row, and the paths that crossed the line.
        every = np.cumsum(every)
        beyond = (row * m - top) // n if row * m >= top else -1
        counted[: beyond + 1] = every[: beyond + 1]
        start = counted[beyond] if beyond >= 0 else 0.0
        counted[beyond + 1 :] = start + np.cumsum(counted[beyond + 1 :])
    return float(min(counted[m] / every[m], 1.0))


# The upper tail


def tail_slower(before: Samples, after: Samples) -> Test:
    """Test per group whether the upper tail of both samples contains more values from after than expected by chance.

    The tail is the largest tenth, plus values equal to its smallest. It reveals a few much slower requests, which the
    Kolmogorov–Smirnov test detects only slowly. The statistic is the number of values from after; p is exact
    (hypergeometric), NaN if a sample is empty."""
    from scipy.special import gammaln

    mixed = _mix(before, after)
    n, m = before.sizes, after.sizes
    total = n + m
    some = (n > 0) & (m > 0)
    # Find the start of the tail; values equal to its smallest belong to it.
    begin = mixed.first[:-1] + total - np.ceil(TAIL * total).astype(np.int64)
    starts = np.concatenate(([True], mixed.ends[:-1])) if len(mixed.ends) else mixed.ends
    value_begin = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    begin[some] = value_begin[begin[some]]
    from_after = np.concatenate(([0], np.cumsum(mixed.is_after)))
    last = mixed.first[1:]
    found = np.where(some, from_after[last] - from_after[np.where(some, begin, 0)], 0)
    size = np.where(some, last - begin, 0)
    # Sum over the possible numbers of values from after in the tail that are at least the observed one.
    terms = np.where(some, np.minimum(size, m) - found + 1, 0)
    group = np.repeat(np.arange(len(n)), terms)
    number = found[group] + np.arange(len(group)) - np.repeat(np.cumsum(terms) - terms, terms)

    def ways(of: I64, chosen: I64) -> F64:
        return np.asarray(gammaln(of + 1.0) - gammaln(chosen + 1.0) - gammaln(of - chosen + 1.0))

    other = size[group] - number
    possible = other <= n[group]
    logs = ways(m[group], number) + ways(n[group], np.where(possible, other, 0)) - ways(total[group], size[group])
    p = np.bincount(group, np.where(possible, np.exp(logs), 0.0), minlength=len(n))
    return Test(np.where(some, found, np.nan).astype(np.float64), np.where(some, np.minimum(p, 1.0), np.nan))


def p_not_slower(before: Samples, after: Samples) -> F64:
    """Return per group the probability that values after are not larger.

    It is the smaller of the p of the whole distribution and of its upper tail, corrected for two tests."""
    both = np.fmin(ks_slower(before, after).p, tail_slower(before, after).p)
    return np.asarray(np.minimum(2 * both, 1.0))


# Mann and Whitney


class Ranked(NamedTuple):
    """The result of the Mann–Whitney test per group."""

    u: F64
    """Number of pairs with the larger value after; ties count half."""
    p: F64
    """Two-sided probability."""
    delta: F64
    """Cliff's delta: the share of pairs that are larger after minus the share that are smaller, from -1 to 1."""


def mann_whitney(before: Samples, after: Samples) -> Ranked:
    """Test each group; ties have their mean rank. p is exact for small samples without ties, otherwise the normal approximation
    with correction for ties and continuity."""
    mixed = _mix(before, after)
    n, m = before.sizes.astype(np.float64), after.sizes.astype(np.float64)
    total = n + m
    place = np.arange(len(mixed.group))
    tie: I64 = np.cumsum(mixed.ends) - mixed.ends
    last = np.flatnonzero(mixed.ends)
    length = np.diff(np.concatenate(([-1], last))).astype(np.float64)
    rank = (
        (last[tie] - (length[tie] - 1) / 2) - mixed.first[mixed.group] + 1 if len(place) else place.astype(np.float64)
    )
    ranks = np.bincount(mixed.group, np.where(mixed.is_after, rank, 0.0), minlength=len(n))
    u = ranks - m * (m + 1) / 2
    ties = np.bincount(mixed.group[last], length**3 - length, minlength=len(n))
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(n * m / 12 * (total + 1 - ties / (total * (total - 1))))
        z = (np.maximum(u, n * m - u) - n * m / 2 - 0.5) / spread
        delta = 2 * u / (n * m) - 1
    p = np.clip(2 * normal_above(z), 0, 1)
    some = (n > 0) & (m > 0)
    # All values are equal.
    p = np.where(some & (spread == 0), 1.0, p)
    for at in np.flatnonzero(some & (ties == 0) & (n * m <= EXACT_RANKS)).tolist():
        p[at] = _u_exactly(int(n[at]), int(m[at]), round(float(max(u[at], n[at] * m[at] - u[at]))))
    return Ranked(np.where(some, u, np.nan), np.where(some, p, np.nan), np.where(some, delta, np.nan))


@lru_cache(1 << 12)
def _u_exactly(n: int, m: int, u: int) -> float:
    """Return the two-sided probability of a U as extreme as `u`, if all rankings are equally likely."""
    ways = _rankings(min(n, m), max(n, m))
    return float(min(2 * ways[u:].sum() / ways.sum(), 1.0))


@lru_cache(1 << 8)
def _rankings(n: int, m: int) -> F64:
    """Return the number of rankings by U: the coefficients of the Gaussian binomial of n + m over n."""
    ways = np.zeros(n * m + n + m + 2)
    ways[0] = 1.0
    for factor in range(1, n + 1):
        # Times (1 - x^(m + factor)), divided by (1 - x^factor).
        high = m + factor
        ways[high:] = ways[high:] - ways[:-high].copy()
        for rest in range(factor):
            ways[rest::factor] = np.cumsum(ways[rest::factor])
    return ways[: n * m + 1]


def normal_above(z: F64) -> F64:
    """Return the probability that a standard normal number is larger."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


# Many tests


def benjamini_hochberg(p: F64) -> F64:
    """Correct probabilities for multiple tests: rejecting those below alpha gives at most about that share of false
    findings. NaN means untested."""
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


# Effects


class Shift(NamedTuple):
    """The median of all differences after - before per group (Hodges and Lehmann), and its bounds."""

    median: F64
    low: F64
    high: F64


def shifts(before: Samples, after: Samples, confidence: float = 0.95) -> Shift:
    """Return the shift per group and its bounds, which are order statistics of the differences; NaN if a sample is empty."""
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    found = np.full((3, len(before)), np.nan)
    for group in np.flatnonzero((before.sizes > 0) & (after.sizes > 0)).tolist():
        one, other = before.of(group), after.of(group)
        n, m = len(one), len(other)
        # The share of all pairs that the bounds exclude on either side.
        beyond = max(0.5 - z * float(np.sqrt((n + m + 1) / (12 * n * m))), 0.0)
        most = int(np.sqrt(SHIFT_PAIRS))
        if n * m > SHIFT_PAIRS:
            one, other = (_thinned(part, most) for part in (one, other))
        differences = np.sort((other[:, None] - one[None, :]).ravel())
        count = len(differences)
        low = min(int(np.floor(beyond * count)), count - 1)
        found[:, group] = np.median(differences), differences[low], differences[count - 1 - low]
    return Shift(*found)


def _thinned(values: F64, most: int) -> F64:
    if len(values) <= most:
        return values
    return np.quantile(values, (np.arange(most) + 0.5) / most)


def jensen_shannon(one: F64, other: F64) -> F64:
    """Return the divergence in bits, 0 to 1, of histograms given as rows; NaN if a histogram is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p = one / one.sum(axis=-1, keepdims=True)
        q = other / other.sum(axis=-1, keepdims=True)
        middle = (p + q) / 2
        parts = np.where(p > 0, p * np.log2(p / middle), 0.0) + np.where(q > 0, q * np.log2(q / middle), 0.0)
        total = parts.sum(axis=-1) / 2
    empty = (one.sum(axis=-1) == 0) | (other.sum(axis=-1) == 0)
    return np.where(empty, np.nan, np.clip(total, 0.0, 1.0))


# Texts


def edit_distances(one: npt.NDArray[np.integer], others: Sequence[npt.NDArray[np.integer]]) -> I64:
    """Return the Levenshtein distance of a sequence of numbers to each of the others."""
    count, width = len(others), max((len(other) for other in others), default=0)
    table = np.zeros((count, width), np.int64)
    for row, other in enumerate(others):
        table[row, : len(other)] = other
    column = np.arange(width + 1)
    line = np.broadcast_to(column, (count, width + 1)).copy()
    for number in one.tolist():
        following = line + 1
        following[:, 1:] = np.minimum(following[:, 1:], line[:, :-1] + (table != number))
        # Each insertion costs one, from any start.
        line = np.minimum.accumulate(following - column, axis=1) + column
    return line[np.arange(count), [len(other) for other in others]]


def normalised_distances(one: npt.NDArray[np.integer], others: Sequence[npt.NDArray[np.integer]]) -> F64:
    """Return the distances divided by the longer length: 0 for equal sequences, 1 for sequences that share nothing."""
    longer = np.array([max(len(one), len(other), 1) for other in others], np.float64)
    return np.asarray(edit_distances(one, others) / longer)
