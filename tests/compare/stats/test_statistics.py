"""Every statistic compared with scipy's, or with its definition by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from clew.compare.stats.tests import (
    Samples,
    benjamini_hochberg,
    by_group,
    edit_distances,
    jensen_shannon,
    ks_slower,
    mann_whitney,
    normalised_distances,
    p_not_slower,
    shifts,
    tail_slower,
)
from tests.support.examples import examples


def samples(groups) -> Samples:
    values = np.array([value for group in groups for value in group], float)
    return by_group(values, np.repeat(np.arange(len(groups)), [len(group) for group in groups]), len(groups))


def some_groups(seed, sizes, tied):
    rng = np.random.default_rng(seed)
    before = [rng.gamma(2, 10, n) for n, _ in sizes]
    after = [rng.gamma(2, 10 * rng.uniform(0.7, 2), m) for _, m in sizes]
    if tied:
        before, after = ([np.round(group / 8) for group in groups] for groups in (before, after))
    return before, after


SIZES = [(1, 1), (2, 9), (5, 5), (9, 2), (7, 13), (30, 31), (64, 16), (100, 100), (3, 120), (300, 500), (2000, 1500)]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_ks_slower_equals_scipy(seed, tied):
    before, after = some_groups(seed, SIZES, tied)
    found = ks_slower(samples(before), samples(after))
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        exact = len(one) * len(other) <= 40_000 and len(one) + len(other) <= 1000
        known = stats.ks_2samp(one, other, alternative="greater", method="exact" if exact else "asymp")
        assert found.statistic[at] == pytest.approx(known.statistic, abs=1e-12)
        assert found.p[at] == pytest.approx(known.pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_tail_slower_equals_hypergeometric_tail(seed, tied):
    before, after = some_groups(seed, SIZES, tied)
    found = tail_slower(samples(before), samples(after))
    both = p_not_slower(samples(before), samples(after))
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        together = np.sort(np.concatenate((one, other)))
        least = together[len(together) - int(np.ceil(len(together) / 10))]
        count = int((other >= least).sum())
        known = stats.hypergeom.sf(count - 1, len(together), len(other), int((together >= least).sum()))
        assert found.statistic[at] == count
        assert found.p[at] == pytest.approx(known, rel=1e-6, abs=1e-300)
        whole = ks_slower(samples([one]), samples([other])).p[0]
        assert both[at] == pytest.approx(min(1.0, 2 * min(whole, known)), rel=1e-6)


def test_surely_slower_detects_few_much_slower_samples():
    rng = np.random.default_rng(1)
    before, after = rng.normal(10, 1, 60), rng.normal(10, 1, 60)
    after[::5] += 20
    assert (
        p_not_slower(samples([before]), samples([after]))[0]
        < 0.001
        < ks_slower(samples([before]), samples([after])).p[0]
    )


def test_surely_slower_of_random_samples_respects_its_level():
    rng = np.random.default_rng(2)
    groups = [[rng.gamma(2, 10, rng.integers(5, 80)) for _ in range(1000)] for _ in range(2)]
    p = p_not_slower(*map(samples, groups))
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() <= level * 1.3


def test_ks_slower_of_small_samples_equals_enumeration():
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    for n in (2, 3):
        leads, outcomes = [], []
        for chosen in itertools.combinations(values, n):
            rest = [value for value in values if value not in chosen]
            found = ks_slower(samples([chosen]), samples([rest]))
            leads.append(round(float(found.statistic[0]), 9))
            outcomes.append(float(found.p[0]))
        for lead, p in zip(leads, outcomes, strict=True):
            assert p == pytest.approx(sum(other >= lead for other in leads) / len(leads))


def test_statistics_of_empty_group_are_nan_and_change_no_other():
    before, after = samples([[1, 2, 3], [], [4, 5], []]), samples([[2, 3, 4], [1], [], []])
    alone = samples([[1, 2, 3]]), samples([[2, 3, 4]])
    for of in (ks_slower, tail_slower, mann_whitney, shifts):
        both, one = of(before, after), of(*alone)
        assert [column[0] for column in both] == [column[0] for column in one]
        assert np.isnan(np.array(both)[:, 1:]).all()
    assert len(ks_slower(samples([]), samples([])).p) == 0 and len(mann_whitney(samples([]), samples([])).p) == 0


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_mann_whitney_and_cliffs_delta_equal_scipy(seed, tied):
    before, after = some_groups(seed, SIZES, tied)
    found = mann_whitney(samples(before), samples(after))
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        ties = len(np.unique(np.concatenate((one, other)))) < len(one) + len(other)
        exact = not ties and len(one) * len(other) <= 400
        known = stats.mannwhitneyu(other, one, method="exact" if exact else "asymptotic")
        assert found.u[at] == known.statistic
        assert found.p[at] == pytest.approx(known.pvalue, rel=1e-9, abs=1e-300)
        larger = (other[:, None] > one).sum() - (other[:, None] < one).sum()
        assert found.delta[at] == pytest.approx(larger / (len(one) * len(other)))


def test_statistics_of_equal_values_show_no_difference():
    same = samples([[5] * 10])
    assert mann_whitney(same, same).p.tolist() == [1] and mann_whitney(same, same).delta.tolist() == [0]
    assert ks_slower(same, same).p.tolist() == [1]


@given(st.lists(st.floats(0, 1), max_size=30))
def test_benjamini_hochberg_equals_scipy_and_skips_nan(p):
    found = benjamini_hochberg(np.array(p))
    assert found == pytest.approx(stats.false_discovery_control(p) if p else [])
    holes = benjamini_hochberg(np.array([np.nan, *p, np.nan]))
    assert np.isnan(holes[[0, -1]]).all() and holes[1:-1] == pytest.approx(found)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_jensen_shannon_equals_scipy(bins):
    one, other = (np.array(part, float) for part in zip(*bins, strict=True))
    found = float(jensen_shannon(one, other))
    if one.sum() and other.sum():
        assert found == pytest.approx(jensenshannon(one, other, base=2) ** 2, abs=1e-9)
        assert jensen_shannon(np.stack((one, one)), np.stack((other, one))) == pytest.approx([found, 0], abs=1e-9)
    else:
        assert np.isnan(found)


@pytest.mark.parametrize("seed", range(3))
def test_shifts_are_median_difference_within_bounds(seed):
    rng = np.random.default_rng(seed)
    before, after = [rng.normal(100, 5, 40), rng.normal(0, 1, 3000)], [rng.normal(107, 5, 50), rng.normal(0.3, 1, 3000)]
    found = shifts(samples(before), samples(after))
    assert found.median[0] == np.median(np.subtract.outer(after[0], before[0]))
    assert found.median[1] == pytest.approx(np.median(np.subtract.outer(after[1], before[1])), abs=0.01)
    assert found.low[0] < found.median[0] < found.high[0] and found.low[0] > 3 and found.high[0] < 11
    assert found.high[1] - found.low[1] < 0.15


def test_shifts_bounds_contain_shift_at_their_level():
    rng = np.random.default_rng(5)
    before = samples([rng.exponential(10, 25) for _ in range(1000)])
    after = samples([rng.exponential(10, 30) + 4 for _ in range(1000)])
    found = shifts(before, after, 0.9)
    inside = ((found.low <= 4) & (found.high >= 4)).mean()
    assert 0.86 < inside < 0.94


def naive_distance(one, other):
    line = list(range(len(other) + 1))
    for row, mine in enumerate(one, 1):
        above, line[0] = line[0], row
        for column, theirs in enumerate(other, 1):
            above, line[column] = line[column], min(line[column] + 1, line[column - 1] + 1, above + (mine != theirs))
    return line[-1]


@given(st.lists(st.integers(0, 3), max_size=9), st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=5))
@settings(max_examples=examples(150))
def test_edit_distances_equal_naive_definition(one, others):
    found = edit_distances(np.array(one, int), [np.array(other, int) for other in others])
    assert found.tolist() == [naive_distance(one, other) for other in others]


@pytest.mark.parametrize(
    ("before", "after", "distance"),
    [
        ("0 1", "1 0", 1), ("0 1", "1 0 2", 2 / 3), ("0 1", "1 20 30 2", 1), ("1 0", "1 0 2", 1 / 3),
        ("1 0", "1 20 30 2", 3 / 4), ("1 0 2", "1 20 30 2", 1 / 2),
    ],
)  # fmt: skip
def test_normalised_distances_equal_published_values(before, after, distance):
    one, other = (np.array(text.split(), int) for text in (before, after))
    assert normalised_distances(one, [other, one]) == pytest.approx([distance, 0])
