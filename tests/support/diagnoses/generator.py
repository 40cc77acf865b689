"""Make programs as records, at random, with a planted fault of one kind or without a fault.

`PLANTS` maps a kind to the function that plants it; another module of diagnoses adds its own there. Each plant takes `healthy`:
if that is true it writes a near miss, which must give no finding.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Ended, Exception_, Frame, Holder, Wait, Wake
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import ProcessFile, RunFolder, Thread

MS = 1_000_000


@dataclass
class Fault:
    """What a finding must name."""

    kind: str
    names: tuple[str, ...]
    """Names of threads, tasks and functions that its text must contain."""
    victims: tuple[str, ...] = ()
    """Names of strands that must be among its victims."""


@dataclass
class Made:
    run: RunFolder
    fault: Fault | None = None
    _graph: ExecutionGraph | None = None

    def graph(self) -> ExecutionGraph:
        if self._graph is None:
            self._graph = self.run.graph()
        return self._graph


@dataclass
class Builder:
    """Writes the records of one program. Times are in ms since the run's start."""

    random: Random
    run: RunFolder
    process: ProcessFile = field(init=False)
    keys: int = 1000
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.process = self.run.process()

    def name(self) -> str:
        while True:
            name = "".join(self.random.choices("abcdefghijklmnop", k=6)) + f"-{self.random.randrange(100)}"
            if name not in self.used:
                self.used.add(name)
                return name

    def key(self) -> int:
        self.keys += self.random.randrange(1, 9)
        return self.keys

    def thread(self, name: str = "") -> Thread:
        thread = self.process.thread(name or self.name())
        thread.enter("run", at=0)
        return thread

    def thread_name(self, thread: Thread) -> str:
        return next(
            json.loads(text)["name"]
            for kind, key, text in self.process.definitions
            if kind == Kind.THREAD and key == thread.serial
        )

    def stack(self, function: str = "work") -> tuple[Frame, ...]:
        return (Frame("/src/app.py", self.random.randrange(1, 90), function),)

    def held_by(self, thread: Thread, ms: float, task: str = "", process: int = 0) -> Holder:
        strand = self.process.strand(task, thread.serial) if task else 0
        return Holder(thread.serial, strand, int(ms * MS), self.stack("take"), process)

    def wait(self, thread: Thread, key: int, channel: str, begin: float, **text) -> None:
        thread.fact(Kind.WAIT, key, channel, Wait(at=self.stack(), **text), at=int(begin * MS))

    def wake(self, thread: Thread, key: int, channel: str, end: float, how: str = "satisfied") -> None:
        thread.fact(Kind.WAKE, key, channel, Wake(how), at=int(end * MS))

    def step(self, thread: Thread, task: str, begin: float) -> None:
        thread.step(task, at=int(begin * MS))

    def stop(self, thread: Thread, task: str, end: float) -> None:
        thread.stop(task, at=int(end * MS))


Plant = Callable[[Builder, bool], Fault]
PLANTS: dict[str, Plant] = {}


def plant(kind: str) -> Callable[[Plant], Plant]:
    def register(function: Plant) -> Plant:
        PLANTS[kind] = function
        return function

    return register


def program(random: Random, kind: str | None, near: str = "") -> Made:
    """Return a program with a fault of a kind, or with a near miss of the kind `near` (of a random one for "") for None; and
    with noise."""
    folder = Path(tempfile.mkdtemp(prefix="clew-made-"))
    path, info = create_run(folder, name="run", command=["python", "app.py"], spec="", plan=dump(Plan()), cwd=folder)
    save_run(path, info)
    builder = Builder(random, RunFolder(path, info))
    main = builder.thread("MainThread")
    near = kind or near or random.choice(sorted(PLANTS))
    fault = PLANTS[near](builder, kind is None)
    noise(builder)
    main.exit("run", at=5000 * MS)
    return Made(builder.run, fault if kind else None)


def noise(builder: Builder) -> None:
    """Write threads with short waits for locks, queues and events, all of which are satisfied."""
    random = builder.random
    for _thread in range(random.randrange(4)):
        thread, other = builder.thread(), builder.thread()
        now = random.uniform(1, 50)
        for _wait in range(random.randrange(6)):
            key, channel = builder.key(), random.choice(["lock", "rlock", "queue", "event", "condition"])
            holders = (builder.held_by(other, 1),) if channel in ("lock", "rlock") else ()
            builder.wait(thread, key, channel, now, holders=holders)
            now += random.uniform(0.1, 3)
            builder.wake(thread, key, channel, now)
            now += random.uniform(1, 50)
        thread.exit("run", at=4000 * MS)
        other.exit("run", at=4000 * MS)


@plant("wait-circle")
def _circle(builder: Builder, healthy: bool) -> Fault:
    random = builder.random
    count = random.randrange(2, 6)
    threads, locks = [builder.thread() for _ in range(count)], [builder.key() for _ in range(count)]
    channel = random.choice(["lock", "rlock"])
    begins = [100 + random.uniform(0, 5) for _ in range(count)]
    end = 120 + random.uniform(0, 2000)
    for place, thread in enumerate(threads):
        last = healthy and place == count - 1
        if not last:
            following = (place + 1) % count
            limit = (end - begins[place]) / 1000 if place == 0 else None
            holders = (builder.held_by(threads[following], begins[place] - 90),)
            builder.wait(thread, locks[following], channel, begins[place], holders=holders, limit=limit)
    # Only the first wait fails; the holders behind it give way one after the other.
    now = end
    order = range(count) if not healthy else range(count - 2, -1, -1)
    for place in order:
        following = (place + 1) % count
        how = "timeout" if place == 0 and not healthy else "satisfied"
        back = (count - place) % count if not healthy else count - 2 - place
        moment = now + 0.5 * back
        if healthy:
            moment = begins[place] + 6 + 0.5 * back
        builder.wake(threads[place], locks[following], channel, moment, how)
    for thread in threads:
        thread.exit("run", at=4000 * MS)
    names = tuple(map(builder.thread_name, threads))
    return Fault("wait-circle", names, names)


@plant("retaken-by-holder")
def _retaken(builder: Builder, healthy: bool) -> Fault:
    thread, key = builder.thread(), builder.key()
    end = 60 + builder.random.uniform(0, 500)
    builder.wait(thread, key, "lock", 50, holders=(builder.held_by(thread, 20),))
    builder.wake(thread, key, "lock", end, "satisfied" if healthy else "timeout")
    thread.exit("run", at=4000 * MS)
    name = builder.thread_name(thread)
    return Fault("retaken-by-holder", (name,), (name,))


@plant("holder-ended")
def _ended(builder: Builder, healthy: bool) -> Fault:
    holder, key = builder.thread(), builder.key()
    waiters = [builder.thread() for _ in range(builder.random.randrange(1, 4))]
    holder.exit("run", at=40 * MS)
    holder.send(builder.name(), channel="thread.join", at=41 * MS)
    for place, thread in enumerate(waiters):
        begin = 30 + place + builder.random.uniform(0, 30)
        builder.wait(thread, key, "lock", begin, holders=(builder.held_by(holder, begin - 20),))
        builder.wake(thread, key, "lock", 100 + place, "satisfied" if healthy else "timeout")
        thread.exit("run", at=4000 * MS)
    names = tuple(map(builder.thread_name, waiters))
    return Fault("holder-ended", (builder.thread_name(holder),), names)


@plant("lock-held-at-fork")
def _fork(builder: Builder, healthy: bool) -> Fault:
    holder, key = builder.thread(), builder.key()
    parent = builder.process
    child = builder.run.process("child")
    thread = child.thread("MainThread")
    uid = parent.pid * 7919
    thread.enter("run", at=60 * MS)
    builder.wait(thread, key, "lock", 70, holders=(builder.held_by(holder, 40, process=uid),))
    if healthy:
        builder.wake(thread, key, "lock", 80)
        thread.exit("run", at=90 * MS)
    holder.exit("run", at=500 * MS)
    return Fault("lock-held-at-fork", (builder.thread_name(holder),), ("MainThread",))


@plant("held-by-waiter")
def _chain(builder: Builder, healthy: bool) -> Fault:
    random = builder.random
    length = random.randrange(2, 6)
    threads, keys = [builder.thread() for _ in range(length)], [builder.key() for _ in range(length)]
    end = 150 + random.uniform(0, 1000)
    for place in range(length - 1, -1, -1):
        thread, begin = threads[place], 100 + random.uniform(0, 3)
        if place == length - 1:
            if not healthy:
                builder.wait(thread, keys[place], random.choice(["queue", "event"]), begin)
        else:
            holders = (builder.held_by(threads[place + 1], begin - 50),)
            builder.wait(thread, keys[place], "lock", begin, holders=holders, limit=1.0)
            if healthy:
                builder.wake(thread, keys[place], "lock", begin + 5)
            else:
                builder.wake(thread, keys[place], "lock", end + place, "timeout")
    for thread in threads[:-1] if not healthy else threads:
        thread.exit("run", at=4000 * MS)
    names = tuple(map(builder.thread_name, threads))
    return Fault("held-by-waiter", names, names[:1])


@plant("serialized-by-lock")
def _serialized(builder: Builder, healthy: bool) -> Fault:
    count, key = builder.random.randrange(3, 8), builder.key()
    slow = 1 if healthy else builder.random.uniform(20, 200)
    slowest = 0 if healthy else builder.random.randrange(count)
    """The place of the thread that keeps the lock much longer than the others, 0 for none."""
    first = builder.thread()
    holder = first
    names, got = [], 101.0
    for place in range(1, count + 1):
        got += slow
        thread = builder.process.thread(builder.name())
        thread.enter("work", at=100 * MS)
        builder.wait(thread, key, "lock", 101, holders=(builder.held_by(holder, 1),), waiters=place - 1)
        builder.wake(thread, key, "lock", got)
        if place == slowest:
            thread.enter("refill", at=int((got + 0.1) * MS))
            got += 3 * slow
            thread.exit("refill", at=int((got + slow - 0.1) * MS))
        thread.exit("work", at=int((got + slow) * MS))
        names.append(builder.thread_name(thread))
        holder = thread
    first.exit("run", at=4000 * MS)
    words = (f"{names[slowest - 1]} kept it longest", "refill") if slowest else ("Each holder",)
    return Fault("serialized-by-lock", (*names[:2], *words), tuple(names))


@plant("slot-leaked")
def _leaked(builder: Builder, healthy: bool) -> Fault:
    loop, key, capacity = builder.thread(), builder.key(), builder.random.randrange(1, 4)
    takers = [builder.name() for _ in range(capacity)]
    leaker, waiter = takers[-1], builder.name()
    for place, task in enumerate(takers):
        builder.step(loop, task, 20 + place * 3)
        loop.fact(Kind.HOLD, key, "asyncio.semaphore", Wait(at=builder.stack("take"), capacity=capacity))
        builder.stop(loop, task, 21 + place * 3)
    strand = builder.process.strand(leaker, loop.serial)
    loop.fact(Kind.CANCEL, strand, "asyncio.task", Cancel(target=leaker, at=builder.stack("main")), at=50 * MS)
    builder.step(loop, leaker, 51)
    if healthy:
        loop.fact(Kind.RETURN, key, "asyncio.semaphore")
    loop.fact(Kind.ENDED, strand, "asyncio.task", Ended("cancelled"))
    builder.stop(loop, leaker, 52)
    builder.step(loop, waiter, 60)
    builder.wait(loop, key, "asyncio.semaphore", 61, capacity=capacity, limit=0.1)
    builder.stop(loop, waiter, 62)
    builder.step(loop, waiter, 161)
    builder.wake(loop, key, "asyncio.semaphore", 162, "timeout")
    builder.stop(loop, waiter, 163)
    loop.exit("run", at=4000 * MS)
    return Fault("slot-leaked", (leaker, waiter), (waiter,))


@plant("executor-occupied")
def _occupied(builder: Builder, healthy: bool) -> Fault:
    count, pool = builder.random.randrange(1, 4), builder.name()
    submitter, feeder = builder.thread(), builder.thread()
    workers = [builder.process.thread(f"{pool}_{number}") for number in range(count)]
    names = [builder.name() for _ in workers]
    for place, worker in enumerate(workers):
        feeder.send(names[place], channel="executor.submit", at=(10 + place) * MS)
        worker.begin(names[place], channel="executor.submit", at=(20 + place) * MS)
        worker.enter(f"app:job{place}")
    item, key = builder.name(), builder.key()
    submitter.send(item, channel="executor.submit", at=50 * MS)
    lock = builder.key()
    builder.wait(submitter, key, "executor.result", 51, limit=0.2)
    for worker in workers:
        builder.wait(worker, lock, "lock", 60, holders=(builder.held_by(submitter, 40),))
    if healthy:
        workers[0].end(channel="executor.submit", at=70 * MS)
        workers[0].begin(item, channel="executor.submit", at=71 * MS)
    builder.wake(submitter, key, "executor.result", 251, "satisfied" if healthy else "timeout")
    for place, worker in enumerate(workers):
        builder.wake(worker, lock, "lock", 252 + place)
        worker.end(channel="executor.submit", at=(300 + place) * MS)
    submitter.exit("run", at=4000 * MS)
    feeder.exit("run", at=4000 * MS)
    return Fault("executor-occupied", ("job0", builder.thread_name(submitter)), (builder.thread_name(submitter),))


@plant("loop-blocked")
def _blocked(builder: Builder, healthy: bool) -> Fault:
    """A step keeps its loop for long, or to the end of the recording; in a healthy program it is short, or ends."""
    loop, busy, other = builder.thread(), builder.name(), builder.name()
    handle, random = builder.name(), builder.random
    if random.random() < 0.3:
        builder.step(loop, other, 10)
        builder.wait(loop, builder.key(), "asyncio.sleep", 11)
        builder.stop(loop, other, 12)
        builder.step(loop, busy, 20)
        loop.enter("app:crunch", at=22 * MS)
        if healthy:
            loop.suspend("app:crunch", at=int(random.uniform(23, 90) * MS))
            builder.stop(loop, busy, 91)
            loop.exit("run", at=4000 * MS)
        return Fault("loop-blocked", (busy, other, "crunch"), (other,))
    lasted = random.uniform(1, 80) if healthy else random.uniform(110, 900)
    builder.step(loop, busy, 20)
    loop.send(handle, channel="asyncio.handle", at=21 * MS)
    loop.enter("app:crunch", at=22 * MS)
    loop.exit("app:crunch", at=int((21 + lasted) * MS))
    builder.stop(loop, busy, 22 + lasted)
    then = 22 + lasted + random.choice([0.5, random.uniform(0.5, 40)])  # a busy machine may run the loop no sooner
    builder.step(loop, other, then)
    loop.join(handle, channel="asyncio.handle", at=int((then + 0.1) * MS))
    builder.stop(loop, other, then + 0.5)
    loop.exit("run", at=4000 * MS)
    return Fault("loop-blocked", (busy, other, "crunch"), (other,))


@plant("giver-lost")
def _lost(builder: Builder, healthy: bool) -> Fault:
    """A thread that an exception ended took items, gave events, or had work; in a healthy program another one can do that."""
    random, item = builder.random, builder.name()
    waiting, lost, other = builder.thread(), builder.thread(), builder.thread()
    shape = random.choice(["took", "gave", "has work"])
    key, channel = builder.key(), random.choice(["event", "condition"])
    spare = builder.name() if healthy else ""
    if shape == "took":
        waiting.send(item, channel="queue", at=20 * MS)
        lost.receive(item, channel="queue", at=21 * MS)
        if healthy:
            waiting.send(spare, channel="queue", at=22 * MS)
            other.receive(spare, channel="queue", at=23 * MS)
    elif shape == "gave":
        for place, (giver, name) in enumerate([(lost, item), (other, spare)] if healthy else [(lost, item)]):
            builder.wait(waiting, key, channel, 20 + 3 * place)
            giver.release(name, channel=channel, at=(21 + 3 * place) * MS)
            builder.wake(waiting, key, channel, 22 + 3 * place)
            waiting.acquire(name, channel=channel, at=(22 + 3 * place) * MS)
    else:
        waiting.send(item, channel="queue", at=20 * MS)
        lost.receive(item, channel="queue", at=21 * MS)
        if healthy:
            waiting.send(spare, channel="queue", at=40 * MS)
            other.receive(spare, channel="queue", at=41 * MS)
    raised = Exception_("no such order", "ended", builder.stack("take"))
    lost.fact(Kind.EXCEPTION, builder.key(), "KeyError", raised, at=30 * MS)
    lost.send(builder.name(), channel="thread.join", at=31 * MS)
    begin, end = 50 + random.uniform(0, 5), 60 + random.uniform(0, 500)
    if shape == "took":
        at = (Frame("/lib/queue.py", 140, "Queue.put"), *builder.stack())
        waiting.fact(Kind.WAIT, key, "queue", Wait(at=at, capacity=1), at=int(begin * MS))
        builder.wake(waiting, key, "queue", end, "timeout")
    else:
        builder.wait(waiting, key, channel, begin)
        builder.wake(waiting, key, channel, end, "timeout")
    for thread in (waiting, other):
        thread.exit("run", at=4000 * MS)
    names = builder.thread_name(waiting), builder.thread_name(lost)
    return Fault("giver-lost", (*names, "KeyError: no such order"), names[:1])


@plant("destroyed-pending")
def _destroyed(builder: Builder, healthy: bool) -> Fault:
    """A task is destroyed while it waits; in a healthy program only after the last step of its event loop."""
    loop, starter, task = builder.thread(), builder.name(), builder.name()
    key, handle = builder.key(), builder.name()
    builder.step(loop, starter, 20)
    loop.send(handle, channel="asyncio.handle", at=21 * MS)
    builder.stop(loop, starter, 22)
    builder.step(loop, task, 23)
    loop.join(handle, channel="asyncio.handle", at=23 * MS)
    builder.wait(loop, key, "asyncio.event", 24)
    builder.stop(loop, task, 25)
    ended = Ended("pending")
    if not healthy:
        builder.step(loop, starter, 40)
    collected = builder.random.random() < 0.5
    if collected:
        loop.begin(channel="gc", at=41 * MS)
    loop.fact(Kind.ENDED, builder.process.strand(task, loop.serial), "asyncio.task", ended, at=42 * MS)
    if collected:
        loop.end(channel="gc", at=43 * MS)
    if not healthy:
        builder.stop(loop, starter, 44)
        if builder.random.random() < 0.5:  # the end of its coroutine cancelled what it waited for, which woke the task
            builder.step(loop, task, 45)
            builder.wake(loop, key, "asyncio.event", 46, "cancelled")
            loop.fact(Kind.ENDED, builder.process.strand(task, loop.serial), "asyncio.task", Ended("failed"))
            builder.stop(loop, task, 47)
        builder.step(loop, starter, 50)
        builder.stop(loop, starter, 51)
    loop.exit("run", at=4000 * MS)
    names = task, starter, *(("garbage collector",) if collected else ())
    return Fault("destroyed-pending", names, (task,))
