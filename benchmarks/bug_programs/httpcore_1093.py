"""A cancelled request keeps its slot of the pool, reported as encode/httpcore#1093."""

import asyncio
import contextlib
import logging
import sys

import httpcore

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("client")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()


async def main(impatient: bool) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with httpcore.AsyncConnectionPool(max_connections=1) as pool:
        tasks = [asyncio.create_task(pool.request("GET", url), name=f"get-{number}") for number in range(2)]
        await asyncio.sleep(0)
        if impatient:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        log.info("connections: %r", pool.connections)
        try:
            await pool.request("GET", url, extensions={"timeout": {"pool": 1.0}})
            log.info("answered")
        except httpcore.PoolTimeout:
            log.error("no free connection, while the server is idle")
    server.close()
    await asyncio.sleep(0.05)


asyncio.run(main("cancel" in sys.argv))
