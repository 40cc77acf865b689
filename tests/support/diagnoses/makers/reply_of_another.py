"""Make runs in which requests share a connection."""

from __future__ import annotations

from random import Random

from clew.records.format.event import FLAG_BYTES, Kind
from clew.records.format.facts import Frame
from tests.support.diagnoses.made import Made


class Connection:
    """Writes the records of one end of a connection whose other end is outside the run, or in a thread of it."""

    def __init__(self, made: Made, key: int) -> None:
        self.made, self.key = made, key
        self.sent = {0: 0, 1: 0}
        self.read = {0: 0, 1: 0}

    def send(self, size: int, way: int = 0, thread=None) -> None:
        begin = self.sent[way]
        self.sent[way] += size
        self._put(thread, Kind.SEND, way, begin, begin + size)

    def receive(self, size: int, way: int = 1, thread=None) -> None:
        begin = self.read[way]
        self.read[way] += size
        self._put(thread, Kind.JOIN, way, begin, begin + size)

    def _put(self, thread, kind: Kind, way: int, begin: int, end: int) -> None:
        text = f"{'' if begin else '+'}{begin}-{end}"
        (thread or self.made.thread).put(kind, key=self.key ^ way, channel="socket", text=text, flags=FLAG_BYTES)


def make(random: Random, fault: bool) -> Made:
    """Return a run with a reply that another request read, or one whose users take turns, or use another connection."""
    made = Made(random)
    first, second, asker, noise = made.names(4)
    connection, thread = Connection(made, random.randrange(1 << 40) * 2), made.thread
    inside = random.random() < 0.5
    server = made.process.thread("server") if inside else None
    shape = "" if fault else random.choice(["reads", "other", "drained", "shared", "obeyed"])

    def answer(size: int) -> None:
        if server:
            connection.receive(size, 0, server)
            connection.send(2 * size, 1, server)

    for _ in range(random.randrange(1, 4)):
        made.noise(noise)
        thread.step(asker)
        connection.send(7)
        answer(7)
        connection.receive(14)
        thread.stop(asker)
    thread.step(first).enter("fetch")
    connection.send(10)
    key = random.randrange(1, 1 << 40)
    made.wait(key, "asyncio.future", at=(Frame("/lib/streams.py", 5, "StreamReader._wait_for_data"),))
    thread.suspend("fetch").stop(first)
    made.pause()
    if shape == "obeyed":
        answer(10)
    else:
        thread.step(asker)
        made.cancel(first)
        thread.stop(asker)
    thread.step(first)
    made.wake(key, "asyncio.future", "satisfied" if shape == "obeyed" else "cancelled")
    if shape in ("reads", "obeyed"):
        answer(10) if shape == "reads" else None
        connection.receive(20)
    thread.exit("fetch").stop(first)
    made.noise(noise)
    used = Connection(made, random.randrange(1 << 40) * 2) if shape == "other" else connection
    thread.step(second).enter("fetch")
    if shape == "drained":
        answer(10)
        connection.receive(20)
    used.send(12)
    thread.stop(second)
    if shape == "shared":
        answer(10)
        thread.step(asker)
        connection.receive(20)
        thread.stop(asker)
    elif shape in ("", "other"):
        answer(10 if shape == "" else 0)
    elif server:
        answer(12)
    thread.step(second)
    used.receive(20 if not shape else 24)
    thread.exit("fetch").stop(second)
    made.noise(noise)
    made.fault = f"{first} {second}" if fault else ""
    return made
