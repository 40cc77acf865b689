"""Cancellation interrupts the closing of connections, which the pool then forgets: sqlalchemy/sqlalchemy#12077."""

import asyncio
import logging
import sys

import anyio
import asyncpg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("orders")
PORT = int(sys.argv[1])
COUNT = """
select count(*) from pg_stat_activity
where state like 'idle%' and pid <> pg_backend_pid() and datname = 'postgres'
"""


async def main() -> None:
    engine = create_async_engine(
        f"postgresql+asyncpg://postgres@127.0.0.1:{PORT}/postgres", pool_size=2, max_overflow=0
    )

    async def order() -> None:
        async with engine.begin() as connection:
            await connection.execute(text("select 1"))
            await anyio.sleep(1)

    for _ in range(5):
        async with anyio.create_task_group() as group:
            group.start_soon(order)
            await anyio.sleep(0.2)
            group.cancel_scope.cancel()
    connection = await asyncpg.connect(host="127.0.0.1", port=PORT, user="postgres", database="postgres")
    count = await connection.fetchval(COUNT)
    level = logging.ERROR if count > 2 else logging.INFO
    log.log(level, "the server has %d connections of a pool of two", count)


asyncio.run(main())
