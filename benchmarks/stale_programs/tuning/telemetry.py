"""A meter loses the samples that arrive while it is flushed, because the flush sets the total that it read before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("telemetry")


def make_meter(send: Callable[[int], Awaitable[int]]):
    """Return functions that add a sample, flush the meter, and tell what it has not sent."""
    unsent = 0

    def sample(count: int = 1) -> None:
        nonlocal unsent
        unsent = unsent + count

    async def flush() -> None:
        nonlocal unsent
        unsent = unsent - await send(unsent)

    def rest() -> int:
        return unsent

    return sample, flush, rest


class Collector:
    def __init__(self) -> None:
        self.received = 0
        self.connected = asyncio.Event()
        self.waiting = asyncio.Event()

    async def send(self, count: int) -> int:
        self.waiting.set()
        await self.connected.wait()
        self.received += count
        return count


async def flush_once(flush: Callable[[], Awaitable[None]]) -> None:
    await flush()


async def handle_requests(sample: Callable[[], None], collector: Collector) -> None:
    await collector.waiting.wait()
    for _ in range(2):
        sample()
    collector.connected.set()


async def main() -> None:
    collector = Collector()
    sample, flush, rest = make_meter(collector.send)
    for _ in range(3):
        sample()
    flushing = asyncio.create_task(flush_once(flush), name="flusher")
    handling = asyncio.create_task(handle_requests(sample, collector), name="requests")
    await asyncio.gather(flushing, handling)
    missing = 5 - collector.received - rest()
    if missing:
        log.error("%d samples are missing", missing)


asyncio.run(main())
