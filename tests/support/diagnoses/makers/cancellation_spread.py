"""Make runs in which several tasks wait for one thing and one of them is cancelled, with or without harm to the others."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended, Frame
from tests.support.diagnoses.made import Made

WAIT_FOR = (Frame("/lib/asyncio/tasks.py", 476, "wait_for"), Frame("/src/app.py", 10, "ask"))


def make(random: Random, fault: bool) -> Made:
    """Return a run in which a cancellation reached another waiter, or one in which it was asked for, or did not reach it."""
    made = Made(random)
    asker, asked, other, shared, noise = made.names(5)
    thread = made.thread
    shape = "" if fault else random.choice(["shielded", "direct", "both asked", "own"])
    way = random.choice(["task", "future", "limit"] if fault else ["task"])
    future, victims = random.randrange(1, 1 << 40), [other, *([noise] if random.random() < 0.3 else [])]
    key, channel = (future, "asyncio.future") if way == "future" else (made.key(shared), "asyncio.task")
    target = 0 if way == "future" else made.key(shared)
    thread.step(shared).enter("load")
    made.wait(future + 1, "asyncio.sleep", line=3)
    thread.suspend("load").stop(shared)
    thread.step(asked).enter("ask")
    if way == "limit":
        made.wait(future + 2, "asyncio.task", at=WAIT_FOR, target=target, limit=0.1)
    else:
        made.wait(key if shape != "shielded" else future + 2, channel, target=target if shape != "shielded" else 0)
    thread.suspend("ask").stop(asked)
    for victim in victims:
        thread.step(victim).enter("ask")
        made.wait(future + 3 if shape == "own" else key, channel if shape != "own" else "asyncio.sleep",
                  target=0 if shape == "own" else target)  # fmt: skip
        thread.suspend("ask").stop(victim)
    made.pause()
    thread.step(asker)
    ended = shape != "shielded" and way != "future"
    if way != "limit" and shape != "direct":
        made.cancel(asked)
    if shape == "both asked":
        for victim in victims:
            thread.log("also").log("others")
            made.cancel(victim)
            made.cancel(shared)
    elif way == "task" and ended:
        made.cancel(shared)
    thread.stop(asker)
    if way == "limit":
        thread.step(asked)
        made.wake(future + 2, "asyncio.task", "timeout")
        made.cancel(shared, "asyncio.timeout", deadline=True)
        thread.stop(asked)
    if ended:
        thread.step(shared)
        made.wake(future + 1, "asyncio.sleep", "cancelled")
        thread.fact(Kind.ENDED, made.key(shared), "asyncio.task", Ended("cancelled"))
        thread.stop(shared)
    if way != "limit":
        thread.step(asked)
        made.wake(key if shape != "shielded" else future + 2, channel, "cancelled")
        thread.fact(Kind.ENDED, made.key(asked), "asyncio.task", Ended("cancelled"))
        thread.stop(asked)
    if shape not in ("shielded", "own"):
        for victim in victims:
            thread.step(victim)
            made.wake(key, channel, "cancelled")
            thread.log(f"{victim} got nothing").stop(victim)
    made.fault = " ".join([asked, *victims]) if fault else ""
    return made
