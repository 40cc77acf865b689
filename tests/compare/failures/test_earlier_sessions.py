"""The session to compare with is chosen by what its tests tell about the failed ones."""

from __future__ import annotations

import pytest

from clew.compare.failures.earlier_sessions import comparable, last_passed, title
from clew.records.plan.plan import Plan, dump
from clew.records.run import test_outcomes
from clew.records.run.directory import create_run, load_run, save_run


@pytest.fixture
def sessions(tmp_path):
    """Return a function that writes sessions with the outcomes of their tests, oldest first."""

    def write(*outcomes):
        made = []
        for number, tests in enumerate(outcomes, 1):
            folder, info = create_run(tmp_path, name="tests", command=[], spec="", plan=dump(Plan()), cwd=tmp_path)
            save_run(folder, info._replace(tests=True, started=number, finished=number, exit_code=1))
            if tests is not None:
                test_outcomes.save(folder, tests)
            made.append(folder)
        return made

    return write


def many(count, **more):
    return {f"t{number}": "passed" for number in range(count)} | more


def test_comparable_session_is_the_newest_with_about_as_many_tests(sessions):
    old, newer, small, failed, now = sessions(
        many(110, a="passed"), many(100, a="passed"), many(1, a="passed"), many(120, a="failed"), {"a": "failed"}
    )
    assert comparable(now, load_run(now), {"a"}).folder == newer
    assert comparable(now, load_run(now), {"b"}).folder == failed
    assert last_passed(now, load_run(now), "a").folder == small
    assert last_passed(now, load_run(now), "b") is None
    assert comparable(old, load_run(old), {"a"}) is None, "later sessions do not count"


def test_comparable_session_needs_known_outcomes_and_a_passing_test(sessions):
    *_, now = sessions(None, {"a": "failed"}, {"a": "failed"})
    assert comparable(now, load_run(now), {"a"}) is None


def test_title_is_the_commit_or_the_run(sessions):
    (folder,) = sessions({})
    info = load_run(folder)
    assert title(info) == f"run {info.id}"
    assert title(info._replace(commit="4bf9a1b2c3d4")) == "commit 4bf9a1b2c"
    assert title(info._replace(commit="4bf9a1b2c3d4", dirty=True)) == "commit 4bf9a1b2c, with changes"
