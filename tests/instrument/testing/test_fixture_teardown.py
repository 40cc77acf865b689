"""Calls during fixture teardown: those of a test's own fixtures belong to the test, those of shared ones to no test."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.compare.sessions.diff import compare_suites
from clew.compare.sessions.test_units import FIXTURES, SHARED, TEST, Units, units_of
from clew.graph.ops.flows.flows import Flows
from clew.records.run.directory import list_runs
from tests.support.programs.pytest_sessions import run

APP = """
def opened(n):
    return n

def closed(n):
    return n

def shut(n):
    return n

def flushed(n):
    return n
"""
TESTS = """
import pytest
import app

@pytest.fixture(scope="session")
def database(request):
    request.addfinalizer(lambda: app.shut(1))
    return app.opened(1)

@pytest.fixture(scope="module", params=[1, 2])
def pool(request):
    yield app.opened(request.param)
    app.flushed(request.param)

@pytest.fixture
def cart(request, database):
    request.addfinalizer(lambda: app.closed(1))
    return app.opened(2)

@pytest.fixture
def basket(cart):
    yield app.opened(3)
    app.closed(2)

@pytest.fixture
def broken(request):
    request.addfinalizer(lambda: app.closed(1))
    raise ValueError("at set-up")

def test_buys(basket):
    app.opened(4)

def test_pool(pool, request):
    request.addfinalizer(lambda: app.closed(3))

def test_broken(broken):
    pass

class TestOld:
    def teardown_method(self):
        app.closed(5)

    def test_old(self):
        pass
"""
ID = "test_it.py::"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with three sessions: all tests, one of them, and all with a changed teardown."""
    made = tmp_path_factory.mktemp("sessions")
    (made / "app.py").write_text(APP)
    (made / "test_it.py").write_text(TESTS)
    for words in ((), ("-k", "test_buys")):
        run(made, "--clew", "-p", "no:cacheprovider", *words, plugins=["-p", "clew.instrument.pytest_plugin"])
    (made / "app.py").write_text(APP.replace("def closed(n):\n", "def closed(n):\n    flushed(n)\n"))
    run(made, "--clew", "-p", "no:cacheprovider", plugins=["-p", "clew.instrument.pytest_plugin"])
    return made


@pytest.fixture
def runs(folder: Path) -> list[clew.Run]:
    return [clew.open(str(path)) for path, _ in sorted(list_runs(folder))]


def calls(units: Units, label: str) -> list[tuple[str, str]]:
    """Return the units that contain calls of a function."""
    where = units.call_unit[units.flows.label == units.flows.labels.index(label)]
    return sorted(tuple(units.subjects[units.subject[unit]]) if unit >= 0 else ("", "") for unit in where.tolist())


def test_fixture_teardown_calls_belong_to_the_test_of_the_fixture(runs):
    units = units_of(Flows.of(runs[0]))
    of = [
        (FIXTURES, f"{ID}{test}") for test in ("test_buys", "test_buys", "test_broken", "test_pool[1]", "test_pool[2]")
    ]
    assert calls(units, "app:closed") == sorted([*of, (FIXTURES, f"{ID}TestOld::test_old")])


def test_shared_fixture_teardown_belongs_to_no_test(runs):
    units = units_of(Flows.of(runs[0]))
    assert calls(units, "app:shut") == [(SHARED, "test_it:database (session fixture teardown)")]
    torn_down = [subject for subject in units.subjects if subject.name == "test_it:pool (module fixture teardown)"]
    assert [subject.kind for subject in torn_down] == [SHARED]
    # Set up and torn down for each parameter, first during the set-up of the test with the second parameter.
    assert (units.subject == units.subjects.index(torn_down[0])).sum() == 2


def test_fixture_unit_time_includes_setup_and_teardown(runs):
    units = units_of(Flows.of(runs[0]))
    flows, unit = units.flows, units.subjects.index((FIXTURES, f"{ID}test_buys"))
    request = units.request[units.subject == unit][0]
    here = [
        flows.total_ns[place]
        for place in range(flows.places(request).start, flows.places(request).stop)
        if flows.labels[flows.label[place]].endswith((" (fixture)", " (fixture teardown)"))
    ]
    assert len(here) == 4 and units.time_ns[units.subject == unit].tolist() == [sum(here)]
    assert (units.processor_ns[units.subject == unit] > 0).all()


def test_compare_suites_reports_changed_teardown_for_the_tests_fixtures(runs):
    changed = compare_suites(runs[:1], runs[2:])
    rows = {row.name: row.sentence() for row in changed.rows if row.kind == "structure"}
    assert {row.name for row in changed.table().rows} == {row.name for row in changed.rows}
    names = ("test_buys", "test_broken", "test_pool[1]", "test_pool[2]", "TestOld::test_old")
    assert rows.keys() == {f"fixtures of {ID}{name}" for name in names}
    # Reported once, also if two fixtures of a test changed.
    assert set(rows.values()) == {"app:flushed is called by app:closed, 1 time, never before"}


def test_compare_suites_with_selected_tests_reports_no_changed_teardown(runs):
    assert not [row for row in compare_suites(runs[:1], runs[1:2]).rows if row.kind == "structure"]


def test_test_unit_excludes_calls_of_its_fixtures(runs):
    units = units_of(Flows.of(runs[0]))
    assert {subject.kind for subject in units.subjects} == {TEST, FIXTURES, SHARED}
    assert calls(units, "app:opened").count((TEST, f"{ID}test_buys")) == 1
