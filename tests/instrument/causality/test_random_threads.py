"""Random threaded programs that carry vector clocks as ground truth: no edge is false, and no promised edge is missing.

Each operation of a thread is a tick of its clock. A sent item carries the clock, and a received clock is merged. So a source in
tick k of thread A was before a target if the target's clock afterwards has at least k ticks of A. A thread releases the
interpreter only when it blocks, so an attempt that fails is followed by a wait.
"""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from clew.records.format.event import Kind

pytestmark = pytest.mark.slow

PROGRAM = """
    import json, queue, random, sys, threading, time
    from concurrent.futures import ThreadPoolExecutor
    import clew

    sys.setswitchinterval(1000)
    seed, WORKERS, POOL, ROUNDS, OPERATIONS = int(sys.argv[1]), 4, 2, 3, 14
    SIZE = 1 + WORKERS + POOL
    here = threading.local()
    clocks, expected, gave_up = {}, [], []
    numbers = iter(range(WORKERS + 1, SIZE))

    class Shared:
        # An object with the clock of the thread that last released it.
        def __init__(self, thing): self.thing, self.clock, self.last = thing, [0] * SIZE, None

    def begin():
        clock = clocks[here.me]
        clock[here.me] += 1
        clew.mark("begin", f"{here.me} {clock[here.me]}")
        return clock[here.me]

    def end(): clew.mark("end", " ".join(map(str, (here.me, *clocks[here.me]))))
    def merge(other): clocks[here.me][:] = map(max, clocks[here.me], other)
    def now(): return list(clocks[here.me])
    def expect(tick, channel, source=None, count=1): expected.append((here.me, tick, channel, source, count))
    def pause(choose): time.sleep(choose.choice([0, 0, 0.001]))

    def lock(choose, shared):
        tick = begin()
        contended = not shared.thing.acquire(False)
        if contended:
            shared.thing.acquire()
            expect(tick, "lock", shared.last)
        merge(shared.clock)
        end()
        pause(choose)
        tick = begin()
        shared.clock, shared.last = now(), (here.me, tick)
        shared.thing.release()
        end()

    def semaphore(choose, shared):
        tick = begin()
        if not shared.thing.acquire(False):
            shared.thing.acquire()
            expect(tick, "semaphore")
        merge(shared.clock)
        end()
        pause(choose)
        begin()
        shared.clock = list(map(max, shared.clock, now()))
        shared.thing.release()
        end()

    def set_event(choose, shared):
        tick = begin()
        if not shared.thing._flag: shared.clock, shared.last = now(), (here.me, tick)
        shared.thing.set()
        end()

    def wait_for_event(choose, shared):
        tick = begin()
        if shared.thing.wait(0.002):
            merge(shared.clock)
            expect(tick, "event", shared.last)
        end()

    def look_at_event(choose, shared):
        tick = begin()
        if shared.thing.is_set():
            merge(shared.clock)
            expect(tick, "event", shared.last)
        end()

    def put(choose, shared):
        tick = begin()
        shared.thing.put((now(), (here.me, tick)))
        end()

    def get(choose, shared):
        tick = begin()
        # Up to 3.12 a SimpleQueue waits forever, recorded or not, if the item that woke it is gone and its timeout is over.
        waiting = {"block": False} if isinstance(shared.thing, queue.SimpleQueue) else {"timeout": 0.002}
        try: clock, source = shared.thing.get(**waiting)
        except queue.Empty: gave_up.append((here.me, tick))
        else:
            merge(clock)
            expect(tick, "queue", source)
        end()

    def produce(choose, shared):
        condition, items = shared.thing
        begin()
        with condition:
            merge(shared.clock)
            items.append(1)
            pause(choose)
            condition.notify()
            shared.clock = now()
        end()

    def consume(choose, shared):
        condition, items = shared.thing
        tick = begin()
        with condition:
            merge(shared.clock)
            while not items:
                shared.clock = now()
                notified = condition.wait(0.002)
                merge(shared.clock)
                if not notified: break
                expect(tick, "condition")
            if items: items.pop()
            shared.clock = now()
        end()

    def work(clock, source):
        if not hasattr(here, "me"): here.me = next(numbers); clocks[here.me] = [0] * SIZE
        tick = begin()
        merge(clock)
        expect(tick, "executor.submit", source)
        end()
        time.sleep(0.0002)
        return now(), (here.me, tick)

    def submit(choose, shared):
        tick = begin()
        future = shared.thing.submit(work, now(), (here.me, tick))
        end()
        pause(choose)
        tick = begin()
        clock, source = future.result()
        merge(clock)
        expect(tick, "executor.result", source)
        end()

    def meet(arrived):
        tick = begin()
        arrived.append(now())
        index = barrier.wait()
        for clock in arrived: merge(clock)
        expect(tick, "barrier", None, WORKERS - 1 if index == WORKERS - 1 else 1)
        end()

    def worker(number, clock):
        here.me, clocks[number] = number, list(clock)
        choose = random.Random(seed * 100 + number)
        begin(); end()
        for arrived in rounds:
            for _ in range(OPERATIONS):
                operation, things = choose.choice(operations)
                operation(choose, choose.choice(things))
                pause(choose)
            meet(arrived)
        begin(); end()

    pool = ThreadPoolExecutor(POOL)
    both = threading.Barrier(POOL)
    for future in [pool.submit(both.wait) for _ in range(POOL)]: future.result()
    barrier, rounds = threading.Barrier(WORKERS), [[] for _ in range(ROUNDS)]
    locks = [Shared(make()) for make in (threading.Lock, threading.RLock)]
    semaphores = [Shared(threading.Semaphore(1)), Shared(threading.BoundedSemaphore(2))]
    events = [Shared(threading.Event()) for _ in range(4)]
    queues = [Shared(queue.Queue()), Shared(queue.LifoQueue()), Shared(queue.SimpleQueue())]
    conditions = [Shared((threading.Condition(), [])), Shared((threading.Condition(threading.Lock()), []))]
    operations = [
        *[(lock, locks)] * 3, *[(semaphore, semaphores)] * 3, (set_event, events), (wait_for_event, events),
        (look_at_event, events), (put, queues), (get, queues), *[(produce, conditions), (consume, conditions)] * 2,
        (submit, [Shared(pool)]),
    ]

    here.me, clocks[0] = 0, [0] * SIZE
    begin()
    threads = [threading.Thread(target=worker, args=(n, now())) for n in range(1, WORKERS + 1)]
    for thread in threads: thread.start()
    end()
    begin()
    for thread in threads: thread.join()
    pool.shutdown()
    for clock in list(clocks.values()): merge(clock)
    end()
    print(json.dumps([expected, gave_up]))
    """
SYNCS = ({Kind.RELEASE}, {Kind.ACQUIRE})


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_edges_of_random_threads_agree_with_vector_clocks(record, seed):
    adapters = ("threads", "locks", "executors", "queues", "callbacks")
    run = record(PROGRAM, str(seed), adapters=adapters, rules=False)
    assert run.code == 0, run.stderr
    expected, gave_up = json.loads(run.stdout)
    begun, clock_after = {}, {}
    threads = defaultdict(list)
    for placed in run.events:
        threads[placed.event.thread].append(placed)
    for events in threads.values():
        tick = clock = None
        for placed in events:
            if placed.event.kind == Kind.MARK and placed.channel == "begin":
                tick = tuple(map(int, placed.text.split()))
            begun[id(placed.event)] = tick
        for placed in reversed(events):
            if placed.event.kind == Kind.MARK and placed.channel == "end":
                clock = list(map(int, placed.text.split()))
            clock_after[id(placed.event)] = clock

    found = defaultdict(list)
    for source, target in [*run.pairs(), *run.pairs(kinds=SYNCS)]:
        before, after = begun[id(source.event)], clock_after[id(target.event)]
        if before is None or after is None:
            continue  # the start of the pool or the end of the program
        (thread, tick), (other, *clock) = before, after
        if target.channel == "condition" and [other, clock[other]] in gave_up:
            continue  # a put had woken it, but another thread took the item: it continued without a clock
        assert clock[thread] >= tick, f"{target.channel}: {source} was not before {target}"
        found[other, clock[other], target.channel].append([thread, tick])

    assert len(expected) > 30
    assert {channel for _, _, channel, _, _ in expected} > {"barrier", "executor.submit", "executor.result"}
    for thread, tick, channel, source, count in expected:
        edges = found[thread, tick, channel]
        assert len(edges) >= count, f"{channel} into tick {tick} of {thread}: {edges}"
        assert source is None or source in edges, f"{channel} into tick {tick} of {thread}: {edges}, not from {source}"
