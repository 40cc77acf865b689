"""A thread puts into an asyncio queue, and the loop sleeps on: caproto/caproto#627 (reactpy#222, python/cpython#97970).

The maintainers: `put_nowait` is not thread-safe; it does not wake up the loop's selector, `call_soon_threadsafe` does.
"""

import asyncio
import logging
import sys
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("greenhouse")


def read_sensor(readings: asyncio.Queue[float], loop: asyncio.AbstractEventLoop) -> None:
    time.sleep(0.3)
    if "safe" in sys.argv:
        loop.call_soon_threadsafe(readings.put_nowait, time.monotonic())
    else:
        readings.put_nowait(time.monotonic())


async def heartbeat() -> None:
    while True:
        await asyncio.sleep(2)
        log.info("alive")


async def show(readings: asyncio.Queue[float]) -> None:
    taken = await readings.get()
    late = time.monotonic() - taken
    if late > 1:
        log.error("the reading is shown %.1f s late", late)
    else:
        log.info("the reading is shown")


async def main() -> None:
    readings: asyncio.Queue[float] = asyncio.Queue()
    beat = asyncio.create_task(heartbeat(), name="heartbeat")
    sensor = threading.Thread(target=read_sensor, args=(readings, asyncio.get_running_loop()), name="sensor")
    sensor.start()
    await asyncio.create_task(show(readings), name="show")
    beat.cancel()


asyncio.run(main())
