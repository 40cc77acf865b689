"""A retry takes a cancellation for a failure and tries again: jd/tenacity#529.

`retry_if_not_exception_type` retries all other exceptions, `CancelledError` included.
"""

import asyncio
import logging
import sys

import tenacity

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("sync")
if "only" in sys.argv:
    condition = tenacity.retry_if_exception_type(OSError)
else:
    condition = tenacity.retry_if_not_exception_type(ValueError)


@tenacity.retry(retry=condition, wait=tenacity.wait_fixed(0.1), stop=tenacity.stop_after_attempt(5))
async def upload(name: str) -> None:
    log.info("upload of %s begins", name)
    await asyncio.sleep(0.6)


async def sync_all() -> None:
    for name in ("letters", "photos"):
        await upload(name)


async def main() -> None:
    job = asyncio.create_task(sync_all(), name="sync-all")
    await asyncio.sleep(0.2)
    log.info("shutting down")
    job.cancel()
    done, _ = await asyncio.wait({job}, timeout=0.5)
    if done:
        log.info("everything has stopped")
    else:
        log.error("sync did not stop, leaving without it")


asyncio.run(main())
