"""Make runs in which a cancelled task cleans up, and is cancelled again or not."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended, Frame
from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with an interrupted clean-up, or one in which it finishes, or in which other work is interrupted twice."""
    made = Made(random)
    asker, worker, noise = made.names(3)
    thread, key = made.thread, random.randrange(1, 1 << 40)
    shape = "" if fault else random.choice(["finished", "other work", "once"])
    closing = (
        "retry"
        if shape == "other work"
        else random.choice(["close", "Pool.aclose", "Connection.__aexit__", "_terminate"])
    )
    thread.step(worker)
    made.wait(key, "asyncio.future", 10)
    thread.stop(worker)
    made.noise(noise)
    thread.step(asker)
    made.cancel(worker, "anyio.scope")
    thread.stop(asker).step(worker)
    made.wake(key, "asyncio.future", "cancelled")
    made.pause()
    made.wait(key + 1, "asyncio.future", at=(Frame("/lib/net.py", 5, "send"), Frame("/src/app.py", 20, closing)))
    thread.stop(worker)
    if shape not in ("finished", "once"):
        thread.step(asker)
        made.cancel(worker, "anyio.scope")
        thread.stop(asker)
    thread.step(worker)
    made.wake(key + 1, "asyncio.future", "satisfied" if shape in ("finished", "once") else "cancelled")
    if shape == "finished":
        thread.stop(worker).step(asker)
        made.cancel(worker, "anyio.scope")
        thread.stop(asker).step(worker)
    thread.fact(Kind.ENDED, made.key(worker), "", Ended("cancelled"))
    thread.stop(worker)
    made.noise(noise)
    made.fault = f"{asker} {worker} {closing.rpartition('.')[2]}" if fault else ""
    return made
