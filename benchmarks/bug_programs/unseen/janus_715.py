"""`join` of a queue spins for ever and stops the whole event loop: aio-libs/janus#715; right since 1.2.0.

The maintainers: the event of `join` can be set although a task is unfinished; its wait then returns at once, in a loop.
"""

import asyncio
import logging
import os
import threading
import time

import janus

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("printer")
beats: list[float] = []


def watch() -> None:
    time.sleep(2)
    silent = time.monotonic() - beats[-1]
    if silent > 1:
        log.error("no heartbeat for %.1f s", silent)
    os._exit(3 if silent > 1 else 0)


async def heartbeat() -> None:
    while True:
        beats.append(time.monotonic())
        await asyncio.sleep(0.1)


async def print_pages(pages: "janus.Queue[str]") -> None:
    await pages.async_q.put("cover")
    await asyncio.sleep(0.2)
    pages.sync_q.get()
    pages.sync_q.task_done()
    await pages.async_q.put("index")
    await pages.async_q.join()


async def finish_late(pages: "janus.Queue[str]") -> None:
    await asyncio.sleep(0.6)
    await pages.async_q.get()
    pages.async_q.task_done()
    log.info("all is printed")


async def main() -> None:
    threading.Thread(target=watch, name="watchdog").start()
    pages: janus.Queue[str] = janus.Queue()
    tasks = [
        asyncio.create_task(heartbeat(), name="heartbeat"),
        asyncio.create_task(print_pages(pages), name="print-pages"),
        asyncio.create_task(finish_late(pages), name="finish"),
    ]
    await asyncio.gather(*tasks)


asyncio.run(main())
