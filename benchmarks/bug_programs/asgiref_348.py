"""Deadlock through an executor of one thread, reported as django/asgiref#348.

The middleware occupies the thread of the context and waits for the view, whose database call waits for the same thread.
"""

import asyncio
import logging

from asgiref.sync import ThreadSensitiveContext, async_to_sync, sync_to_async

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("shop")


def load_row() -> str:
    return "row"


async def view() -> str | None:
    try:
        return await asyncio.wait_for(sync_to_async(load_row, thread_sensitive=True)(), timeout=1)
    except TimeoutError:
        log.error("the view gave up on the database")
    return None


def middleware() -> str | None:
    return async_to_sync(view)()


async def serve() -> str | None:
    async with ThreadSensitiveContext():
        return await sync_to_async(middleware, thread_sensitive=True)()


log.info("answer: %s", asyncio.run(serve()))
