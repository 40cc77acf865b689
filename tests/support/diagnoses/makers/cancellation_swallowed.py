"""Make runs in which a task is cancelled, and goes on or ends."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended
from tests.support.diagnoses.made import Made

_FAULTS = ("again", "in vain", "later ended")
_MISSES = (
    "cancelled",
    "returned",
    "limit",
    "cleaned up",
    "scope",
    "own group",
    "taken back",
    "passed on",
    "raised later",
    "elsewhere",
)


def make(random: Random, fault: bool) -> Made:
    """Return a run with a swallowed cancellation, or one in which the task ends, cleans up, passes the cancellation on,
    takes it back, raises it later, or has its own time limit."""
    made = Made(random)
    asker, worker, child, noise = made.names(4)
    thread, key, line = made.thread, random.randrange(1, 1 << 40), random.randrange(10, 90)
    shape = random.choice(_FAULTS if fault else _MISSES)
    made.noise(noise)
    thread.step(worker).enter("loop")
    made.wait(key, "asyncio.queue", line)
    thread.suspend("loop").stop(worker)
    made.pause()
    thread.step(asker).enter("stop")
    channel = {"scope": "anyio.scope", "own group": "asyncio.taskgroup"}.get(shape, "asyncio.task")
    made.cancel(worker, channel, deadline=shape == "limit", own=shape == "own group")
    if shape == "in vain":
        made.wait(key + 1, "asyncio.task", 99, "stop", target=made.key(worker))
    thread.suspend("stop").stop(asker)
    made.noise(noise)
    thread.step(worker).resume("loop")
    made.wake(key, "asyncio.queue", "cancelled")
    made.pause()
    going_on = {"cancelling": random.randrange(1, 3)}
    match shape:
        case "cleaned up":
            made.wait(key + 2, "asyncio.future", line + 1, handling=True, **going_on)
            made.wake(key + 2, "asyncio.future")
        case "passed on":
            made.cancel(child)
            made.wait(key + 2, "asyncio.task", line, target=made.key(child), **going_on)
            made.wake(key + 2, "asyncio.task")
        case "taken back":
            made.wait(key, "asyncio.queue", line)
            thread.suspend("loop")
        case "in vain" | "elsewhere":
            made.wait(key + 2, "asyncio.future", line + 1, **going_on)
            made.wake(key + 2, "asyncio.future")
        case "again" | "later ended" | "raised later" | "limit" | "scope" | "own group":
            made.wait(key, "asyncio.queue", line, **going_on)
            thread.suspend("loop")
    if shape in ("later ended", "raised later"):
        thread.stop(worker)
        made.pause()
        if shape == "later ended":
            thread.step(asker)
            made.cancel(worker)
            thread.stop(asker)
        thread.step(worker).resume("loop")
        made.wake(key, "asyncio.queue", "cancelled" if shape == "later ended" else "satisfied")
    if shape not in ("again", "taken back", "limit", "scope", "own group"):
        thread.exit("loop")
    if shape in ("cancelled", "cleaned up", "passed on", "later ended", "raised later"):
        thread.fact(Kind.ENDED, made.key(worker), "", Ended("cancelled"))
    thread.stop(worker)
    made.noise(noise)
    if shape == "in vain":
        thread.step(asker)
        made.wake(key + 1, "asyncio.task", "timeout")
        thread.stop(asker)
    made.fault = f"{asker} {worker}" if fault else ""
    return made
