"""Scores of consequences move to their causes; a rare change needs few observations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom

from clew.compare.localize.evidence import share_is_new
from clew.compare.localize.explained_away import Surprises, find_causes
from tests.support.runs.spans import spans_run

BROKEN, FAILS = 0, 1
"""Reasons: a service no longer logs a line, and another service fails."""
REQUESTS = 20


def explained(broken, fails, *, sure=1.0):
    """Explain requests that break at place 7, which ends first, or fail at place 8; 10 reference requests did neither."""
    rows = [(request, 7, BROKEN) for request in broken] + [(request, 8, FAILS) for request in fails]
    rows.sort(key=lambda row: (row[0], row[1]))
    request, place, reason = np.array(rows, np.int64).T
    could = dict.fromkeys((BROKEN, FAILS), set(range(REQUESTS)))
    many, had = np.full(2, 10.0), np.zeros(2)
    cause, part = find_causes(Surprises(request, place, reason, could, many, had, np.array([sure, 1.0])))
    return [(int(cause[row]), float(part[row])) for row in range(len(rows)) if rows[row][2] == FAILS]


def test_find_causes_change_that_follows_another_is_its_consequence():
    found = explained(range(8), range(8))
    # With the first change 8 of 8 requests failed; without it 0 of 12, and 0 of 10 in the reference, which count for 4.
    expected = 1 - (0.5 / (12 + 4 + 1)) / (8.5 / 9)
    assert found == [(7, pytest.approx(expected))] * 8


def test_find_causes_change_that_occurs_alone_is_a_cause():
    assert explained(range(0, 20, 2), range(20))[0][1] == pytest.approx(1 - (10.5 / 15) / (10.5 / 11))
    assert all(part == 0 for _, part in explained(range(4), range(2, 20)))


def test_find_causes_weighs_explanation_by_its_certainty():
    (_, whole), (_, half) = explained(range(8), range(8))[0], explained(range(8), range(8), sure=0.5)[0]
    assert half == pytest.approx(whole / 2)


def test_find_causes_ignores_requests_explained_by_another_reason():
    rows = [(request, 7, BROKEN if request % 2 else FAILS + 1) for request in range(REQUESTS)]
    rows = sorted(rows + [(request, 8, FAILS) for request in range(REQUESTS)])
    request, place, reason = np.array(rows, np.int64).T
    could = dict.fromkeys(range(3), set(range(REQUESTS)))
    cause, part = find_causes(Surprises(request, place, reason, could, np.full(3, 10.0), np.zeros(3), np.ones(3)))
    expected = 1 - (0.5 / (4 + 1)) / (10.5 / 11)
    assert set(cause[place == 8]) == {7} and part[place == 8] == pytest.approx(expected)


def test_find_causes_later_change_does_not_explain_earlier_one():
    request = np.repeat(np.arange(8), 2)
    could = dict.fromkeys((BROKEN, FAILS), set(range(8)))
    order = Surprises(
        request, np.tile([8, 7], 8), np.tile([FAILS, BROKEN], 8), could, np.full(2, 10.0), np.zeros(2), np.ones(2)
    )
    cause, _ = find_causes(order)
    assert cause.tolist() == [-1, 8] * 8


def test_find_causes_change_never_explains_its_own_place():
    request = np.repeat(np.arange(8), 2)
    could = dict.fromkeys((BROKEN, FAILS), set(range(8)))
    cause, part = find_causes(
        Surprises(
            request, np.full(16, 7), np.tile([BROKEN, FAILS], 8), could, np.full(2, 10.0), np.zeros(2), np.ones(2)
        )
    )
    assert (cause == -1).all() and not part.any()


@pytest.mark.parametrize(
    ("k", "n", "found", "m"), [(0, 6, 4, 4), (3, 3, 0, 8), (5, 10, 5, 10), (0, 0, 7, 7), (40, 40, 39, 40)]
)
def test_share_is_new_equals_ratio_of_two_beta_binomials(k, n, found, m):
    expected, trust = 0.02, 1.5
    columns = [np.array([float(value)]) for value in (k, n, found, m)]
    bits = share_is_new(
        (columns[0], columns[1]), (columns[2], columns[3]), expected=np.array([expected]), trust=np.array([trust])
    )
    as_before = betabinom(m, trust * expected + k, trust * (1 - expected) + n - k).logpmf(found)
    its_own = betabinom(m, 0.5, 0.5).logpmf(found)
    assert bits[0] == pytest.approx((its_own - as_before) / np.log(2))


def served(folder, name, requests, *, broken=(), failing=()):
    """Return requests to two services in sequence; `broken` and `failing` requests log something else."""
    calls = [[("first", "look", 10.0 + number % 3, "one", 2.0), ("second", "serve", 10.0 + number % 5, "two", 2.0)]
             for number in range(requests)]  # fmt: skip
    logs = [(number, 0, f"found item {number}", 9) for number in range(requests) if number not in broken]
    logs += [(number, 1, f"serves {number}", 9) for number in range(requests)]
    logs += [(number, 1, f"cannot serve {number}", 17) for number in failing]
    return spans_run(folder, calls, name=name, logs=logs).requests


def test_localize_error_after_silent_fault_ranks_fault_first(tmp_path):
    bad = range(0, 40, 2)
    suspects = served(tmp_path, "bad", 40, broken=bad, failing=bad).localize(served(tmp_path, "good", 40)).suspects
    first, second = suspects[:2]
    assert (first.place, second.place) == ("first", "second") and first.score > 2 * second.score
    assert first.evidence[0].after == pytest.approx(0.5) and "found item" in first.evidence[0].text


def test_localize_error_independent_of_earlier_change_is_first(tmp_path):
    suspects = (
        served(tmp_path, "bad", 40, broken=range(0, 40, 2), failing=range(0, 40, 3))
        .localize(served(tmp_path, "good", 40))
        .suspects
    )
    assert suspects[0].place == "second"


def test_localize_small_reference_suffices_for_call_that_never_fails(tmp_path):
    suspects = served(tmp_path, "bad", 12, broken=range(12)).localize(served(tmp_path, "good", 3)).suspects
    assert suspects[0].place == "first" and suspects[0].score > 1
