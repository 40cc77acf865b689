"""A cancelled command leaves its reply to the next user of the connection, reported as redis/redis-py#2624 and #2665."""

import asyncio
import logging
import os
import sys

from redis.asyncio import Redis

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("sessions")
SERVER = int(sys.argv[1])


async def delayed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        await asyncio.sleep(0.05)
        writer.write(data)
        await writer.drain()
    writer.close()


async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", SERVER)
    await asyncio.gather(delayed(reader, there_writer), delayed(there_reader, writer))


async def load(redis: Redis, user: str) -> bytes:
    return await redis.get(f"session:{user}")


async def main() -> None:
    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    redis = Redis(host="127.0.0.1", port=port, max_connections=1)
    await redis.set("session:carol", "CAROL")
    await redis.set("session:dave", "DAVE")
    first = asyncio.create_task(load(redis, "carol"), name="request-carol")
    await asyncio.sleep(0.06)
    first.cancel()
    try:
        await first
    except asyncio.CancelledError:
        log.warning("carol left")
    answer = await asyncio.create_task(load(redis, "dave"), name="request-dave")
    if answer != b"DAVE":
        log.error("dave was given %r", answer)
    else:
        log.info("dave has his session")
    logging.shutdown()
    os._exit(0)


asyncio.run(main())
