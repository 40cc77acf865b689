"""A shop: FastAPI, SQLAlchemy over aiosqlite, a redis cache, and a second service for stock that it asks with httpx.

Run as `python shop.py PORT STOCK_PORT REDIS_PORT FOLDER`. `GET /cpu` returns the CPU seconds of this process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import JSONResponse
from redis.asyncio import Redis
from sqlalchemy import String, select, update
from sqlalchemy.exc import NoResultFound, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

PORT, STOCK_PORT, REDIS_PORT = (int(word) for word in sys.argv[1:4])
FOLDER = Path(sys.argv[4])
ITEMS = 200

logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("shop")


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    sku: Mapped[str] = mapped_column(String(40), primary_key=True)
    title: Mapped[str] = mapped_column(String(80))
    left: Mapped[int]


def engine(name: str, **options: object) -> AsyncEngine:
    return create_async_engine(f"sqlite+aiosqlite:///{FOLDER / name}", **options)


items = engine("items.db", pool_size=8)
ledger = engine("ledger.db", pool_size=8, connect_args={"timeout": 0.3})
reports = engine("items.db", pool_size=1, max_overflow=0, pool_timeout=0.3)
cache = Redis(host="127.0.0.1", port=REDIS_PORT, decode_responses=True)
stock = httpx.AsyncClient(base_url=f"http://127.0.0.1:{STOCK_PORT}", timeout=httpx.Timeout(2, read=0.5))


async def fill(where: AsyncEngine) -> None:
    async with where.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with AsyncSession(where) as session, session.begin():
        session.add_all(Item(sku=f"sku-{number}", title=f"Item {number}", left=50) for number in range(ITEMS))


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    await fill(items)
    await fill(ledger)
    yield
    await stock.aclose()
    await cache.aclose()
    for one in (items, ledger, reports):
        await one.dispose()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(httpx.HTTPError)
async def upstream_failed(_request: object, error: httpx.HTTPError) -> JSONResponse:
    log.error("stock failed for %s: %s", error.request.url.path, type(error).__name__)
    return JSONResponse({"error": "stock"}, status_code=502)


@app.get("/cpu")
async def cpu() -> float:
    return time.process_time()


# ---- Items: database, cache, second service ----


async def load_item(sku: str) -> Item:
    async with AsyncSession(items) as session:
        return (await session.execute(select(Item).where(Item.sku == sku))).scalar_one()


async def cached_price(sku: str) -> dict[str, object] | None:
    text = await cache.get(f"price:{sku}")
    return json.loads(text) if text is not None else None


async def keep_price(sku: str, cents: int) -> None:
    await cache.set(f"price:{sku}", json.dumps({"sku": sku, "cents": cents}))


async def ask_stock(path: str) -> dict[str, object]:
    answer = await stock.get(path)
    answer.raise_for_status()
    return answer.json()


@app.get("/items/{sku}")
async def show_item(sku: str, order: int) -> dict[str, object]:
    try:
        item = await load_item(sku)
    except NoResultFound:
        log.error("order %d: there is no item %s", order, sku)
        raise HTTPException(404) from None
    price = await cached_price(sku)
    if price is None:
        await keep_price(sku, 100 + len(item.title))
    return {"sku": item.sku, "title": item.title, "price": price}


@app.get("/offers/{sku}")
async def make_offer(sku: str, order: int) -> dict[str, object]:
    try:
        price = await cached_price(sku)
    except ValueError:
        log.error("order %d: the price of %s cannot be read", order, sku)
        raise HTTPException(500) from None
    if price is not None and price["cents"] <= 0:
        log.error("order %d: the price of %s is %s cents", order, sku, price["cents"])
        raise HTTPException(500)
    return {"sku": sku, "offer": price}


@app.get("/stock/{sku}")
async def show_stock(sku: str, order: int) -> dict[str, object]:
    depot, count = await asyncio.gather(ask_stock(f"/depots/{sku}"), ask_stock(f"/counts/{sku}"))
    return {"sku": sku, **depot, **count}


@app.get("/availability/{sku}")
async def availability(sku: str, order: int) -> dict[str, object]:
    try:
        count = await ask_stock(f"/counts/{sku}")
    except httpx.TimeoutException:
        log.exception("order %d: stock did not answer in time", order)
        raise HTTPException(504) from None
    item = await load_item(sku)
    return {"sku": sku, "left": item.left, **count}


# ---- Prices: written into the cache ----


@app.put("/prices/{sku}")
async def set_price(sku: str, cents: int) -> dict[str, object]:
    await keep_price(sku, cents)
    return {"sku": sku}


@app.put("/imports/{sku}")
async def import_price(sku: str, cents: str) -> dict[str, object]:
    await cache.set(f"price:{sku}", f'{{"sku": "{sku}", "cents": {cents}')  # the last brace is missing
    return {"sku": sku}


# ---- Ledger: transactions that lock ----


@app.post("/ledger/{sku}")
async def book(sku: str, order: int, pause: float = 0) -> dict[str, object]:
    try:
        async with AsyncSession(ledger) as session, session.begin():
            await session.execute(update(Item).where(Item.sku == sku).values(left=Item.left - 1))
            await check_balance(pause)
    except OperationalError as error:
        log.error("order %d: cannot book %s: %s", order, sku, error.orig)
        raise HTTPException(503) from None
    return {"sku": sku}


async def check_balance(pause: float) -> None:
    await asyncio.sleep(pause)


# ---- Reports: a small pool ----


@app.get("/reports/{sku}")
async def report(sku: str, order: int, pause: float = 0) -> dict[str, object]:
    try:
        async with AsyncSession(reports) as session:
            found = (await session.execute(select(Item).where(Item.sku == sku))).scalar_one()
            await render(pause)
            return {"sku": found.sku, "left": found.left}
    except PoolTimeout:
        log.error("order %d: no connection for the report of %s", order, sku)
        raise HTTPException(503) from None


async def render(pause: float) -> None:
    await asyncio.sleep(pause)


if __name__ == "__main__":
    uvicorn.run(app, port=PORT, log_level="warning", loop="asyncio", http="h11")
