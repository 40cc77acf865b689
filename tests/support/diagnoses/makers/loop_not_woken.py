"""Make runs in which a thread makes a task ready without waking its event loop, or in which the loop wakes or is busy."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait, Wake
from tests.support.diagnoses.made import Made
from tests.support.runs.records import ProcessFile

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "show"),)
CHANNELS = ("asyncio.queue", "asyncio.event", "asyncio.future")


def write(
    process: ProcessFile,
    show: str = "show",
    sensor: str = "sensor",
    *,
    channel: str = "asyncio.queue",
    late_ms: int = 1700,
    safe: bool = False,
    busy: bool = False,
) -> None:
    """Write a task that waits from 100 ms on, and a thread that makes it ready at 400 ms."""
    loop, thread = process.thread(), process.thread(sensor)
    loop.step(show, at=100 * MS).enter("show").suspend("show")
    loop.fact(Kind.WAIT, 5, channel, Wait(at=AT)).stop(show)
    if busy:
        loop.step("work", at=350 * MS).enter("work")
    thread.enter("read", at=390 * MS).send("reading", channel, at=400 * MS).send("handle", "asyncio.handle")
    thread.exit("read")
    if busy:
        loop.exit("work", at=(390 + late_ms) * MS).stop("work")
    then = (400 + late_ms) * MS
    if safe:
        loop.begin("handle", "asyncio.handle", at=then).send("own", "asyncio.handle").end()
    loop.step(show, at=then + MS).join("own" if safe else "handle", "asyncio.handle")
    loop.fact(Kind.WAKE, 5, channel, Wake()).resume("show").receive("reading", channel)
    loop.log("late", level=40).exit("show").stop(show)


def make(random: Random, fault: bool) -> Made:
    """Return a run with a loop that nothing woke, or one in which the task ran soon, a callback woke it, or it was busy."""
    made = Made(random)
    show, sensor = made.names(2)
    shape = "" if fault else random.choice(["soon", "safe", "busy"])
    late_ms = random.randrange(10, 250) if shape == "soon" else random.randrange(320, 3000)
    write(
        made.process, show, sensor,
        channel=random.choice(CHANNELS), late_ms=late_ms, safe=shape == "safe", busy=shape == "busy",
    )  # fmt: skip
    made.fault = f"{show} {sensor} read call_soon_threadsafe" if fault else ""
    return made
