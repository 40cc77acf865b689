"""A slot of a pool that gives each request an event of its own, and that nobody gave back."""

from __future__ import annotations

import pytest

from clew.graph.ops.diagnoses.resources.kept_slot import find
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph

POOL = """
import asyncio

class Pool:
    def __init__(self): self.free, self.queue = 1, []
    def assign(self):
        while self.free and self.queue:
            self.free -= 1
            self.queue.pop(0).set()
    async def wait(self, event, limit): await asyncio.wait_for(event.wait(), limit)
    async def handle(self, work, limit=5):
        event = asyncio.Event()
        self.queue.append(event)
        self.assign()
        await self.wait(event, limit)
        await work()
        self.free += 1
        self.assign()

async def late(pool):
    try: await pool.handle(quick, 0.05)
    except TimeoutError: print("no free slot")
async def quick(): await asyncio.sleep(0)
async def slow(): await asyncio.sleep(0.01)
async def long(): await asyncio.sleep(0.3)
async def fail(): raise ValueError
async def main():
    pool = Pool()
    await asyncio.create_task(pool.handle(quick), name="first")
"""
CANCELLED = """
    task = asyncio.create_task(pool.handle(slow), name="cancelled")
    await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
"""
LATE = """
    await asyncio.create_task(late(pool), name="late")
asyncio.run(main())
"""


@pytest.fixture
def findings(record):
    def run(source):
        done = record(source)
        assert (done.code, done.stdout) == (0, "no free slot\n"), done.stderr
        return [finding.text for finding in find(Facts.of(open_graph(done.folder)[0]))]

    return run


def test_slot_that_a_cancelled_task_kept_is_named_with_who_cancelled_it(findings):
    (text,) = findings(POOL + CANCELLED + LATE)
    assert text.startswith("late waited ") and "(Pool.wait, program.py:10) until its time limit passed." in text
    assert "first and cancelled had come there before and ended; main (Task-1) (main, program.py:" in text
    assert ") had cancelled cancelled at +" in text
    assert (
        "The slot that cancelled gave last, at +" in text and "(Pool.assign, program.py:6), was not given back." in text
    )


@pytest.mark.parametrize(
    "before",
    [
        # Another task has the slot.
        CANCELLED
        + "    pool.free = 1\n    task = asyncio.create_task(pool.handle(long))\n    await asyncio.sleep(0)\n",
        # A task that failed, not by a cancellation, may have been meant to keep it.
        "    await asyncio.gather(asyncio.create_task(pool.handle(fail)), return_exceptions=True)\n",
        # Other code gives slots, too.
        CANCELLED + "    pool.free = 1\n    pool.queue.append(asyncio.Event())\n    pool.assign()\n",
        # The pool's user is still there.
        "    await pool.handle(quick)\n" + CANCELLED,
    ],
)  # fmt: skip
def test_slot_that_somebody_may_still_give_back_is_not_named(findings, before):
    assert findings(POOL + before + LATE) == []


KEEP = """
async def keep(pool):
    await pool.handle(quick)
    await asyncio.sleep(1)
async def main"""


def test_slot_of_a_task_that_is_cancelled_after_it_gave_the_slot_back_is_not_named(findings):
    program = POOL.replace("\nasync def main", KEEP)
    later = CANCELLED.replace("pool.handle(slow)", "keep(pool)").replace("0.001", "0.02")
    assert findings(program + later + "    pool.free = 0\n" + LATE) == []
