"""What a task that `asyncio.wait_for` made waits for and takes belongs to the task that awaits it."""

from random import Random

import pytest

from clew.graph.ops.diagnoses.registry import findings
from clew.records.format.event import Kind
from clew.records.format.facts import Ended, Frame, Wait
from tests.support.diagnoses.made import Made

MS = 1_000_000
LIBRARY = (Frame("/lib/asyncio/locks.py", 114, "Lock.acquire"),)
CALLER = (Frame("/lib/asyncio/tasks.py", 476, "wait_for"), Frame("/src/app.py", 5, "work"))
LOCK = 77


@pytest.fixture
def made():
    return Made(Random(1))


def take_with_limit(made, task, helper, *, taken, calls=False, end="timeout"):
    """Write a task that calls `wait_for(lock.acquire(), 0.1)`."""
    thread = made.thread
    thread.step(task).enter("work")
    made.wait(made.key(helper), "asyncio.task", at=CALLER, target=made.key(helper), name=helper, limit=0.1)
    thread.suspend("work").stop(task)
    thread.step(helper)
    if calls:
        thread.enter("ask")
    if taken:
        thread.fact(Kind.HOLD, LOCK, "asyncio.lock", Wait(at=LIBRARY))
        thread.send(f"end of {helper}", "asyncio.future")
    else:
        made.wait(LOCK, "asyncio.lock", at=LIBRARY)
    thread.stop(helper)
    made.run.clock.now += 100 * MS
    thread.step(task)
    made.wake(made.key(helper), "asyncio.task", "satisfied" if taken else end)
    thread.resume("work").stop(task)
    if not taken:
        thread.step(helper)
        made.wake(LOCK, "asyncio.lock", end)
        thread.fact(Kind.ENDED, made.key(helper), "asyncio.task", Ended("cancelled"))
        thread.stop(helper)


def test_wait_of_helper_is_the_wait_of_its_caller(made):
    take_with_limit(made, "pay", "Task-7", taken=False)
    facts = made.facts()
    (wait,) = facts.waits
    assert facts.graph.strands[wait.strand].name == "pay"
    assert (wait.begin.channel, wait.begin.key, wait.end) == ("asyncio.lock", LOCK, "timeout")
    assert [facts.graph.at("kind", row) for row in wait.rows] == [Kind.WAIT, Kind.WAIT, Kind.WAKE, Kind.WAKE]


def test_lock_that_a_helper_takes_is_held_by_its_caller(made):
    take_with_limit(made, "pay", "Task-7", taken=True)
    (holding,) = (facts := made.facts()).holdings
    assert facts.graph.strands[holding.strand].name == "pay"


def test_lock_that_a_helper_took_is_not_called_a_lock_of_an_ended_task(made):
    take_with_limit(made, "pay", "Task-7", taken=True)
    take_with_limit(made, "refund", "Task-8", taken=False)
    assert [finding.kind for finding in findings(made.facts())] == []


@pytest.mark.parametrize("name", ["Task-7", "asked"])
def test_task_of_the_program_waits_for_itself(made, name):
    take_with_limit(made, "pay", name, taken=False, calls=name == "Task-7")
    facts = made.facts()
    assert [facts.graph.strands[wait.strand].name for wait in facts.waits] == ["pay", name]


def test_task_that_two_tasks_await_waits_for_itself(made):
    made.thread.step("refund")
    made.wait(made.key("Task-7"), "asyncio.task", target=made.key("Task-7"))
    made.thread.stop("refund")
    take_with_limit(made, "pay", "Task-7", taken=False)
    facts = made.facts()
    assert [facts.graph.strands[wait.strand].name for wait in facts.waits] == ["refund", "pay", "Task-7"]
