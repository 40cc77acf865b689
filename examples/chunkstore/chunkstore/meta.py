"""The meta server: which chunks make up which file. It keeps this in memory only."""

import asyncio
import logging
from pathlib import Path

from chunkstore.replication import GROUP
from chunkstore.wire import JSON, Message, Node, PeerUnavailable, Refused

log = logging.getLogger(__name__)

META = "meta"


class MetaServer(Node):
    def __init__(self, name: str, data: Path, generation: int) -> None:
        super().__init__(name, data, generation)
        self._files: dict[str, list[str]] = {}
        self._allocated = 0

    async def on_allocate(self, message: Message) -> JSON:
        """Adds a chunk to the end of a file, which exists from its first chunk on."""
        self._allocated += 1
        chunk = f"chunk-{self._allocated:04}"
        self._files.setdefault(message.body["path"], []).append(chunk)
        return {"chunk": chunk}

    async def on_locate(self, message: Message) -> JSON:
        path = message.body["path"]
        if path not in self._files:
            raise Refused(f"there is no file {path}")
        return {"chunks": self._files[path]}

    async def on_remove(self, message: Message) -> JSON:
        """Removes a file; replies with its chunks and the servers that were told to delete them."""
        chunks: list[str] = self._files.pop(message.body["path"], [])
        told = await asyncio.gather(*(self.delete(server, chunks) for server in GROUP))
        return {"chunks": chunks, "told": [server for server, was_told in zip(GROUP, told, strict=True) if was_told]}

    async def delete(self, server: str, chunks: list[str]) -> bool:
        """Whether a server could be told to delete chunks. One that is offline is not told again: this is the bug
        behind the failed-write story."""
        try:
            for chunk in chunks:
                log.info("chunk %s belongs to no file any more, %s is to delete it", chunk, server)
                await self.call(server, "delete", {"chunk": chunk})
        except PeerUnavailable as problem:
            log.warning("%s was not told to delete chunk %s: %s", server, chunk, problem)
            return False
        return True
