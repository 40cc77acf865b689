"""A thread that makes a task ready without waking the task's event loop, and threads that do it right."""

import pytest

from clew.graph.ops.diagnoses.control.loop_not_woken import find
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait, Wake

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "show"),)


def texts(run, *, late_ms=1700, safe=False, busy=False):
    """Write a task `show` that waits for a queue, and a thread `sensor` that puts into the queue at 400 ms."""
    process = run.process()
    loop, sensor = process.thread(), process.thread("sensor")
    loop.step("show", at=100 * MS).enter("show").suspend("show").fact(Kind.WAIT, 5, "asyncio.queue", Wait(at=AT)).stop(
        "show"
    )
    if busy:
        loop.step("work", at=350 * MS).enter("work")
    sensor.enter("read", at=390 * MS).send("reading", "asyncio.queue", at=400 * MS).send(
        "handle", "asyncio.handle"
    ).exit("read")
    if busy:
        loop.exit("work", at=(390 + late_ms) * MS).stop("work")
    then = (400 + late_ms) * MS
    if safe:
        loop.begin("handle", "asyncio.handle", at=then).send("own", "asyncio.handle").end()
    loop.step("show", at=then + MS).join("own" if safe else "handle", "asyncio.handle")
    loop.fact(Kind.WAKE, 5, "asyncio.queue", Wake()).resume("show").receive("reading", "asyncio.queue")
    loop.log("late", level=40).exit("show").stop("show")
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
