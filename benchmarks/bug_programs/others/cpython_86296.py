"""`asyncio.wait_for` hides a cancellation that arrives with the result, reported as python/cpython#86296 (bpo-42130).

The worker was cancelled and goes on for ever; the maintainers rewrote `wait_for` for 3.12.
"""

import asyncio
import logging

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("mailer")


async def send_mails(mails: asyncio.Queue[str]) -> None:
    while True:
        mail = await asyncio.wait_for(mails.get(), timeout=30)
        log.info("sent %s", mail)


async def main() -> None:
    mails: asyncio.Queue[str] = asyncio.Queue()
    worker = asyncio.create_task(send_mails(mails), name="mail-worker")
    await asyncio.sleep(0.05)
    mails.put_nowait("welcome")
    await asyncio.sleep(0)
    worker.cancel()
    done, _ = await asyncio.wait({worker}, timeout=1)
    if done:
        log.info("the worker ended")
    else:
        log.error("the worker ignored its cancellation")


asyncio.run(main())
