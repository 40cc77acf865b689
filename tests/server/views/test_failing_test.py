"""The event of a recorded test session that `clew why` starts at."""

import pytest

from clew.records.format.event import Kind
from clew.records.format.facts import Exception_
from clew.records.run.directory import finish_run
from clew.server.protocol.shared import Target
from clew.server.session.session import Session, Task
from clew.server.views.target import find_target
from tests.support.runs.damaged_runs import empty_run


@pytest.fixture
def tested(tmp_path):
    """Return a function that records a session of tests (name, outcome, action) and returns the title of its target."""

    def run(*tests, exit_code=1):
        made = empty_run(tmp_path, "tests")
        thread = made.process("pytest").thread()
        for name, outcome, act in tests:
            thread.enter(f"test_it:{name} (test)").request(f"test_it.py::{name}")
            act(thread)
            thread.put(Kind.PAYLOAD, made.processes[0].site(f"test_it:{name} (test)"), channel="outcome", text=outcome)
            thread.exit(f"test_it:{name} (test)")
        made.write()
        finish_run(made.folder, made.info, exit_code, [])
        return find_target(Session(tmp_path), "", Target(), Task()).title

    return run


def logs(thread):
    thread.enter("app:work").log("it is wrong", level=40).exit("app:work")


def raises(thread):
    thread.enter("test_it:body").enter("app:work").unwind("app:work").unwind("test_it:body")


def raises_after_others(thread):
    """Swallow an error, cancel a task, and then fail."""
    for key, name in ((1, "OSError"), (2, "KeyError"), (3, "asyncio.CancelledError")):
        thread.fact(Kind.EXCEPTION, key, name, Exception_(role="raised"))
    thread.enter("test_it:body").unwind("test_it:body")


def nothing(thread):
    thread.enter("app:work").exit("app:work")


def test_target_of_failed_session_is_the_error_line_of_the_failing_test(tested):
    title = tested(("bad", "failed", logs), ("noisy", "passed", logs), ("good", "passed", nothing))
    assert title == "ERROR it is wrong: the last error of test_it.py::bad, which failed"


def test_target_of_failed_session_without_error_line_is_the_exception(tested):
    title = tested(("noisy", "passed", logs), ("bad", "failed", raises), ("noisy again", "passed", logs))
    assert title == "test_it.body raised: the last error of test_it.py::bad, which failed"


def test_target_of_failed_session_with_recorded_exceptions_is_the_newest_but_no_cancellation(tested):
    title = tested(("bad", "failed", raises_after_others))
    assert title.startswith("KeyError was raised")


def test_target_of_several_failing_tests_is_the_newest(tested):
    title = tested(("first", "failed", logs), ("second", "failed at setup", raises))
    assert title.endswith("the last error of test_it.py::second, which failed")


def test_target_of_failed_session_without_error_is_the_outcome(tested):
    assert tested(("bad", "failed", nothing)) == "outcome = failed: the last error of test_it.py::bad, which failed"


def test_target_of_passed_session_is_the_last_error(tested):
    # The flaky test failed and was repeated.
    title = tested(("flaky", "failed", raises), ("noisy", "passed", logs), exit_code=0)
    assert title == "ERROR it is wrong"


def test_target_ignores_outcome_payloads_of_programs(tmp_path):
    made = empty_run(tmp_path, "app")
    thread = made.process("app").thread()
    thread.enter("app:work").request("work").put(Kind.PAYLOAD, channel="outcome", text="failed").exit("app:work")
    made.write()
    finish_run(made.folder, made.info, 1, [])
    assert "which failed" not in find_target(Session(tmp_path), "", Target(), Task()).title
