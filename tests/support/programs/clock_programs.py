"""Random programs, by a seed, that carry vector clocks of their own causality or log it."""

from __future__ import annotations

COMMON = """
    import asyncio, itertools, json, queue, random, sys, threading
    from concurrent.futures import ThreadPoolExecutor
    import clew

    seed = int(sys.argv[1])
    numbers, guard, pasts = itertools.count(), threading.Lock(), {}

    class Unit:
        '''A task, a thread, a callback or a piece of work; `seen` has a bit for each event in its past.'''
        def __init__(self, seen, name=""):
            self.seen = seen
            self.does(name)

        def does(self, what=""):
            with guard: number = next(numbers)
            clew.mark("event", number)
            self.seen |= 1 << number
            pasts[number] = self.seen, what

    class Item:
        '''What travels through a queue: what its sender had seen.'''
        def __init__(self, unit): self.seen, self.order = unit.seen, random.random()
        def __lt__(self, other): return self.order < other.order
    """


THREADS = """
    def thread(unit_of_starter, seed, depth, queues, pool, ended):
        unit, rng = Unit(unit_of_starter, "thread"), random.Random(seed)
        for turn in range(rng.randrange(3, 7)):
            what = rng.choice(["put", "put", "get", "submit", "start", "alone"])
            if what == "put":
                rng.choice(queues).put(Item(unit))
            elif what == "get":
                try: unit.seen = taken(rng.choice(queues)).seen
                except queue.Empty: pass
            elif what == "submit" and depth < 2:
                done = []
                future = pool.submit(work, unit.seen, rng.random(), done)
                unit.does("submitted")
                if rng.random() < 0.5:
                    future.result()
                    unit.seen |= done[0]
            elif what == "start" and depth < 2:
                start(unit, rng.random(), depth + 1, queues, pool).join(unit)
            unit.does(what)
        ended.append(unit.seen)

    def taken(jobs):
        # Up to 3.12 a SimpleQueue waits forever, recorded or not, when it finds the item that woke it gone and its time over.
        return jobs.get(block=False) if isinstance(jobs, queue.SimpleQueue) else jobs.get(timeout=0.002)

    def work(seen, seed, done):
        unit = Unit(seen, "work")
        done.append(unit.seen)

    class start:
        def __init__(self, unit, seed, depth, queues, pool):
            self.ended = []
            self.thread = threading.Thread(target=thread, args=(unit.seen, seed, depth, queues, pool, self.ended))
            self.thread.start()

        def join(self, unit):
            self.thread.join()
            unit.seen |= self.ended[0]

    main, rng = Unit(0, "main"), random.Random(seed)
    queues = [queue.Queue(), queue.LifoQueue(), queue.PriorityQueue(), queue.SimpleQueue()]
    with ThreadPoolExecutor(2) as pool:
        started = []
        for _ in range(3):
            started.append(start(main, rng.random(), 0, queues, pool))
            main.does("started")
        for one in started:
            one.join(main)
            main.does("joined")
    print(json.dumps(pasts))
    """


TASKS = """
    class World:
        def __init__(self):
            self.queues = [asyncio.Queue(), asyncio.LifoQueue(), asyncio.PriorityQueue()]
            self.lock, self.released = asyncio.Lock(), 0
            self.futures, self.events, self.born = [], [], 0
            self.pool = ThreadPoolExecutor(2)

    async def task(world, seen, seed, depth, ended):
        unit, rng = Unit(seen, "task"), random.Random(seed)
        try:
            for turn in range(rng.randrange(3, 8)):
                what = rng.choice(ACTIONS)
                await what(world, unit, rng, depth)
                unit.does(what.__name__)
        finally:
            ended.append(unit.seen)

    def child(world, unit, rng, depth):
        ended = []
        return asyncio.ensure_future(task(world, unit.seen, rng.random(), depth + 1, ended)), ended

    def children(world, unit, rng, depth):
        world.born += 3
        return [child(world, unit, rng, depth) for _ in range(3)] if depth < 2 and world.born < 40 else []

    async def sleeping(world, unit, rng, depth): await asyncio.sleep(0 if rng.random() < 0.8 else 0.001)

    async def awaiting(world, unit, rng, depth):
        for one, ended in children(world, unit, rng, depth):
            if rng.random() < 0.3: await asyncio.sleep(0.001)
            unit.does("waits")
            await one
            unit.seen |= ended[0]

    async def gathering(world, unit, rng, depth):
        made = children(world, unit, rng, depth)
        await asyncio.gather(*(one for one, _ in made))
        for _, ended in made: unit.seen |= ended[0]

    async def waiting(world, unit, rng, depth):
        made = children(world, unit, rng, depth)
        if rng.random() < 0.5: await asyncio.sleep(0.001)  # some are done then
        unit.does("waits")
        if made: await asyncio.wait([one for one, _ in made])
        for _, ended in made: unit.seen |= ended[0]

    async def grouping(world, unit, rng, depth):
        made = []
        async with asyncio.TaskGroup() as group:
            for _ in range(2 if depth < 2 and world.born < 40 else 0):
                world.born += 1
                ended = []
                one = group.create_task(task(world, unit.seen, rng.random(), depth + 1, ended))
                if one.done(): unit.seen |= ended[0]  # an eager one, whose outcome the group looks at here
                made.append(ended)
        for ended in made: unit.seen |= ended[0]

    async def cancelling(world, unit, rng, depth):
        caught = []
        async def victim(seen):
            own = Unit(seen, "victim")
            try:
                while True: await asyncio.sleep(0 if rng.random() < 0.5 else 10)
            except asyncio.CancelledError:
                own.seen |= canceller[0]
                own.does("cancelled")
                caught.append(own.seen)
        one = asyncio.ensure_future(victim(unit.seen))
        for _ in range(rng.randrange(1, 4)): await asyncio.sleep(0)
        unit.does("cancels")
        canceller = [unit.seen]
        one.cancel()
        unit.does("has cancelled")
        await asyncio.wait([one])
        unit.seen |= caught[0]

    async def putting(world, unit, rng, depth): await rng.choice(world.queues).put(Item(unit))

    async def getting(world, unit, rng, depth):
        jobs = rng.choice(world.queues)
        if rng.random() < 0.5:
            if jobs.empty(): return
            item = jobs.get_nowait()
        else:
            # No timeout: a put may wake a getter that gives up all the same, and nobody could carry that.
            asyncio.get_running_loop().call_later(0.002, giving, jobs, unit.seen)
            item = await jobs.get()
        unit.seen = item.seen

    def giving(jobs, seen): jobs.put_nowait(Item(Unit(seen, "timer")))

    async def fulfilling(world, unit, rng, depth):
        for future in world.futures:
            if not future.done():
                future.set_result(unit.seen)
                return

    async def hoping(world, unit, rng, depth):
        future = asyncio.get_running_loop().create_future()
        world.futures.append(future)
        asyncio.get_running_loop().call_later(0.003, giving_up, future, unit.seen)
        unit.seen |= await future

    def giving_up(future, seen):
        unit = Unit(seen, "timer")
        if not future.done(): future.set_result(unit.seen)

    async def setting(world, unit, rng, depth):
        event = asyncio.Event()
        event.seen = unit.seen
        event.set()
        world.events.append(event)

    async def noticing(world, unit, rng, depth):
        if world.events:
            event = rng.choice(world.events)
            await event.wait()
            unit.seen |= event.seen

    async def calling(world, unit, rng, depth):
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(giving_up, future, unit.seen)
        unit.does("called")
        unit.seen |= await future

    async def locking(world, unit, rng, depth):
        lock = world.lock
        waits = lock.locked() or any(not waiter.cancelled() for waiter in lock._waiters or ())
        async with lock:
            if waits: unit.seen |= world.released
            unit.does("holds")
            for _ in range(rng.randrange(3)): await asyncio.sleep(0)
            unit.does("lets go")
            world.released = unit.seen

    async def meeting(world, unit, rng, depth):
        barrier, arrived = asyncio.Barrier(2), []
        async def other(seen):
            own = Unit(seen, "other")
            arrived.append(own.seen)
            await barrier.wait()
            own.seen |= arrived[0] | arrived[1]
            own.does("met")
            return own.seen
        one = asyncio.ensure_future(other(unit.seen))
        for _ in range(rng.randrange(3)): await asyncio.sleep(0)
        unit.does("arrives")
        arrived.append(unit.seen)
        await barrier.wait()
        unit.seen |= arrived[0] | arrived[1]
        unit.does("met")
        unit.seen |= await one

    async def joining(world, unit, rng, depth):
        jobs, done = asyncio.Queue(), []
        async def worker(seen, count):
            own = Unit(seen, "worker")
            for _ in range(count):
                own.seen = (await jobs.get()).seen
                own.does("works")
                done.append(own.seen)
                jobs.task_done()
                own.does("has worked")
            return own.seen
        workers = [asyncio.ensure_future(worker(unit.seen, 2)) for _ in range(2)]
        for _ in range(4):
            jobs.put_nowait(Item(unit))
            unit.does("put")
        await jobs.join()
        for seen in done: unit.seen |= seen
        unit.does("joined")
        for seen in await asyncio.gather(*workers): unit.seen |= seen

    async def executing(world, unit, rng, depth):
        def work(seen): return Unit(seen, "work").seen
        loop = asyncio.get_running_loop()
        unit.seen |= await loop.run_in_executor(world.pool, work, unit.seen)

    async def reading(world, unit, rng, depth):
        reader, fed = asyncio.StreamReader(), []
        async def feeder(seen):
            own = Unit(seen, "feeder")
            for size in sizes:
                fed.extend([own.seen] * size)
                reader.feed_data(bytes(size))
                own.does("fed")
                for _ in range(rng.randrange(2)): await asyncio.sleep(0)
            return own.seen
        sizes = [rng.randrange(1, 4) for _ in range(3)]
        one = asyncio.ensure_future(feeder(unit.seen))
        taken = 0
        while taken < sum(sizes):
            size = min(rng.randrange(1, 4), sum(sizes) - taken)
            unit.does("reads")
            await reader.readexactly(size)
            for seen in fed[taken:taken + size]: unit.seen |= seen
            taken += size
            unit.does("has read")
        unit.seen |= await one

    ACTIONS = [
        sleeping, awaiting, gathering, waiting, grouping, cancelling, putting, putting, getting, fulfilling, hoping, setting,
        noticing, calling, locking, meeting, joining, executing, reading,
    ]

    async def program():
        if seed % 2 and hasattr(asyncio, "eager_task_factory"):
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        world, main, rng, made = World(), Unit(begin.seen, "program"), random.Random(seed), []
        for _ in range(3):
            made.append(child(world, main, rng, 0))
            main.does("made")
        for one, ended in made:
            await one
            main.seen |= ended[0]
            main.does("has awaited")
        world.pool.shutdown(wait=False)
        return main.seen

    begin = Unit(0, "begin")
    begin.seen |= asyncio.run(program())
    begin.does("end")
    print(json.dumps(pasts))
    """


PROCESSES = """
    import json, os, random, socket, subprocess, sys
    import clew

    told = json.loads(sys.argv[1]) if sys.argv[1].startswith("[") else None
    seed = told[1] if told else int(sys.argv[1])
    log = []

    class Way:
        '''One direction of a stream; its bytes name the write that they are of.'''
        def __init__(self, name, put, get, ends=None):
            self.name, self.put, self.get, self.writes = name, put, get, 0
            self.ends = ends  # of a pipe, which another program can be started with

    def pipe(name):
        reads, writes = os.pipe()
        for end in (reads, writes): os.set_blocking(end, False)
        file = open(reads, "rb", buffering=0) if rng.random() < 0.5 else None  # it gives None where there is nothing
        get = file.read if file else lambda n: os.read(reads, n)
        return [Way(name, lambda data: os.write(writes, data), get, (reads, writes))]

    def connection(name):
        if rng.random() < 0.5:
            one, other = socket.socketpair()
        else:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                one = socket.create_connection(listener.getsockname())
                other = listener.accept()[0]
        for end in (one, other):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # writes are cut
        return [sockets_way(f"{name} there", one, other), sockets_way(f"{name} back", other, one)]

    def sockets_way(name, near, far):
        def into(size):
            buffer = bytearray(size)
            return bytes(buffer[: far.recv_into(memoryview(buffer))])
        put = rng.choice([near.send, lambda data: near.sendmsg([data[:1], data[1:]])])
        return Way(name, put, rng.choice([far.recv, into, lambda n: far.recvmsg(n)[0]]))

    def run(me, writable, readable, rng, depth):
        count, children = 0, []
        for turn in range(rng.randrange(15, 30)):
            what = rng.choice(["write", "write", "read", "read", "read", "fork", "start"])
            if what == "write" and writable:
                way = rng.choice(writable)
                log.append(["write", way.name, way.writes])
                data = bytes([way.writes]) * rng.choice([1, 7, 100, 9000])
                try: way.put(data)
                except BlockingIOError: pass
                way.writes += 1
            elif what == "read" and readable:
                way = rng.choice(readable)
                try: data = way.get(rng.choice([1, 5, 50, 7000]))
                except BlockingIOError: data = None
                if data: log.append(["read", way.name, sorted(set(data))])
            elif what == "fork" and depth < 2 and rng.random() < 0.5:
                # What is handed over is the child's alone from here on.
                given, taken = writable[::2], readable[::2]
                del writable[::2], readable[::2]
                children.append(fork(f"{me}.{len(children)}", given, taken, rng.random(), depth + 1))
            elif what == "start" and depth < 2 and rng.random() < 0.5:
                given, taken = (next(filter(lambda way: way.ends, ways), None) for ways in (writable, readable))
                if given: writable.remove(given)
                if taken: readable.remove(taken)
                if given or taken: children.append(start(f"{me}.{len(children)}", given, taken, rng.random()))
            count += 1
            log.append(["event", f"{me}:{count}"])
            clew.mark("event", f"{me}:{count}")
        for name, wait in children:
            wait()
            log.append(["wait", name])

    def start(name, given, taken, seed):
        '''Another program, with pipes that are its own from here on for standard streams.'''
        log.append(["fork", name])
        told = [name, seed, given and [given.name, given.writes], taken and taken.name]
        out, into = given.ends[1] if given else subprocess.DEVNULL, taken.ends[0] if taken else subprocess.DEVNULL
        return name, subprocess.Popen([sys.executable, __file__, json.dumps(told)], stdin=into, stdout=out).wait

    def started(name, seed, given, taken):
        writable, readable = [], []
        if given:
            writable.append(Way(given[0], rng.choice([lambda data: os.write(1, data), sys.stdout.buffer.raw.write]), None))
            writable[0].writes = given[1]
        if taken: readable.append(Way(taken, None, rng.choice([lambda n: os.read(0, n), sys.stdin.buffer.raw.read])))
        run(name, writable, readable, random.Random(seed), 1)
        with open(f"log.{name}", "w") as file: json.dump(log, file)

    def fork(name, writable, readable, seed, depth):
        log.append(["fork", name])
        pid = os.fork()
        if pid: return name, lambda: os.waitpid(pid, 0)
        log.clear()
        run(name, writable, readable, random.Random(seed), depth)
        with open(f"log.{name}", "w") as file: json.dump(log, file)
        os._exit(0)

    rng = random.Random(seed)
    if told:
        started(*told)
        sys.exit()
    ways = [way for number in range(2) for way in pipe(f"pipe {number}") + connection(f"connection {number}")]
    children = []
    for number in range(3):
        children.append(fork(str(number), ways[number::3], ways[(number + 1) % 3 :: 3], rng.random(), 0))
    for name, wait in children:
        wait()
        log.append(["wait", name])
    log.append(["event", "main:1"])
    clew.mark("event", "main:1")
    with open("log.main", "w") as file: json.dump(log, file)
    """
