"""anyio's own primitives on asyncio: what tasks wait for, and who holds slots."""

from __future__ import annotations


def held(found, wait):
    """Return who held the object of a wait, and whether they gave it back."""
    return [
        (found.name(holding.strand), holding.until_ns is not None)
        for holding in found.holdings
        if holding.resource == wait.resource
    ]


def test_anyio_primitives_have_waits_and_holders(facts):
    found = facts(
        """
        import anyio

        async def use(thing):
            async with thing:
                await anyio.sleep(0.02)

        async def wait_for(condition, items):
            async with condition:
                await condition.wait_for(lambda: items)

        async def main():
            things = anyio.Lock(), anyio.Semaphore(1), anyio.CapacityLimiter(1)
            condition, items = anyio.Condition(), []
            async with anyio.create_task_group() as group:
                for thing in things:
                    for number in range(2):
                        group.start_soon(use, thing, name=f"{type(thing).__name__}-{number}")
                group.start_soon(wait_for, condition, items, name="waiter")
                await anyio.sleep(0.05)
                async with condition:
                    items.append(1)
                    condition.notify_all()
        anyio.run(main)
        """
    )
    for name, channel, slots in (
        ("Lock", "asyncio.lock", 0),
        ("Semaphore", "asyncio.semaphore", 1),
        ("CapacityLimiter", "anyio.limiter", 1),
    ):
        assert found.ends(channel) == [(f"{name}-1", "satisfied")]
        (wait,) = found.of(channel)
        assert wait.begin.text.capacity == slots
        assert found.line(wait.begin.row) == 5
        assert held(found, wait) == [(f"{name}-0", True), (f"{name}-1", True)]
    assert found.ends("asyncio.condition") == [("waiter", "satisfied")]


def test_slot_given_to_a_cancelled_waiter_was_never_held(facts):
    found = facts(
        """
        import asyncio, anyio

        async def use(thing):
            async with thing: await anyio.sleep(0)

        async def main():
            for thing in (anyio.Lock(), anyio.Semaphore(1), anyio.CapacityLimiter(1)):
                name = type(thing).__name__
                await thing.acquire()
                task = asyncio.create_task(use(thing), name=f"{name}-cancelled")
                await anyio.sleep(0.01)
                thing.release()
                task.cancel()
                await asyncio.wait([task])
                async with thing: pass
                thing.acquire_nowait()
                thing.release()
        anyio.run(main)
        """
    )
    for channel in ("asyncio.lock", "asyncio.semaphore", "anyio.limiter"):
        (wait,) = found.of(channel)
        assert (wait.end, wait.wake.text.given) == ("cancelled", True)
        assert held(found, wait) == [("__main__.main", True)] * 3


def test_borrower_that_never_gives_its_token_back_keeps_it(facts):
    found = facts(
        """
        import anyio

        async def leak(limiter): await limiter.acquire()

        async def main():
            limiter = anyio.CapacityLimiter(2)
            async with anyio.create_task_group() as group:
                group.start_soon(leak, limiter, name="leak")
            async with limiter:
                with anyio.move_on_after(0.02):
                    await limiter.acquire_on_behalf_of("another")
        anyio.run(main)
        """
    )
    (wait,) = found.of("anyio.limiter")
    assert (wait.end, wait.begin.text.capacity) == ("cancelled", 2) or wait.end == "timeout"
    assert held(found, wait) == [("leak", False), ("__main__.main", True)]
