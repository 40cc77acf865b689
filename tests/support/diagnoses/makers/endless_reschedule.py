"""Make runs with callbacks that schedule themselves."""

from __future__ import annotations

from random import Random

from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with an endless chain of callbacks, or one that pauses, ends early, or is a chain of different functions."""
    made = Made(random)
    noise, task = made.names(2)
    thread = made.thread
    shape = "" if fault else random.choice(["pauses", "short", "ends", "different"])
    length = random.randrange(5, 60) if shape == "short" else random.randrange(120, 200)
    tasks = random.random() < 0.5
    stalled = random.choice([0, random.randrange(length - 1)]) if fault else -1
    """The run in which the thread has no processor for a while; not the last one, which may as well be where a chain ends."""
    thread.send(0, "asyncio.handle")
    for number in range(length):
        if shape == "pauses":
            made.run.clock.now += 5_000_000
        name = f"poll{number % 5}" if shape == "different" else "poll"
        if tasks:
            thread.step(f"{task}-{number}").join(number, "asyncio.handle")
        else:
            thread.begin(number)
        thread.enter(name).send(number + 1, "asyncio.handle")
        if number == stalled:
            made.run.clock.now += 150_000_000
        thread.exit(name)
        thread.stop(f"{task}-{number}") if tasks else thread.end()
        if random.random() < 0.1:
            made.noise(noise)
    if shape == "ends":
        made.run.clock.now += 900_000_000
        made.noise(noise)
        thread.log("done")
    made.fault = "poll" if fault else ""
    return made
