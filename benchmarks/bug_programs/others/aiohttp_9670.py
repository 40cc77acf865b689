"""A freed connection slot is given to a request that was cancelled meanwhile, and lost: aio-libs/aiohttp#9670.

The maintainers: the waiter that was woken up does not go on, so it wakes up no other; the connector was not
cancellation-safe.
"""

import asyncio
import logging
import sys

import aiohttp
from aiohttp import web

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("client")


async def page(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"page")
    if "slow" in request.query:
        await asyncio.sleep(0.3)
    return response


async def main() -> None:
    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"

    async def get() -> str:
        async with session.get(url) as response:
            return await response.text()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
        first = asyncio.create_task(session.get(url + "?slow=1"), name="get-first")
        response = await first
        second = asyncio.create_task(get(), name="get-second")
        third = asyncio.create_task(get(), name="get-third")
        await asyncio.sleep(0.05)
        response.close()
        if "cancel" in sys.argv:
            second.cancel()
        done, _ = await asyncio.wait({third}, timeout=1.5)
        if done:
            log.info("the third page came")
        else:
            log.error("the third page never came, and no request is under way")
            third.cancel()
    await runner.cleanup()


asyncio.run(main())
