"""The records of one hook have equal times: the hook reads the clock once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from clew.records.format.event import Kind

pytestmark = pytest.mark.parametrize("record", ["c"], indirect=True)


def test_task_step_and_its_cause_have_equal_times(record):
    run = record(
        """
        import asyncio

        async def work():
            await asyncio.sleep(0)
        async def main():
            await asyncio.gather(work(), work())
        asyncio.run(main())
        """
    )
    steps = [(one.event, then.event) for one, then in pairwise(run.events) if one.event.kind == Kind.STEP_BEGIN]
    assert len(steps) >= 6
    assert all(cause.kind == Kind.JOIN and step.ticks == cause.ticks for step, cause in steps)


def test_task_done_scope_has_no_duration(record):
    run = record(
        """
        import queue

        jobs = queue.Queue()
        for number in range(3): jobs.put(number)
        for number in range(3): jobs.get(); jobs.task_done()
        jobs.join()
        """
    )
    done = [placed.event for placed in run.events if placed.channel == "queue.done"]
    kinds = [event.kind for event in done]
    whole = [Kind.SEND, Kind.SCOPE_BEGIN, Kind.ACQUIRE, Kind.RELEASE, Kind.SCOPE_END]
    assert kinds[:4] == [kind for kind in whole if kind != Kind.ACQUIRE], "the first item has no earlier one"
    assert kinds[4:9] == whole and kinds[9:15] == [*whole[:4], Kind.RELEASE, Kind.SCOPE_END]
    for scope in (done[:4], done[4:9], done[9:15]):
        assert len({event.ticks for event in scope}) == 1
    assert len({event.ticks for event in done}) >= 3
