"""Harmless strands beside a fault: waits that end, cancellations that are obeyed, errors that are handled."""

from __future__ import annotations

from textwrap import indent

from tests.support.diagnoses.programs.source import Source, filled

TASKS = (
    """
    async def $name():
        box = asyncio.Queue()
        async def feed():
            for number in range($count):
                await asyncio.sleep(0.00$ms)
                box.put_nowait(number)
        feeder = asyncio.create_task(feed())
        for _ in range($count):
            await box.get()
        await feeder
    """,
    """
    async def $name():
        async def idle():
            await asyncio.sleep(60)
        task = asyncio.create_task(idle())
        await asyncio.sleep(0.00$ms)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
    """,
    """
    async def $name():
        for number in range($count):
            try:
                {}[number]
            except KeyError as error:
                log.info("no entry %s", error)
            await asyncio.sleep(0.00$ms)
    """,
    """
    async def $name():
        lock = asyncio.Lock()
        async def take():
            async with lock:
                await asyncio.sleep(0.00$ms)
        await asyncio.gather(take(), take())
    """,
    """
    async def $name():
        box = asyncio.Queue()
        for _ in range($count):
            try:
                await asyncio.wait_for(box.get(), 0.00$ms)
            except asyncio.TimeoutError:
                pass
    """,
    """
    async def $name():
        slots = asyncio.Semaphore(2)
        async def use():
            async with slots:
                await asyncio.sleep(0.00$ms)
        async with asyncio.TaskGroup() as group:
            for _ in range($count):
                group.create_task(use())
    """,
    """
    async def $name():
        ready = asyncio.Event()
        asyncio.get_running_loop().call_later(0.00$ms, ready.set)
        await ready.wait()
        await asyncio.to_thread(time.sleep, 0.00$ms)
    """,
)
THREADS = (
    """
    def $name():
        box = queue.Queue()
        def feed():
            for number in range($count):
                time.sleep(0.00$ms)
                box.put(number)
        feeder = threading.Thread(target=feed)
        feeder.start()
        for _ in range($count):
            box.get()
        feeder.join()
    """,
    """
    def $name():
        box = queue.Queue()
        for _ in range($count):
            try:
                box.get(timeout=0.00$ms)
            except queue.Empty:
                pass
    """,
    """
    def $name():
        lock = threading.Lock()
        def take():
            with lock:
                time.sleep(0.00$ms)
        threads = [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """,
    """
    def $name():
        for number in range($count):
            try:
                int("x")
            except ValueError:
                log.info("entry %d is no number", number)
    """,
    """
    def $name():
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(time.sleep, [0.00$ms] * $count))
    """,
    """
    def $name():
        ready = threading.Event()
        timer = threading.Timer(0.00$ms, ready.set)
        timer.start()
        ready.wait()
        timer.join()
    """,
)


def noise(source: Source) -> tuple[str, str]:
    """Add up to three harmless functions; return the lines that start them, and those that wait for their ends."""
    random = source.random
    names = []
    for text in random.sample(TASKS if source.asynchronous else THREADS, random.randrange(4)):
        name = source.name()
        source.parts.insert(0, filled(text, name=name, count=random.randrange(1, 6), ms=random.randrange(1, 9)))
        names.append(name)
    if not names:
        return "", ""
    listed = ", ".join(f"{name}()" if source.asynchronous else name for name in names)
    if source.asynchronous:
        begin, end = (
            f"noises = [asyncio.create_task(each) for each in ({listed},)]\n",
            "await asyncio.gather(*noises)\n",
        )
    else:
        begin = f"noises = [threading.Thread(target=each) for each in ({listed},)]\n"
        begin += "for each in noises:\n    each.start()\n"
        end = "for each in noises:\n    each.join()\n"
    return indent(begin, "    "), indent(end, "    ")
