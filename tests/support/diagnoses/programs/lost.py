"""Programs with a strand that is lost: an exception ends it that nobody takes, or nothing refers to it."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def exception_never_taken(source: Source) -> None:
    """A task that fails and that nobody asks; or the near miss: somebody awaits it or takes its exception."""
    source.asynchronous = True
    (strand,) = tuple(source.strands(1))
    error = source.pick("KeyError", "ValueError", "ConnectionError", "RuntimeError")
    source.names = (strand, error)
    take = {
        "": source.pick("kept.clear()", "pass", "await asyncio.wait(kept)"),
        "await": "try:\n    await kept[0]\nexcept Exception:\n    pass",
        "gather": "await asyncio.gather(*kept, return_exceptions=True)",
        "callback": "kept[0].add_done_callback(lambda task: task.exception())",
        "asked": "await asyncio.wait(kept)\nlog.info('failed with %s', kept[0].exception())",
    }
    shape = "" if source.fault else source.pick(*[name for name in take if name])
    source.question = "Task exception was never retrieved"
    values = {
        "work": source.name(),
        "strand": strand,
        "error": error,
        "ms": source.random.randrange(1, 9),
        "take": take[shape],
    }
    source.add(
        """
        async def $work(number):
            await asyncio.sleep(0.00$ms)
            raise $error(f"no entry {number}")
        """,
        **values,
    )
    call = source.nested(f"{values['work']}(number)", "number")
    source.add(
        """
        async def scenario():
            number = 7
            kept = [asyncio.create_task($call, name="$strand")]
            $take
            await asyncio.sleep(0.05)
        """,
        call=call,
        **values,
    )


def giver_lost(source: Source) -> None:
    """A strand that fails before it gives what another one waits for; or the near miss: it gives it in time."""
    source.asynchronous = source.random.random() < 0.5
    giver, waiter = source.strands(2)
    error = source.pick("KeyError", "ValueError", "ConnectionError", "RuntimeError")
    source.names = (giver, waiter, error)
    shape = source.pick("gives", "serves", "takes")
    near = "" if source.fault else source.pick("goes on", "catches", *([] if source.asynchronous else ["fails later"]))
    fail = "pass" if near in ("goes on", "fails later") else f"raise {error}('no entry')"
    if near == "catches":
        fail = f"try:\n    {fail}\nexcept {error}:\n    log.info('no entry')"
    values = {
        "Shop": source.name(NOUNS).title(),
        "give": source.name(),
        "ask": source.name(),
        "box": source.name(NOUNS),
        "fail": fail,
        "then": f"raise {error}('no entry')" if near == "fails later" else "pass",
    }
    limit, late = source.limit(), f'log.error("{source.question}")'
    parts = {
        # What is waited for, what the giver does, and what the waiter does.
        "gives": ("asyncio.Event()", "$fail\nself.$box.set()\n$then", source.limited("self.$box.wait()", limit, late)),
        "serves": (
            "asyncio.Queue()",
            "for _ in range(2):\n"
            "    number, reply = await self.$box.get()\n"
            "    if number:\n        $fail\n"
            "    reply.put_nowait(number)\n"
            "$then",
            "for number in range(2):\n    reply = asyncio.Queue()\n    self.$box.put_nowait((number, reply))\n    $get",
        ),
        "takes": (
            "asyncio.Queue(1)",
            "for number in range(4):\n    await self.$box.get()\n    if number:\n        $fail\n$then",
            "for number in range(4):\n    $put",
        ),
    }
    box, gives, asks = parts[shape]
    source.add(
        """
        class $Shop:
            def __init__(self):
                self.$box = $new

            async def $give(self):
                await asyncio.sleep(0.01)
                $gives

            async def $ask(self):
                $start
                $asks
        """,
        new=box,
        gives=gives,
        asks=asks,
        get=source.limited("reply.get()", limit, late),
        put=source.limited("self.$box.put(number)", limit, late),
        start=source.start("giver", "self.$give()", giver),
        **values,
    )
    call = source.nested(f"shop.{values['ask']}()", "shop")
    source.add(
        """
        async def scenario():
            shop = $Shop()
            $start
            $finish
        """,
        start=source.start("waiter", call, waiter),
        finish=source.finish("waiter"),
        **values,
    )


def destroyed_pending(source: Source) -> None:
    """A task that nothing refers to and that waits for what nobody else has; or the near miss: something refers to it."""
    source.asynchronous = True
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("kept", "awaited", "reachable")
    made, wait = source.random.choice(
        [
            ("asyncio.Event()", "await gate.wait()"),
            ("asyncio.Queue()", "await gate.get()"),
            ("asyncio.get_running_loop().create_future()", "await gate"),
        ]
    )
    values = {
        "copy": source.name(),
        "strand": strand,
        "made": made,
        "wait": wait if shape != "awaited" else "await asyncio.sleep(0.01)",
        "keep": "gates.append(gate)" if shape == "reachable" else "pass",
        "question": source.question if source.fault else "done",
        "level": "error" if source.fault else "info",
    }
    source.add(
        """
        import gc
        gates, tasks = [], []

        async def $copy():
            gate = $made
            $keep
            $wait
        """,
        **values,
    )
    call = source.nested(f"{values['copy']}()")
    start = f"asyncio.create_task({call}, name='{strand}')"
    source.add(
        """
        async def scenario():
            $start
            await asyncio.sleep(0.02)
            gc.collect()
            await asyncio.sleep(0.02)
            log.$level("$question")
            for task in tasks:
                task.cancel()
        """,
        start={"kept": f"tasks.append({start})", "awaited": f"await {start}"}.get(shape, start),
        **values,
    )
