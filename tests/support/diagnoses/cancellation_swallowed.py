"""Make runs in which a task is cancelled, and goes on or ends."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended
from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with a swallowed cancellation, or one in which the task ends, cleans up, or has its own time limit."""
    made = Made(random)
    asker, worker, noise = made.names(3)
    thread, key, line = made.thread, random.randrange(1, 1 << 40), random.randrange(10, 90)
    shape = random.choice(["again", "in vain"] if fault else ["cancelled", "returned", "limit", "cleaned up", "scope"])
    made.noise(noise)
    thread.step(worker).enter("loop")
    made.wait(key, "asyncio.queue", line)
    thread.suspend("loop").stop(worker)
    made.pause()
    thread.step(asker).enter("stop")
    channel = {"limit": "asyncio.timeout", "scope": "anyio.scope"}.get(shape, "asyncio.task")
    made.cancel(worker, channel, deadline=shape == "limit")
    if shape == "in vain":
        made.wait(key + 1, "asyncio.task", 99, "stop", target=made.key(worker))
    thread.suspend("stop").stop(asker)
    made.noise(noise)
    thread.step(worker).resume("loop")
    made.wake(key, "asyncio.queue", "cancelled")
    made.pause()
    if shape == "cleaned up":
        made.wait(key + 2, "asyncio.future", line + 1)
        made.wake(key + 2, "asyncio.future")
    if shape in ("again", "limit", "scope"):
        made.wait(key, "asyncio.queue", line)
        thread.suspend("loop")
    else:
        thread.exit("loop")
    if shape in ("cancelled", "cleaned up"):
        thread.fact(Kind.ENDED, made.key(worker), "", Ended("cancelled"))
    thread.stop(worker)
    made.noise(noise)
    if shape == "in vain":
        thread.step(asker)
        made.wake(key + 1, "asyncio.task", "timeout")
        thread.stop(asker)
    made.fault = f"{asker} {worker}" if fault else ""
    return made
