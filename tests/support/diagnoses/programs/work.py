"""Programs in which work cannot begin: slots that leak, executors whose workers wait, event loops without a free moment."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, VERBS, Source


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


def loop_blocked(source: Source) -> None:
    """A call that keeps the event loop while another task is ready; or the near miss: it runs in a thread."""
    source.asynchronous = True
    busy, victim = source.strands(2)
    crunch = source.name()
    source.names = (busy, victim, crunch)
    values = {
        "busy": busy,
        "victim": victim,
        "crunch": crunch,
        "seconds": source.random.randrange(150, 400) / 1000,
        "question": source.question if source.fault else "there",
        "level": "error" if source.fault else "info",
        "block": f"{'$crunch'}($seconds)" if source.fault else "await asyncio.to_thread($crunch, $seconds)",
        "work": source.pick("time.sleep(seconds)", "while time.monotonic() < end: pass"),
    }
    gate, wait, signal = source.random.choice(
        [
            ("asyncio.Event()", "await gate.wait()", "gate.set()"),
            ("asyncio.Queue()", "await gate.get()", "gate.put_nowait(1)"),
            ("asyncio.get_running_loop().create_future()", "await gate", "gate.set_result(1)"),
        ]
    )
    source.add(
        """
        def $crunch(seconds):
            end = time.monotonic() + seconds
            $work

        async def poll(gate):
            $wait
            log.$level("$question")

        async def $rush(gate):
            $signal
            $block
        """,
        wait=wait,
        signal=signal,
        rush=source.name(VERBS),
        **values,
    )
    rush = source.parts[-1].split("async def ")[-1].partition("(")[0]
    call = source.nested(f"{rush}(gate)", "gate")
    source.add(
        """
        async def scenario():
            gate = $gate
            victim = asyncio.create_task(poll(gate), name="$victim")
            await asyncio.sleep(0.01)
            await asyncio.gather(victim, asyncio.create_task($call, name="$busy"))
        """,
        gate=gate,
        call=call,
        **values,
    )


def endless_reschedule(source: Source) -> None:
    """A function that schedules itself until the program ends; or the near miss: it stops, or it pauses."""
    source.asynchronous = True
    name = source.name()
    source.names = (name,)
    kind = source.pick("call_soon", "call_later", "task")
    shape = "" if source.fault else source.pick("stops", "pauses")
    again = {
        "call_soon": "asyncio.get_running_loop().call_soon($poll)",
        "call_later": "asyncio.get_running_loop().call_later($pause, $poll)",
        "task": "tasks.append(asyncio.create_task($poll()))",
    }
    values = {
        "poll": name,
        "way": "async def" if kind == "task" else "def",
        "again": again["call_later" if shape == "pauses" and kind == "call_soon" else kind],
        "pause": 0.02 if shape == "pauses" else 0,
        "most": source.random.randrange(5, 60) if shape == "stops" else "10**9",
        "start": "await $poll()" if kind == "task" else "$poll()",
        "rest": "await asyncio.sleep($pause)" if shape == "pauses" and kind == "task" else "pass",
        "seconds": source.random.randrange(300, 600) / 1000,
        "question": source.question if source.fault else "there",
        "level": "error" if source.fault else "info",
    }
    source.add(
        """
        runs, tasks = [0], []

        $way $poll():
            $rest
            runs[0] += 1
            if runs[0] < $most:
                $again

        async def ask():
            try:
                await asyncio.wait_for(asyncio.Event().wait(), $seconds)
            except asyncio.TimeoutError:
                log.$level("$question")

        async def scenario():
            $start
            await ask()
        """,
        **values,
    )


def starved(source: Source) -> None:
    """Many short steps that keep a ready task waiting; or the near miss: they pause, run in threads, or are the only tasks."""
    source.asynchronous = source.quiet = True
    victim, crunch, count = source.strand(), source.name(), source.random.randrange(35, 60)
    count = count if source.fault else 8
    shape = "" if source.fault else source.pick("pauses", "threads", "alone")
    way = source.pick("tasks", "callbacks") if source.fault else "tasks"
    values = {
        "victim": victim,
        "crunch": crunch,
        "work": source.name(),
        "count": count,
        "seconds": 0.0002 if shape == "pauses" else 0.005,
        "rounds": source.random.randrange(1, 4),
        "question": source.question,
        "yield": "await asyncio.sleep(0.02)" if shape == "pauses" else "await asyncio.sleep(0)",
        "call": "await asyncio.to_thread($crunch, $seconds)" if shape == "threads" else "$crunch($seconds)",
        "alone": shape == "alone",
        "Box": source.pick("Queue", "LifoQueue"),
    }
    source.add(
        """
        def $crunch(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass

        async def $work(rounds):
            for _ in range(rounds):
                $call
                $yield

        async def poll(box):
            sent = await box.get()
            if $late and time.monotonic() - sent > 0.1:
                log.error("$question")
        """,
        late=source.fault,
        **values,
    )
    call = source.nested(f"{values['work']}(rounds)", "rounds")
    function = crunch if way == "callbacks" else call.partition("(")[0]
    source.names = (victim, function)
    start = (
        "asyncio.get_running_loop().call_soon($crunch, $seconds)"
        if way == "callbacks"
        else "asyncio.create_task($outer)"
    )
    source.add(
        """
        async def scenario():
            box, rounds = asyncio.$Box(), $rounds
            victim = None if $alone else asyncio.create_task(poll(box), name="$victim")
            await asyncio.sleep(0.01)
            tasks = [$start for _ in range($count)]
            if not $alone:
                box.put_nowait(time.monotonic())
                await victim
            if not $callbacks:
                await asyncio.gather(*tasks)
        """,
        start=start,
        outer=call,
        callbacks=way == "callbacks",
        **values,
    )
