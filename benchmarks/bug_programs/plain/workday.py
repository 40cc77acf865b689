"""Much is handled in the course of a day; the lines at its end have nothing to do with it."""

import asyncio
import io
import logging
import time
from concurrent.futures import ThreadPoolExecutor

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("workday")


def nap() -> None:
    with ThreadPoolExecutor(1) as pool:
        sleeping = pool.submit(time.sleep, 0.3)
        try:
            sleeping.result(0.1)
        except TimeoutError:
            log.info("the nap takes longer")


def label() -> None:
    text = io.StringIO()
    text.close()
    try:
        text.write("fragile")
    except ValueError:
        log.info("the label is not printed")


async def clean() -> str:
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        await asyncio.sleep(0.05)
    return "half of the floor"


async def order(part: str) -> None:
    await asyncio.sleep(0.05)
    if part == "axle":
        raise LookupError("axle is sold out")
    await asyncio.sleep(5)


async def queue_up(slot: asyncio.Semaphore) -> None:
    async with slot:
        log.info("got in")


async def trade() -> None:
    cleaning = asyncio.create_task(clean(), name="clean")
    await asyncio.sleep(0.05)
    cleaning.cancel()
    log.info("cleaned %s", await cleaning)
    try:
        async with asyncio.timeout(0.1):
            await asyncio.Event().wait()
    except TimeoutError:
        log.info("nobody rang")
    slot = asyncio.Semaphore(1)
    async with slot:
        visitor = asyncio.create_task(queue_up(slot), name="visitor")
        await asyncio.sleep(0.05)
        visitor.cancel()
    try:
        async with asyncio.TaskGroup() as group:
            for part in ("axle", "wheel"):
                group.create_task(order(part), name=f"order-{part}")
    except* LookupError as error:
        log.error("no bicycle: %s", error.exceptions[0])
    await asyncio.sleep(0.1)
    check("milk", 0)


def check(article: str, left: int) -> None:
    if not left:
        log.error("%s is out", article)


def main() -> None:
    nap()
    label()
    check("paper", 0)
    asyncio.run(trade())
    check("ink", 0)


main()
