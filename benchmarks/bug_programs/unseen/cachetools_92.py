"""A cache keeps the coroutine instead of its result, and the second caller awaits it again: tkem/cachetools#92.

The same with `functools.lru_cache`: python/cpython#79221 and #90780.
"""

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import cachetools

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("prices")


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@plain if "plain" in sys.argv else cachetools.cached(cachetools.TTLCache(100, ttl=60))
async def rate(currency: str) -> float:
    await asyncio.sleep(0.05)
    return {"USD": 1.1, "GBP": 0.9}[currency]


async def offer(article: str, price: float) -> None:
    try:
        log.info("%s costs %.2f USD", article, price * await rate("USD"))
    except RuntimeError:
        log.exception("no price for %s", article)


async def main() -> None:
    await asyncio.create_task(offer("lamp", 20), name="offer-lamp")
    await asyncio.sleep(0.2)
    await asyncio.create_task(offer("chair", 45), name="offer-chair")


asyncio.run(main())
