"""A thread that makes a task ready without waking the task's event loop, and threads that do it right."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.control.loop_not_woken import find
from clew.graph.ops.facts.facts import Facts
from tests.support.diagnoses.made import check
from tests.support.diagnoses.makers.loop_not_woken import make, write
from tests.support.examples import examples


def texts(run, **case):
    write(run.process(), **case)
    return [found.text for found in find(Facts.of(run.graph()))]


def test_task_that_another_thread_made_ready_without_a_wake_up_is_named(run):
    (text,) = texts(run)
    assert text.startswith("sensor made show ready at +0.40 s from another thread (read, app.py:")
    assert text.endswith(
        "That did not wake the event loop of MainThread, which ran show 1.7 s later; `call_soon_threadsafe` would have."
    )


@pytest.mark.parametrize(
    "case",
    [{"late_ms": 100}, {"safe": True}, {"busy": True}],
    ids=["it ran soon", "a callback did it", "the loop was busy"],
)
def test_other_thread_that_made_a_task_ready_is_no_finding(run, case):
    assert texts(run, **case) == []


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_loop_not_woken_planted_is_found_and_named(seed):
    check(find, make, seed, fault=True)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 1 << 40))
def test_loop_not_woken_near_miss_finds_nothing(seed):
    check(find, make, seed, fault=False)
