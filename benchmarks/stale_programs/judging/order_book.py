"""A resynchronization replaces an order book by a snapshot that is older than the changes that were applied meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(levelname)s %(message)s")
log = logging.getLogger("market")


class Book:
    def __init__(self, number: int, bids: Mapping[int, int]) -> None:
        self.number = number
        self.bids = dict(bids)

    def change(self, number: int, price: int, amount: int) -> None:
        self.bids[price] = amount
        self.number = number

    @property
    def best(self) -> int:
        return max(price for price, amount in self.bids.items() if amount)


class Market:
    book: Book

    def __init__(self) -> None:
        self.adopt(Book(1, {100: 5, 99: 8}))
        self.snapshot_read = asyncio.Event()
        self.snapshot_arrives = asyncio.Event()

    def adopt(self, book: Book) -> None:
        self.book = book

    async def fetch_snapshot(self) -> Book:
        copy = Book(self.book.number, self.book.bids)
        self.snapshot_read.set()
        await self.snapshot_arrives.wait()
        return copy


async def resynchronize(market: Market) -> None:
    market.adopt(await market.fetch_snapshot())


async def follow(market: Market, changes: asyncio.Queue[tuple[int, int, int]]) -> None:
    await market.snapshot_read.wait()
    while not changes.empty():
        market.book.change(*changes.get_nowait())
    market.snapshot_arrives.set()


async def trade(market: Market) -> None:
    if market.book.number < 3:
        raise LookupError(f"best bid {market.book.best} is of change {market.book.number}, not 3")


async def main() -> None:
    market = Market()
    changes: asyncio.Queue[tuple[int, int, int]] = asyncio.Queue()
    for change in ((2, 101, 4), (3, 102, 1)):
        changes.put_nowait(change)
    follower = asyncio.create_task(follow(market, changes), name="feed")
    await asyncio.create_task(resynchronize(market), name="resync")
    await follower
    await asyncio.create_task(trade(market), name="trader")


asyncio.run(main())
