"""Programs in which work waits for slots, items or workers that do not come back."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def slot_leaked(source: Source) -> None:
    """Tasks that take slots and end without giving them back; or the near miss: they do, or another task gives it back."""
    source.asynchronous = True
    capacity = source.random.randrange(1, 4)
    takers, waiter = source.strands(capacity), source.strand()
    source.names, source.any_of = (waiter,), tuple(takers)
    shape = "" if source.fault else source.pick("finally", "another")
    values = {
        "fetch": source.name(),
        "slots": source.name(NOUNS),
        "takers": takers,
        "capacity": capacity,
        "waiter": waiter,
        "limit": source.random.randrange(60, 200) / 1000 if shape != "another" else 5,
        "question": source.question,
        "back": "$slots.release()" if shape == "finally" else "pass",
        "fail": source.fault and source.random.random() < 0.5,
        "Semaphore": source.pick("Semaphore", "BoundedSemaphore"),
        "other": f"loop.call_later(0.02, {'$slots'}.release)" if shape == "another" else "pass",
    }
    source.add(
        """
        async def $fetch($slots):
            await $slots.acquire()
            try:
                await asyncio.sleep(0.005 if $fail else 20)
                if $fail:
                    raise ConnectionError("gone")
                $slots.release()
            finally:
                $back

        async def ask($slots):
            try:
                await asyncio.wait_for($slots.acquire(), $limit)
            except asyncio.TimeoutError:
                log.error("$question")
        """,
        **values,
    )
    call = source.nested(f"{values['fetch']}({values['slots']})", str(values["slots"]))
    source.add(
        """
        async def scenario():
            loop = asyncio.get_running_loop()
            $slots = asyncio.$Semaphore($capacity)
            tasks = [asyncio.create_task($call, name=name) for name in $takers]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            $other
            await asyncio.create_task(ask($slots), name="$waiter")
        """,
        call=call,
        **values,
    )


def item_not_returned(source: Source) -> None:
    """Calls that do not put back the items of a pool; or the near miss: they do, one is left, or the queue is no pool."""
    source.asynchronous = source.random.random() < 0.5
    count = source.random.randrange(1, 4)
    shape = "" if source.fault else source.pick("finally", "spare", "consumed")
    takers, waiter = source.strands(count), source.strand()
    source.names, source.any_of = (waiter,), tuple(takers)
    values = {
        "Pool": source.name(NOUNS).title(),
        "take": source.name(),
        "work": source.name(),
        "size": count + (shape == "spare"),
        "rounds": 2 * count,
        "waiter": waiter,
        "question": source.question if shape != "consumed" else "nothing to do",
        "fail": source.pick("raise LookupError('no entry')", "return"),
        "back": "pool.free.put_nowait(line)" if shape == "finally" else "pass",
        "end": "pass" if shape == "consumed" else "pool.free.put_nowait(line)",
        "refill": "pool.free.put_nowait(Line())" if shape == "consumed" else "pass",
    }
    source.add(
        """
        class Line:
            pass

        class $Pool:
            def __init__(self):
                self.free = asyncio.Queue()
                for _ in range($size):
                    self.free.put_nowait(Line())

            async def $take(self):
                return $get

        async def $work(pool, fails):
            line = await pool.$take()
            try:
                await asyncio.sleep(0.002)
                if fails:
                    $fail
                $end
            finally:
                $back

        async def ask(pool):
            try:
                await pool.$take()
            except (queue.Empty, TimeoutError):
                log.error("$question")
        """,
        get=source.within("self.free.get()", source.limit()),
        **values,
    )
    outer = source.nested(f"{values['work']}(pool, fails)", "pool, fails").partition("(")[0]
    source.add(
        """
        async def try_to_work(pool):
            try:
                await $outer(pool, True)
            except LookupError as error:
                log.info("stopped: %s", error)

        async def scenario():
            pool = $Pool()
            for _ in range($rounds):
                $refill
                await $outer(pool, False)
            $start
            $finish
            $ask
            $asked
        """,
        outer=outer,
        start="\n".join(source.start(f"taker_{place}", "try_to_work(pool)", name) for place, name in enumerate(takers)),
        finish=source.finish(*[f"taker_{place}" for place in range(count)]),
        ask=source.start("waiter", "ask(pool)", waiter),
        asked=source.finish("waiter"),
        **values,
    )


def executor_occupied(source: Source) -> None:
    """Work that needs a worker of the pool whose workers wait for it; or the near miss: there are workers enough."""
    source.asynchronous = source.random.random() < 0.5
    workers = source.random.randrange(1, 4)
    prefix, outer, inner = source.strand(), source.name(), source.name()
    source.names = (prefix, outer)
    shape = "" if source.fault else source.pick("larger", "other")
    values = {
        "prefix": prefix,
        "outer": outer,
        "inner": inner,
        "workers": workers,
        "size": workers * 3 if shape == "larger" else workers,
        "question": source.question,
        "limit": source.random.randrange(100, 300) / 1000,
        "inner_pool": "other" if shape == "other" else "pool",
    }
    source.add(
        """
        pool = ThreadPoolExecutor($size, thread_name_prefix="$prefix")
        other = ThreadPoolExecutor($workers)
        gate = threading.Barrier($workers)

        def $inner():
            return 1
        """,
        **values,
    )
    if source.asynchronous:
        source.add(
            """
            async def ask():
                return await asyncio.get_running_loop().run_in_executor($inner_pool, $inner)

            def $outer(loop):
                gate.wait()
                try:
                    return asyncio.run_coroutine_threadsafe(ask(), loop).result($limit)
                except TimeoutError:
                    log.error("$question")

            async def scenario():
                loop = asyncio.get_running_loop()
                await asyncio.gather(*[loop.run_in_executor(pool, $outer, loop) for _ in range($workers)])
            """,
            **values,
        )
        return
    source.add(
        """
        def $outer():
            gate.wait()
            try:
                return $inner_pool.submit($inner).result($limit)
            except TimeoutError:
                log.error("$question")
        """,
        **values,
    )
    call = source.nested("pool.submit(" + outer + ")")
    source.add(
        """
        def scenario():
            for future in [$call for _ in range($workers)]:
                future.result()
        """,
        call=call,
        **values,
    )
