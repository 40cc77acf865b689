"""Make runs in which calls take the items of a pool's queue and do not put them back, or in which no item is missing."""

from __future__ import annotations

from random import Random

from clew.records.format.event import FLAG_BACK, Kind
from clew.records.format.facts import Ended, Exception_, Frame, Wait, Wake
from tests.support.diagnoses.made import Made
from tests.support.runs.records import ProcessFile, Thread

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "Pool.take"),)
NEAR = ("free", "satisfied", "work queue", "few came back", "all are back")


class Pool:
    """A queue with `size` items that threads, or the tasks of one thread, take with Pool.take and put back."""

    def __init__(self, process: ProcessFile, size: int = 2, *, flags: int = FLAG_BACK, tasks: bool = False) -> None:
        self.process, self.flags, self.tasks = process, flags, tasks
        self.channel = "asyncio.queue" if tasks else "queue"
        self.ns, self.number = process.clock.now, size
        self.free = list(range(size))
        self.threads = {"MainThread": process.thread()}
        for item in self.free:
            self.threads["MainThread"].send(item, self.channel, at=self.tick())

    def tick(self, ms: int = 1) -> int:
        self.ns += ms * MS
        return self.ns

    def thread(self, name: str) -> Thread:
        if name not in self.threads:
            self.threads[name] = self.process.thread(name)
        return self.threads[name]

    def take(self, name: str) -> Pool:
        thread = self._run(name).enter("price", at=self.tick()).enter("Pool.take", at=self.tick())
        thread.receive(self.free.pop(0), self.channel, at=self.tick()).exit("Pool.take", at=self.tick())
        if self.tasks:
            thread.suspend("price", at=self.tick())
        return self._pause(name)

    def give(self, name: str) -> Pool:
        self.number += 1
        self.free.append(self.number)
        thread = self._go_on(name).send(self.number, self.channel, at=self.tick(), flags=self.flags)
        thread.exit("price", at=self.tick())
        return self._pause(name)

    def use(self, name: str) -> Pool:
        return self.take(name).give(name)

    def keep(self, name: str) -> Pool:
        """End the call that took an item, without putting it back."""
        self._go_on(name).exit("price", at=self.tick())
        return self._pause(name)

    def fail(self, name: str) -> Pool:
        thread, raised = self._go_on(name), Exception_("no item 7", "raised", AT)
        thread.fact(Kind.EXCEPTION, 5, "builtins.ValueError", raised, at=self.tick()).unwind("price", at=self.tick())
        return self._pause(name)

    def cancel(self, name: str) -> Pool:
        """End a task as cancelled while it has an item."""
        thread = self._go_on(name).exit("price", at=self.tick())
        thread.fact(Kind.ENDED, self.process.strand(name, thread.serial), "", Ended("cancelled"), at=self.tick())
        return self._pause(name)

    def wait(self, name: str = "late", end: str = "timeout") -> Pool:
        thread = self._run(name).enter("Pool.take", at=self.tick())
        thread.fact(Kind.WAIT, 99, self.channel, Wait(at=AT), at=self.tick())
        if self.tasks:
            self._pause(name)._run(name)
        thread.fact(Kind.WAKE, 99, self.channel, Wake(end), at=self.tick(300))
        return self._pause(name)

    def _run(self, name: str) -> Thread:
        if self.tasks:
            return self.threads["MainThread"].step(name, at=self.tick())
        return self.thread(name)

    def _go_on(self, name: str) -> Thread:
        thread = self._run(name)
        return thread.resume("price", at=self.tick()) if self.tasks else thread

    def _pause(self, name: str) -> Pool:
        if self.tasks:
            self.threads["MainThread"].stop(name, at=self.tick())
        return self


def make(random: Random, fault: bool) -> Made:
    """Return a run in which a wait fails while calls have the items of a pool, or one in which that is not so."""
    made, size = Made(random), random.randrange(1, 4)
    waiter, *takers = made.names(1 + size)
    shape = "" if fault else random.choice(NEAR)
    tasks = random.random() < 0.5
    pool = Pool(made.process, size, flags=0 if shape == "work queue" else FLAG_BACK, tasks=tasks)
    if shape != "few came back":
        for name in takers * 2:
            pool.use(name)
    ways = {"fail": "ValueError: no item 7 ended price", "keep": "ended without putting it back"}
    if tasks:
        ways["cancel"] = "was cancelled before it was put back"
    way = random.choice([*ways, "use"])
    if shape == "free":
        takers.pop()
    for name in takers:
        pool.take(name)
        if shape == "all are back":
            pool.give(name)
        elif way != "use" or shape:
            getattr(pool, way if way != "use" else "keep")(name)
    pool.wait(waiter, "satisfied" if shape == "satisfied" else "timeout")
    if way == "use" and not shape:
        for name in takers:
            pool.give(name)
    told = ways.get(way, "and put it back at")
    # Three sentences at most: the first one is about the wait.
    made.fault = " ".join((waiter, *takers[:2], told)) if fault else ""
    return made
