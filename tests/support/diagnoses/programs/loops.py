"""Programs whose event loop does not run what is ready: it is kept, busy with others, or asleep."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import VERBS, Source


def loop_blocked(source: Source) -> None:
    """A call that keeps the event loop for long or for good; or the near miss: it runs in a thread."""
    source.asynchronous = True
    if source.fault and source.random.random() < 0.3:
        _loop_kept(source)
        return
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
        "work": source.pick("time.sleep(seconds)", "while time.thread_time() < end: pass"),
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
            end = time.thread_time() + seconds
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


def _loop_kept(source: Source) -> None:
    """A step that has not ended when a thread tells that the loop does nothing else."""
    busy, victim = source.strands(2)
    crunch = source.name()
    source.names = (busy, victim, crunch)
    values = {"crunch": crunch, "busy": busy, "victim": victim, "question": source.question}
    source.add(
        """
        beats = []

        def watch():
            time.sleep(0.1)
            while beats and time.monotonic() - beats[-1] < 1.2:
                time.sleep(0.02)
            log.error("$question")
            os._exit(0)

        async def beat():
            while True:
                beats.append(time.monotonic())
                await asyncio.sleep(0.02)

        async def $crunch():
            await asyncio.sleep(0.03)
            while True:
                $work
        """,
        work=source.pick("pass", "time.sleep(0.005)"),
        **values,
    )
    call = source.nested(f"{crunch}()")
    source.add(
        """
        async def scenario():
            threading.Thread(target=watch, daemon=True).start()
            victim = asyncio.create_task(beat(), name="$victim")
            await asyncio.create_task($call, name="$busy")
        """,
        call=call,
        **values,
    )


def loop_not_woken(source: Source) -> None:
    """A thread that makes a task ready without waking its loop; or the near miss: it wakes the loop, or the loop polls."""
    source.asynchronous = True
    sensor, victim = source.names = tuple(source.strands(2))
    shape = "" if source.fault else source.pick("safe", "polls")
    made, wait, call, value = source.random.choice(
        [
            ("asyncio.Queue()", "await box.get()", "box.put_nowait", "1"),
            ("asyncio.Event()", "await box.wait()", "box.set", ""),
            ("asyncio.get_running_loop().create_future()", "await box", "box.set_result", "1"),
        ]
    )
    source.add(
        """
        given = []

        def $read(box, loop):
            time.sleep(0.15)
            given.append(time.monotonic())
            $give

        async def $show(box):
            $wait
            if time.monotonic() - given[0] > 0.3:
                log.error("$question")
        """,
        read=source.name(),
        show=source.name(),
        give=f"loop.call_soon_threadsafe({call}{f', {value}' if value else ''})"
        if shape == "safe"
        else f"{call}({value})",
        wait=wait,
        question=source.question,
    )
    read, show = (line.split("def ")[1].partition("(")[0] for line in source.parts[-1].splitlines() if "def " in line)
    outer = source.nested(f"{show}(box)", "box")
    source.add(
        """
        async def scenario():
            box, loop = $made, asyncio.get_running_loop()
            victim = asyncio.create_task($outer, name="$victim")
            thread = threading.Thread(target=lambda: $read(box, loop), name="$sensor")
            thread.start()
            for _ in range($times):
                await asyncio.sleep($pause)
            await victim
            thread.join()
        """,
        made=made,
        outer=outer,
        read=read,
        victim=victim,
        sensor=sensor,
        times=40 if shape == "polls" else 1,
        pause=0.02 if shape == "polls" else source.random.randrange(700, 900) / 1000,
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
