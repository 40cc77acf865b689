"""The client, and the pieces of work that the stories have client processes do with one."""

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Awaitable, Callable

from chunkstore.meta import META
from chunkstore.replication import PRIMARY
from chunkstore.store import PART_SIZE
from chunkstore.wire import JSON, Node, PeerUnavailable

log = logging.getLogger(__name__)


class Client(Node):
    """Each of `write`, `read` and `delete` is one request of a user, whatever messages it takes."""

    async def write(self, path: str, texts: list[str], seal: bool = True) -> str:
        """Adds a chunk to a file, all its parts at once, and returns the chunk's id. Unsealed, it can still grow."""
        chunk: str = (await self.call(META, "allocate", {"path": path}))["chunk"]
        parts = [{"chunk": chunk, "part": part, "text": text} for part, text in enumerate(texts)]
        await asyncio.gather(*(self.call(PRIMARY, "write", part) for part in parts))
        if seal:
            await self.call(PRIMARY, "write", {"chunk": chunk, "length": len(texts)})
        return chunk

    async def read(self, path: str) -> str:
        """The text of a file, as the primary holds it."""
        chunks = (await self.call(META, "locate", {"path": path}))["chunks"]
        replies = [await self.call(PRIMARY, "read", {"chunk": chunk}) for chunk in chunks]
        return "".join(reply["text"] for reply in replies)

    async def delete(self, path: str) -> JSON:
        """Removes a file; returns its "chunks" and the servers that were "told" to delete them."""
        return await self.call(META, "remove", {"path": path})


def texts_for(path: str) -> list[str]:
    return [f"{path} part {part} ".ljust(PART_SIZE, ".") for part in range(4)]


async def begin(client: Client, terminated: asyncio.Event, path: str) -> JSON:
    """Writes a chunk and leaves it open."""
    return {"chunk": await client.write(path, texts_for(path), seal=False)}


async def delete(client: Client, terminated: asyncio.Event, path: str) -> JSON:
    """Deletes a file and waits until the servers that were told have done it."""
    removed = await client.delete(path)
    await settle(client, terminated, *removed["told"])
    return removed


async def settle(client: Client, terminated: asyncio.Event, *servers: str) -> JSON:
    """Waits until servers have nothing left to do in the background, and returns their counters."""
    return {server: await client.call(server, "settle", {}) for server in servers}


async def load(client: Client, terminated: asyncio.Event, pause: str) -> JSON:
    """Writes a chunk every `pause` seconds, until it is terminated or the primary is lost. Says when it begins."""
    print("begun", flush=True)
    acknowledged = 0
    try:
        while not terminated.is_set():
            await client.write(f"/{client.name}", texts_for(f"/{client.name}"))
            acknowledged += 1
            await asyncio.sleep(float(pause))
    except PeerUnavailable as problem:
        log.warning("the load ends: %s", problem)
    return {"acknowledged": acknowledged}


async def job(client: Client, terminated: asyncio.Event, files: str) -> JSON:
    """Writes files; reads each of them back, and an older one; returns a digest of all that it has read."""
    rng = random.Random(client.name)
    digest = hashlib.sha256()
    started = time.perf_counter()
    for number in range(int(files)):
        path = f"/{client.name}/{number}"
        await client.write(path, texts_for(path))
        for wanted in (path, f"/{client.name}/{rng.randint(0, number)}"):
            digest.update((await client.read(wanted)).encode())
    return {"seconds": time.perf_counter() - started, "digest": digest.hexdigest()}


WORK: dict[str, Callable[..., Awaitable[JSON]]] = {work.__name__: work for work in (begin, delete, settle, load, job)}
