"""Noise model of test sessions: few measured times still separate a change from scatter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clew.compare.sessions.noise_model import Times, compare_times, sessions_needed
from clew.compare.sessions.wait_changes import compare_waits

MS = 1e6


def suite(rng, subjects, before, after, *, scatter, tails=30.0, machine=1.0):
    """Return sessions of a suite in which only the machine changed: log-times scatter with Student's tails."""
    runs = before + after
    size = np.exp(rng.uniform(np.log(2 * MS), np.log(500 * MS), subjects))
    speed = np.exp(rng.normal(0, 0.1, runs)) * np.where(np.arange(runs) >= before, machine, 1.0)
    time = size[:, None] * speed * np.exp(scatter * rng.standard_t(tails, (subjects, runs)))
    subject, run = (grid.ravel() for grid in np.meshgrid(np.arange(subjects), np.arange(runs), indexing="ij"))
    return Times(subject, run, run >= before, time.ravel())


@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 1), (5, 5)])
@pytest.mark.parametrize("tails", [3.0, 30.0])
def test_compare_times_without_change_rarely_names_a_test(before, after, tails):
    suites = (suite(np.random.default_rng(seed), 300, before, after, scatter=0.1, tails=tails) for seed in range(40))
    named = [(compare_times(times, 300, MS).p <= 0.05).sum() for times in suites]
    assert np.mean(np.array(named) > 0) <= 0.25, "share of suites in which a test is named"
    assert np.mean(named) <= 0.05 * 300 * 0.05


@pytest.mark.parametrize(("before", "after", "factor"), [(1, 1, 3.5), (5, 3, 1.7)])
def test_compare_times_names_only_the_slower_test(before, after, factor):
    found, ratios = 0, []
    for seed in range(20):
        times = suite(np.random.default_rng(seed), 300, before, after, scatter=0.1, machine=1.5)
        slow = times.after & (times.subject == 7)
        result = compare_times(times._replace(time=np.where(slow, times.time * factor, times.time)), 300, MS)
        ratios.append(result.ratio[7])
        assert result.shared == pytest.approx(1.5, rel=0.35), "the slower machine is not counted as a slower test"
        found += result.p[7] <= 0.05 and np.nanargmin(result.p) == 7
    assert found >= 18 and np.median(ratios) == pytest.approx(factor, rel=0.1)


def test_compare_times_with_many_sessions_equals_students_test():
    rng = np.random.default_rng(1)
    times = suite(rng, 12, 60, 60, scatter=0.2)
    value = np.log(times.time).reshape(12, 120)
    result = compare_times(times, 12, 1.0)
    expected = stats.ttest_ind(value[:, 60:], value[:, :60], axis=1).pvalue
    assert result.p == pytest.approx(stats.false_discovery_control(expected), rel=0.15)
    assert np.log(result.ratio) == pytest.approx(value[:, 60:].mean(1) - value[:, :60].mean(1))


def test_compare_times_bounds_contain_true_ratio_at_their_level():
    held = []
    for seed in range(30):
        times = suite(np.random.default_rng(seed), 200, 2, 2, scatter=0.15)
        result = compare_times(times, 200, MS)
        held.append(np.mean((result.low <= 1) & (1 <= result.high)))
    assert 0.92 <= np.mean(held) <= 0.99


def test_scatter_of_few_tests_is_assumed_and_reported_as_assumed():
    times = suite(np.random.default_rng(2), 3, 1, 1, scatter=0.01)
    result = compare_times(times, 3, MS)
    assert not result.learnt and result.shared == 1.0 and not result.repeated
    assert (result.within > 1.5).all()


def test_noise_model_leaves_out_short_tests_and_those_of_one_side():
    times = Times(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1]), np.array([False, True, False, False, True]),
                  np.array([1e3, 9e5, 5e6, 3e6, 3e6]))  # fmt: skip
    result = compare_times(times, 3, MS)
    assert result.tested == 1 and np.isnan(result.p[:2]).all() and np.isfinite(result.p[2])
    nothing = Times(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0))
    assert compare_times(nothing, 0, MS).tested == 0


@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 1), (3, 3)])
def test_compare_waits_names_only_waiting_beyond_its_variation(before, after):
    rng = np.random.default_rng(3)
    runs, subjects = before + after, 400
    waits = rng.exponential(0.2 * MS, (subjects, runs))
    unlucky = rng.random((subjects, runs)) < 0.03
    waits[unlucky] += rng.uniform(5 * MS, 20 * MS, unlucky.sum())
    waits[9, before:] += 100 * MS
    subject, run = (grid.ravel() for grid in np.meshgrid(np.arange(subjects), np.arange(runs), indexing="ij"))
    result = compare_waits(Times(subject, run, run >= before, waits.ravel()), np.full(subjects, 5 * MS), subjects)
    longer = np.flatnonzero(result.after - result.before > 3 * result.by_chance)
    assert longer.tolist() == [9]
    assert 4 * MS < result.by_chance[9] < 40 * MS


@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 1), (2, 5)])
@pytest.mark.parametrize("scatter", [0.05, 0.2, 0.5])
def test_sessions_needed_is_smallest_number_that_detects_change(before, after, scatter):
    def chance(n, m):
        return np.exp(stats.norm.ppf(0.975) * scatter * np.sqrt(1 / n + 1 / m))

    needed = sessions_needed(chance(before, after), 0.2, before, after)
    assert chance(needed, needed) <= 1.2
    assert needed == 1 or chance(needed - 1, needed - 1) > 1.2
