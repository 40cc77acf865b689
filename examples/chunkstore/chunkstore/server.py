"""A chunk server. The first of its group, the primary, collects writes in batches and forwards them to the others."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from chunkstore.counter import CallCounter
from chunkstore.replication import GROUP, PRIMARY, Write
from chunkstore.store import ChunkStore, DeletionThread
from chunkstore.wire import JSON, Message, Node, PeerUnavailable, Refused

log = logging.getLogger(__name__)

DISK_THREADS = 2
LARGEST_BATCH = 32


@dataclass(frozen=True)
class PendingWrite:
    """A write that waits for its batch, with the id of the message that asked for it."""

    request: str
    write: Write
    answer: asyncio.Future[list[Write]]


class ChunkServer(Node):
    def __init__(self, name: str, data: Path, generation: int, variant: str) -> None:
        super().__init__(name, data, generation)
        self._store = ChunkStore(data / name, variant, CallCounter(data / f"{name}.count"))
        self._disk = ThreadPoolExecutor(DISK_THREADS, "disk")
        self._deletions = DeletionThread(self._store)
        self._pending: asyncio.Queue[PendingWrite] = asyncio.Queue()
        self._behind: set[str] = set()

    async def start(self) -> None:
        incomplete = [] if self.name == PRIMARY else self._store.index.incomplete()
        self._deletions.start()
        self._batcher = asyncio.create_task(self.run_batches())
        await super().start()
        self._recovery = asyncio.create_task(self.recover(incomplete))

    async def stop(self) -> None:
        await super().stop()
        self._deletions.queue.put(None)
        self._deletions.join()

    async def on_write(self, message: Message) -> JSON:
        """Replies when all servers that are online have the write on disk. A secondary passes it on to the primary."""
        if self.name != PRIMARY:
            return await self.call(PRIMARY, "write", message.body)
        answer: asyncio.Future[list[Write]] = asyncio.get_running_loop().create_future()
        await self._pending.put(PendingWrite(message.id, Write(**message.body), answer))
        try:
            return {"writes": [vars(write) for write in await answer]}
        except Refused as problem:
            log.error("Write request failed: %s", problem)
            raise

    async def run_batches(self) -> None:
        """Collects what is waiting into the next batch while the last one is being written."""
        while True:
            batch = [await self._pending.get()]
            while len(batch) < LARGEST_BATCH and not self._pending.empty():
                batch.append(self._pending.get_nowait())
            await self.process_batch(batch)

    async def process_batch(self, batch: list[PendingWrite]) -> None:
        answers: list[list[Write] | Refused]
        try:
            answers = await self._on_disk([pending.write for pending in batch])
        except OSError as problem:
            answers = [Refused(f"chunk {pending.write.chunk}: {problem}") for pending in batch]
        log.info("persisted a batch of %d: %s", len(batch), ", ".join(pending.request for pending in batch))
        answered = list(zip(batch, answers, strict=True))
        writes = [pending.write for pending, answer in answered if not isinstance(answer, Refused)]
        forwarded = {"writes": [vars(write) for write in writes if not write.is_empty]}
        if forwarded["writes"]:
            await asyncio.gather(*(self.forward(peer, forwarded) for peer in GROUP if peer != self.name))
        for pending, answer in answered:
            if isinstance(answer, Refused):
                pending.answer.set_exception(answer)
            else:
                pending.answer.set_result(answer)

    async def forward(self, peer: str, body: JSON) -> None:
        """A secondary that is offline, or has a full disk, misses the batch; it asks for it when it starts again."""
        try:
            await self.call(peer, "replicate", body)
            self._behind.discard(peer)
        except (Refused, PeerUnavailable) as problem:
            if peer not in self._behind:
                log.warning("chunks are under-replicated, %s misses batches: %s", peer, problem)
            self._behind.add(peer)

    async def on_replicate(self, message: Message) -> JSON:
        await self._on_disk([Write(**write) for write in message.body["writes"]])
        return {}

    async def on_read(self, message: Message) -> JSON:
        loop = asyncio.get_running_loop()
        return {"text": await loop.run_in_executor(self._disk, self._store.read, message.body["chunk"])}

    async def on_delete(self, message: Message) -> JSON:
        """Replies at once; the chunk is deleted in the background."""
        chunk = message.body["chunk"]
        log.info("chunk %s is put on the deletion queue, as %s asks", chunk, message.id)
        self._deletions.queue.put(chunk)
        return {}

    async def on_settle(self, message: Message) -> JSON:
        """Replies with this server's counters once it has no recovery and no deletion left to do."""
        await self._recovery
        await asyncio.to_thread(self._deletions.queue.join)
        index = self._store.index
        return {"lookups": index.calls.value, "lookup_ns": index.lookup_ns}

    async def recover(self, incomplete: list[str]) -> None:
        """Completes the chunks that the replayed log shows to be incomplete, from the group member before this one."""
        source = GROUP[GROUP.index(self.name) - 1]
        for chunk in incomplete:
            log.warning("replication log replay found incomplete chunk %s, asking %s for it", chunk, source)
            try:
                missed = await self.call(source, "write", vars(Write(chunk)))
                await self._on_disk([Write(**write) for write in missed["writes"]])
            except (Refused, PeerUnavailable) as problem:
                log.warning("chunk %s stays incomplete: %s", chunk, problem)

    async def _on_disk(self, writes: list[Write]) -> list[list[Write] | Refused]:
        return await asyncio.get_running_loop().run_in_executor(self._disk, self._store.apply, writes)
