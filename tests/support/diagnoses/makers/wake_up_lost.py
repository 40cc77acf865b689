"""Make runs in which a wake-up goes to a waiter that is cancelled."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended
from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with a lost wake-up, or one in which it is passed on, was never given, or has no other waiter."""
    made = Made(random)
    giver, waiter, other, noise = made.names(4)
    channel = random.choice(
        ["asyncio.condition", "asyncio.semaphore", "asyncio.queue", "asyncio.lock", "asyncio.future"]
    )
    bare = channel == "asyncio.future"
    key, thread = random.randrange(1, 1 << 40), made.thread
    misses = ["passed on", "not given", "alone", "at once", "went on"]
    miss = "" if fault else random.choice([*misses, "other object", "other line", "value"] if bare else misses)
    gives_back = bool(fault and bare and random.random() < 0.5)
    made.noise(noise)
    for task in (waiter, other):
        if task == waiter or miss != "alone":
            made.pause()
            thread.step(task).enter("consume")
            different = task == other and miss in ("other object", "other line")
            line = 11 if different and miss == "other line" else 10
            made.wait(
                key + (bare and task == other), channel, line, "consume", owner=bare * (7 + (different and line == 10))
            )
            thread.suspend("consume").stop(task)
    made.noise(noise)
    made.pause()
    thread.step(giver)
    if gives_back:  # it had been such a waiter, and what it gives has a value
        thread.enter("consume").exit("consume")
    thread.enter("give")
    if miss != "not given":
        thread.send("wake-up", "asyncio.handle")
    made.pause()
    if miss != "went on":
        made.cancel(waiter)
        if miss == "at once":
            made.cancel(other)
        thread.send("cancel", "asyncio.handle")
    thread.exit("give").stop(giver)
    thread.step(waiter)
    if miss != "not given":
        thread.join("wake-up", "asyncio.handle")
    if miss != "went on":
        thread.join("cancel", "asyncio.handle")
    thread.resume("consume")
    if miss == "passed on":
        thread.send("next", "asyncio.handle")
    given = bare and miss not in ("not given", "went on")
    empty = given and miss != "value" and not gives_back
    made.wake(key, channel, "satisfied" if miss == "went on" else "cancelled", given=given, empty=empty)
    thread.exit("consume")
    if miss != "went on":
        thread.fact(Kind.ENDED, made.key(waiter), "", Ended("cancelled"))
    thread.stop(waiter)
    made.noise(noise)
    if miss != "alone":
        made.pause()
        thread.step(other)
        if miss == "passed on":
            thread.join("next", "asyncio.handle")
        end = {"passed on": "satisfied", "at once": "cancelled"}.get(miss, random.choice(["timeout", "cancelled", ""]))
        if end == "cancelled" and miss != "at once":
            thread.stop(other).step(giver)
            made.cancel(other, deadline=True)
            thread.stop(giver).step(other)
        if end:
            made.wake(key + bare, channel, end)
        thread.stop(other)
    made.fault = f"{giver} {waiter} {other}" if fault else ""
    return made
