"""Requests that wait for a connection occupy the threads that would give one back: fastapi/fastapi#3205.

The maintainers: the dependency's end needs a thread of the same limiter; right since 0.82.0 (#5122). The numbers are
small here: two threads, one connection.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import Iterator

import anyio.to_thread
import httpx
from fastapi import Depends, FastAPI
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
logging.getLogger("httpx").setLevel("WARNING")
log = logging.getLogger("client")
folder = tempfile.TemporaryDirectory()
engine = create_engine(
    f"sqlite:///{folder.name}/shop.db", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=1.5
)
app = FastAPI()


def get_session() -> Iterator[Session]:
    session = Session(engine)
    try:
        yield session
    finally:
        session.close()


@app.get("/items/{number}")
def read_item(number: int, session: Session = Depends(get_session)) -> dict[str, int]:  # noqa: B008  # FastAPI reads the default as a declaration and never calls it here
    price = session.execute(text("select 40 + :number"), {"number": number}).scalar_one()
    time.sleep(0.2)
    return {"price": price}


async def visit(client: httpx.AsyncClient, number: int) -> None:
    try:
        answer = await client.get(f"/items/{number}")
        log.info("item %d: %s", number, answer.json())
    except Exception as error:
        log.error("item %d failed: %s", number, str(error).splitlines()[0])


async def main() -> None:
    anyio.to_thread.current_default_thread_limiter().total_tokens = 2
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop", timeout=10) as client:
        await asyncio.gather(*(asyncio.create_task(visit(client, n), name=f"visit-{n}") for n in (1, 2, 3)))


asyncio.run(main())
