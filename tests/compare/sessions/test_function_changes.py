"""A function that is slower in all tests that call it is named once, with its cost in all tests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from clew.compare.sessions import function_changes
from clew.compare.sessions.function_changes import changed_functions

FUNCTIONS, TESTS = 60, 40


def suite(factor):
    """Return two sessions; every test calls every function twice. Function 7 takes `factor` times as long in the second, which
    runs on a machine that is slower by half; now and then the scheduler adds ten milliseconds to a call."""
    rng = np.random.default_rng(5)
    shape = (2, TESTS, FUNCTIONS, 2)
    time = np.exp(rng.normal(np.log(200_000), 0.1, shape)) * np.array([1, 1.5])[:, None, None, None]
    time[1, :, 7] *= factor
    time[rng.random(shape) < 0.02] += 10e6
    _, test, label, _ = (grid.ravel() for grid in np.indices(shape))
    unit = np.repeat(np.arange(2 * TESTS), FUNCTIONS * 2)
    flows = SimpleNamespace(
        labels=tuple(f"app:f{number}" for number in range(FUNCTIONS)), label=label, self_ns=time.ravel()
    )
    units = SimpleNamespace(
        flows=flows, call_unit=unit, call_context=label + 1, context_label=np.arange(-1, FUNCTIONS),
        subject=np.tile(np.arange(TESTS), 2),
    )  # fmt: skip
    assert (units.subject[unit] == test).all()
    return units


def changes(units, monkeypatch, **thresholds):
    monkeypatch.setattr(function_changes, "location_of", lambda _units, _call: ("app.py", 3))
    is_after = np.arange(2 * TESTS) >= TESTS
    chosen = {"alpha": 0.05, "change": 0.1, "floor_ns": 1e6} | thresholds
    return changed_functions(units, is_after, np.ones(2 * TESTS, bool), **chosen)


@pytest.mark.parametrize("factor", [1.8, 1 / 1.8])
def test_function_changes_name_changed_function_with_its_cost(monkeypatch, factor):
    (found,) = changes(suite(factor), monkeypatch)
    assert (found.label, found.tests, found.location) == ("app:f7", TESTS, ("app.py", 3))
    assert found.share == pytest.approx(factor - 1, abs=0.1) and found.low < found.share < found.high
    assert found.growth_ns == pytest.approx(TESTS * 2 * 200_000 * (factor - 1), rel=0.35)
    assert "own time per call of app:f7" in found.sentence() and "in 40 tests" in found.sentence()


def test_function_changes_without_a_costly_change_are_empty(monkeypatch):
    assert changes(suite(1.0), monkeypatch) == ()
    assert changes(suite(1.8), monkeypatch, floor_ns=1e9) == ()
