"""A token is given to a task that was cancelled meanwhile, and the next in line is not told: agronholm/anyio#947.

The maintainers: the cancelled task has to notify the next one; right since 4.10.0 (#952).
"""

import asyncio
import logging

import anyio

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("photos")


async def shrink(limiter: anyio.CapacityLimiter, photo: str) -> None:
    async with limiter:
        await asyncio.sleep(0.05)
        log.info("shrunk %s", photo)


async def main() -> None:
    limiter = anyio.CapacityLimiter(1)
    async with limiter:
        castle = asyncio.create_task(shrink(limiter, "castle"), name="shrink-castle")
        dunes = asyncio.create_task(shrink(limiter, "dunes"), name="shrink-dunes")
        await asyncio.sleep(0.1)
        log.info("the index is read")
    castle.cancel()
    done, _ = await asyncio.wait({dunes}, timeout=1.5)
    if not done:
        log.error("dunes still waits, with %d of 1 tokens free", limiter.available_tokens)
        dunes.cancel()


asyncio.run(main())
