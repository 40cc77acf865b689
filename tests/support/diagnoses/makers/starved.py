"""Make runs in which a ready task waits for many short steps, or in which the steps are few, long, of one kind or its own."""

from __future__ import annotations

from random import Random

from tests.support.diagnoses.made import Made

MS = 1_000_000


def make(random: Random, fault: bool) -> Made:
    """Return a run with a starved task, or one in which the loop is not so busy, or the task itself made it busy."""
    made = Made(random)
    waiter, noise, starter = made.names(3)
    thread, function = made.thread, random.choice(["crunch", "verify", "merge"])
    shape = "" if fault else random.choice(["soon", "idle", "one long step", "own kind", "own doing", "timer"])
    count, each = random.randrange(20, 60), random.randrange(6, 12) * MS
    if shape == "soon":
        count, each = 8, MS
    made.noise(noise)
    thread.step(waiter).enter(function if shape == "own kind" else "poll")
    if shape == "own doing":
        _start(made, count)
    thread.suspend(function if shape == "own kind" else "poll").stop(waiter)
    thread.step(starter).enter("main")
    if shape != "own doing":
        _start(made, count)
    thread.send("wake-up", "asyncio.handle")
    thread.exit("main").stop(starter)
    callbacks = random.random() < 0.3
    stalled = random.randrange(count) if fault and count * each > 400 * MS else -1
    """The step in which the thread has no processor for a while."""
    for number in range(count):
        took = each + (random.randrange(250) * MS if number == stalled else 0)
        if shape == "one long step":
            took = 150 * MS if number == 0 else MS // 100
        _step(made, function, number, took, callbacks)
        made.run.clock.now += 3 * each if shape == "idle" else random.randrange(1000)
    if shape == "timer":
        thread.begin("wake-up", "asyncio.handle").end(channel="asyncio.handle")
    else:
        thread.step(waiter).join("wake-up", "asyncio.handle")
        thread.resume(function if shape == "own kind" else "poll").exit(function if shape == "own kind" else "poll")
        thread.stop(waiter)
    made.noise(noise)
    made.fault = f"{waiter} {function}" if fault else ""
    return made


def _start(made: Made, count: int) -> None:
    for number in range(count):
        made.thread.send(f"start-{number}", "asyncio.handle")


def _step(made: Made, function: str, number: int, took: int, callback: bool) -> None:
    thread, task = made.thread, f"busy-{number}"
    if callback:
        thread.begin(f"start-{number}", "asyncio.handle")
    else:
        thread.step(task).join(f"start-{number}", "asyncio.handle")
    thread.enter(function)
    made.run.clock.now += took
    thread.exit(function)
    if callback:
        thread.end(channel="asyncio.handle")
    else:
        thread.stop(task)
