"""A condition's notification is lost with a cancelled waiter, reported as python/cpython#112202."""

import asyncio
import logging

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("stock")


async def main() -> None:
    filled = asyncio.Condition()
    items: list[int] = []

    async def take() -> int:
        async with filled:
            await filled.wait_for(lambda: items)
            return items.pop()

    first = asyncio.create_task(take(), name="taker-1")
    second = asyncio.create_task(take(), name="taker-2")
    await asyncio.sleep(0.01)
    async with filled:
        items.append(1)
        filled.notify(1)
    first.cancel()
    try:
        await asyncio.wait_for(second, 1)
        log.info("taker-2 has its item")
    except TimeoutError:
        log.error("taker-2 still waits, items left: %d", len(items))


asyncio.run(main())
