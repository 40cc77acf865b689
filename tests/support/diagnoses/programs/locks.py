"""Programs whose strands wait for a lock that others use: in circles, behind one that waits itself, or in turn."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def wait_circle(source: Source) -> None:
    """Strands that each hold one lock and want the next one's; or the near miss: all take their locks in one order."""
    source.asynchronous = source.random.random() < 0.5
    count = source.random.randrange(2, 5)
    strands = source.strands(count)
    source.names = tuple(strands)
    pairs = [(place, (place + 1) % count) for place in range(count)]
    if not source.fault:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    limit = source.limit()
    values = {
        "Owner": source.name(NOUNS).title(),
        "attribute": source.pick("lock", "guard", "mutex"),
        "Lock": source.lock(),
        "move": source.name(),
        "count": count,
        "question": source.question,
        "fault": source.fault,
    }
    source.add(
        """
        class $Owner:
            def __init__(self):
                self.$attribute = $Lock()

        arrived = []

        async def $move(source, target, limit):
            async with source.$attribute:
                arrived.append(source)
                while $fault and len(arrived) < $count:
                    await asyncio.sleep(0.002)
                $acquire
        """,
        acquire=source.limited(
            "target.$attribute.acquire()", "limit", 'log.error("$question")', "target.$attribute.release()"
        ),
        **values,
    )
    outer = source.nested(f"{values['move']}(source, target, limit)", "source, target, limit").partition("(")[0]
    # In a circle the first one gives up; without one, nobody waits for the others to arrive.
    calls = [
        f"{outer}(owners[{first}], owners[{second}], {limit if source.fault and not place else 5})"
        for place, (first, second) in enumerate(pairs)
    ]
    variables = [f"strand_{place}" for place in range(count)]
    source.add(
        """
        async def scenario():
            owners = [$Owner() for _ in range($count)]
            $start
            $finish
        """,
        start="\n".join(map(source.start, variables, calls, strands)),
        finish=source.finish(*variables),
        **values,
    )


def held_by_waiter(source: Source) -> None:
    """A strand that waits for something else with a lock in its hands; or the near miss: it waits before it takes the lock."""
    source.asynchronous = source.random.random() < 0.5
    holder, waiter = source.names = tuple(source.strands(2))
    limit = source.limit()
    gate, wait = source.random.choice([("Queue", "get"), ("Event", "wait")])
    values = {
        "lock": source.pick("lock", "guard", "mutex"),
        "Lock": source.lock(),
        "Gate": gate,
        "Store": source.name(NOUNS).title(),
        "ask": source.name(),
        "work": source.name(),
        "use": source.name(),
        "question": source.question,
        "inside": source.fault,
    }
    source.add(
        """
        class $Store:
            def __init__(self):
                self.$lock = $Lock()
                self.replies = asyncio.$Gate()
                self.ready = False

            async def $ask(self):
                $get

            async def $work(self):
                if not $inside:
                    self.ready = True
                    await self.$ask()
                async with self.$lock:
                    self.ready = True
                    if $inside:
                        await self.$ask()

            async def $use(self):
                while not self.ready:
                    await asyncio.sleep(0.002)
                $acquire
        """,
        get=source.limited(f"self.replies.{wait}()", limit + 0.3, 'log.info("no reply")'),
        acquire=source.limited("self.$lock.acquire()", limit, 'log.error("$question")', "self.$lock.release()"),
        **values,
    )
    call = source.nested(f"store.{values['work']}()", "store")
    ask = source.nested(f"store.{values['use']}()", "store")
    source.add(
        """
        async def scenario():
            store = $Store()
            $hold
            $wait
            $finish
        """,
        hold=source.start("holder", call, holder),
        wait=source.start("waiter", ask, waiter),
        finish=source.finish("holder", "waiter"),
        **values,
    )


def serialized_by_lock(source: Source) -> None:
    """Strands that work one after the other under one lock; or the near miss: each has a lock of its own."""
    source.asynchronous = source.random.random() < 0.5
    strands = source.strands(source.random.randrange(4, 8))
    source.any_of = tuple(strands)
    values = {
        "work": source.name(),
        "lock": source.name(NOUNS),
        "Lock": source.lock(),
        "seconds": source.random.randrange(30, 70) / 1000,
        "question": source.question if source.fault else "done",
        "level": "error" if source.fault else "info",
    }
    source.add(
        """
        async def $work($lock):
            async with $lock:
                await asyncio.sleep($seconds)
        """,
        **values,
    )
    lock = str(values["lock"])
    outer = source.nested(f"{values['work']}({lock})", lock).partition("(")[0]
    call = f"{outer}($lock)" if source.fault else f"{outer}($Lock())"
    variables = [f"strand_{place}" for place in range(len(strands))]
    source.add(
        """
        async def scenario():
            $lock = $Lock()
            $start
            $finish
            log.$level("$question")
        """,
        start="\n".join(source.start(variable, call, name) for variable, name in zip(variables, strands, strict=True)),
        finish=source.finish(*variables),
        **values,
    )
