"""Make runs in which a scope of anyio interrupts the close of a connection, which stays open, or not."""

from __future__ import annotations

from random import Random

from clew.records.format.event import FLAG_BYTES, Kind
from clew.records.format.facts import Ended, Frame
from tests.support.diagnoses.made import Made
from tests.support.diagnoses.makers.reply_of_another import Connection

_LONG_NS = 30_000_000


def make(random: Random, fault: bool) -> Made:
    """Return a run with a connection that an interrupted close left open, or one in which it was closed or is of use."""
    made = Made(random)
    asker, worker, other, noise = made.names(4)
    thread, key = made.thread, random.randrange(1, 1 << 40)
    line = Connection(made, random.randrange(1 << 40) * 2)
    shape = (
        ""
        if fault
        else random.choice(["closed", "used", "finished", "tasks", "other work", "late", "lost", "returned"])
    )
    closing = random.choice(["rollback", "retry"] if shape == "other work" else ["Line.close", "aclose", "_terminate"])
    channel = "asyncio.task" if shape == "tasks" else "asyncio.future"
    others = random.randrange(3) if not shape else 0

    def mark(kind: Kind, text: str) -> None:
        thread.put(kind, key=line.key, channel="socket", text=text, flags=FLAG_BYTES)

    thread.step(worker)
    line.send(10)
    made.wait(key, "asyncio.future", 10)
    thread.stop(worker)
    made.noise(noise)
    thread.step(asker).enter("stop")
    made.cancel(
        asker, "anyio.scope", at=(Frame("/lib/anyio.py", 5, "CancelScope.cancel"), Frame("/src/app.py", 7, "stop"))
    )
    made.cancel(
        worker, "anyio.scope", message="Cancelled by cancel scope 7f", at=(Frame("/lib/anyio.py", 9, "deliver"),)
    )
    thread.exit("stop").stop(asker).step(worker)
    made.wake(key, "asyncio.future", "cancelled")
    made.pause()
    if random.random() < 0.5:
        line.send(5)
    made.wait(key + 1, channel, at=(Frame("/lib/net.py", 5, "send"), Frame("/src/app.py", 20, closing)))
    thread.stop(worker)
    made.noise(noise)
    thread.step(worker)
    made.wake(key + 1, channel, "satisfied" if shape == "finished" else "cancelled")
    if shape == "closed":
        mark(Kind.SEND, f"{line.sent[0]}$")
    if shape == "lost":
        mark(Kind.SEND, f"{line.sent[0]}-")
    if shape != "returned":
        thread.fact(Kind.ENDED, made.key(worker), "", Ended("cancelled"))
    thread.stop(worker)
    for _ in range(others):
        made.noise(noise)
    if shape != "late":
        made.run.clock.now += _LONG_NS
    thread.step(other)
    if shape == "used":
        line.send(8)
    thread.log("later").stop(other)
    made.fault = f"{asker} {worker} {closing.rpartition('.')[2]} stop open" if fault else ""
    return made
