"""Random programs that log their messages: the graph's edges are exactly those messages."""

from __future__ import annotations

import pytest

from clew.records.format.event import Kind

pytestmark = pytest.mark.slow

PROGRAM = """
    import asyncio, queue, random, sys, threading
    from concurrent.futures import ThreadPoolExecutor
    import clew

    seed = int(sys.argv[1])
    numbers = iter(range(10**6))
    lock = threading.Lock()

    class Item:
        def __init__(self):
            with lock: self.number = next(numbers)
        def __lt__(self, other): return self.number * 7919 % 101 < other.number * 7919 % 101

    def new():
        item = Item()
        clew.mark("put", item.number)
        return item

    def got(item): clew.mark("got", item.number)

    def work(item):
        got(item)
        return new()

    def producer(seed, queues):
        choose = random.Random(seed)
        for _ in range(40): choose.choice(queues).put(new())

    def consumer(jobs, count):
        for _ in range(count): got(jobs.get())

    def threads():
        queues = [queue.Queue(3), queue.LifoQueue(), queue.PriorityQueue(), queue.SimpleQueue()]
        producers = [threading.Thread(target=producer, args=(seed * 10 + n, queues)) for n in range(3)]
        counts = [0] * 4
        for n in range(3):
            choose = random.Random(seed * 10 + n)
            for _ in range(40): counts[choose.choice(range(4))] += 1
        consumers = []
        for jobs, count in zip(queues, counts):
            consumers += [threading.Thread(target=consumer, args=(jobs, part)) for part in (count // 2, count - count // 2)]
        for thread in producers + consumers: thread.start()
        for thread in producers + consumers: thread.join()

    def pool():
        with ThreadPoolExecutor(3) as executor:
            futures = [executor.submit(work, new()) for _ in range(30)]
            random.Random(seed).shuffle(futures)
            for future in futures: got(future.result())

    async def aproducer(seed, queues):
        choose = random.Random(seed)
        for _ in range(40):
            jobs = choose.choice(queues)
            if choose.random() < 0.3: await asyncio.sleep(0)
            item = new()
            if jobs.full():
                waiting = asyncio.ensure_future(jobs.get())
                other = await waiting
                got(other)
                clew.mark("put", other.number)
                await jobs.put(other)
                clew.mark("put", item.number)
            await jobs.put(item)

    async def aconsumer(jobs):
        while True: got(await jobs.get())

    async def tasks():
        queues = [asyncio.Queue(), asyncio.LifoQueue(), asyncio.PriorityQueue()]
        consumers = [asyncio.create_task(aconsumer(jobs)) for jobs in queues for _ in range(2)]
        await asyncio.gather(*(aproducer(seed * 10 + n, queues) for n in range(3)))
        while not all(jobs.empty() for jobs in queues): await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in consumers: task.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)

    threads(); pool(); asyncio.run(tasks())
    """
CHANNELS = ("queue", "asyncio.queue", "executor.submit", "executor.result")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_edges_of_random_program_equal_its_messages(record, seed):
    run = record(PROGRAM, str(seed), rules=False)
    assert run.code == 0, run.stderr
    put, got, target, source = {}, {}, {}, {}
    for placed in run.events:
        strand = placed.process.header.uid, placed.event.thread, placed.strand
        kind = placed.event.kind
        if kind == Kind.MARK and placed.channel == "put":
            put[strand] = int(placed.text)
        elif kind == Kind.SEND and placed.channel in CHANNELS and strand in put:
            source[int(put.pop(strand))] = id(placed.event)
        elif kind in (Kind.RECEIVE, Kind.SCOPE_BEGIN, Kind.JOIN) and placed.channel in CHANNELS:
            got[strand] = id(placed.event)
        elif kind == Kind.MARK and placed.channel == "got":
            target[int(placed.text)] = got.pop(strand)
    expected = {(source[number], target[number]) for number in target}
    assert len(expected) == len(target) == len(source) > 250
    edges = [(id(one.event), id(other.event)) for one, other in run.pairs() if other.channel in CHANNELS]
    assert len(edges) == len(expected) and set(edges) == expected
