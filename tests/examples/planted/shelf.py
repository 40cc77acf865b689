"""Eight kinds of requests to a chunk store of four servers, with a change planted by the environment.

PLANT is "" (no change), "function" (a function takes 20 % longer), "instance" (a server is slower) or "call" (a call is added).
`python run.py client DATA ROUNDS` starts the servers, each in a process, and makes ROUNDS requests of each kind, fewer of the
kinds that write.
"""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from chunkstore import replication

replication.GROUP = GROUP = ("c1", "c2", "c3", "c4")  # before its users read it

from chunkstore.client import Client, texts_for  # noqa: E402  # what is planted comes first
from chunkstore.meta import META, MetaServer  # noqa: E402  # after GROUP
from chunkstore.server import ChunkServer  # noqa: E402  # after GROUP
from chunkstore.store import ChunkStore  # noqa: E402  # after GROUP
from chunkstore.wire import port_file  # noqa: E402  # after GROUP

PLANT = os.environ.get("PLANT", "")
SLOW_SERVER = "c3"
WORK = 0.3
SLOWER, ADDED = 0.3, 0.03
"""In seconds, well above the delays of a busy machine."""


class Disk(ChunkStore):
    """A store with slow reads, slower on one server if that change is planted."""

    def read(self, chunk: str) -> str:
        slow = PLANT == "instance" and f"{os.sep}{SLOW_SERVER}{os.sep}" in f"{self._chunks}{os.sep}"
        time.sleep(0.005 + (SLOWER if slow else 0))
        return super().read(chunk)


class Shelf(Client):
    """Each public method is one request."""

    turns = random.Random(1)

    async def put(self, path: str) -> str:
        return await self.store(path)

    async def get(self, path: str) -> str:
        return await self.fetch(path)

    async def stat(self, path: str) -> int:
        return len((await self.call(META, "locate", {"path": path}))["chunks"])

    async def touch(self, path: str) -> str:
        return (await self.call(META, "allocate", {"path": path}))["chunk"]

    async def copy(self, path: str) -> str:
        await self.fetch(path)
        return await self.store(f"{path}-copy")

    async def verify(self, path: str) -> int:
        return self.checksum(await self.fetch(path))

    async def twice(self, path: str) -> bool:
        same = await self.fetch(path) == await self.fetch(path)
        if PLANT == "call":
            self.audit(path)
        return same

    async def missing(self, path: str) -> bool:
        await self.call(GROUP[0], "settle", {})
        return not await self.stat(path)

    def checksum(self, text: str) -> int:
        time.sleep(WORK * 1.2 if PLANT == "function" else WORK)
        return hash(text)

    def audit(self, path: str) -> None:
        time.sleep(ADDED)

    async def store(self, path: str) -> str:
        chunk = (await self.call(META, "allocate", {"path": path}))["chunk"]
        await self.call(GROUP[0], "write", {"chunk": chunk, "part": 0, "text": texts_for("x")[0]})
        await self.call(GROUP[0], "write", {"chunk": chunk, "length": 1})
        return chunk

    async def fetch(self, path: str) -> str:
        """Return the text of a chunk from a random server."""
        chunk = (await self.call(META, "locate", {"path": path}))["chunks"][0]
        return (await self.call(self.turns.choice(GROUP), "read", {"chunk": chunk}))["text"]


async def serve(name: str, data: Path) -> None:
    server = ChunkServer(name, data, 1, "before")
    server._store = server._deletions._store = Disk(data / name, "before", server._store.index.calls)
    await server.start()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()


async def ask(data: Path, rounds: int) -> None:
    meta, shelf = MetaServer(META, data, 1), Shelf("client", data, 1)
    await meta.start()
    while not all(port_file(data, server).exists() for server in GROUP):
        await asyncio.sleep(0.01)
    await shelf.store("/first")
    for number in range(rounds):
        for kind in (shelf.get, shelf.stat, shelf.touch, shelf.verify, shelf.twice, shelf.missing):
            await kind("/first" if kind != shelf.touch else "/other")
        for kind in (shelf.put, shelf.copy) if number % 6 == 0 else ():
            await kind("/first")
    await shelf.stop()
    await meta.stop()


def main(role: str, data: Path, rest: str) -> None:
    if role != "client":
        asyncio.run(serve(role, data))
        return
    data.mkdir(parents=True)
    command = [sys.executable, sys.argv[0]]
    servers = [subprocess.Popen([*command, name, str(data), ""], stdin=subprocess.PIPE) for name in GROUP]
    try:
        asyncio.run(ask(data, int(rest)))
    finally:
        for server in servers:
            server.communicate()
