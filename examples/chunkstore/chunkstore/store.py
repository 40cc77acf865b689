"""The chunks of one server on its disk, and the thread that deletes them. Everything here blocks."""

import logging
import queue
import threading
from pathlib import Path

from chunkstore.counter import CallCounter
from chunkstore.index import ChunkIndex
from chunkstore.replication import ChunkRow, ReplicationLog, Write
from chunkstore.wire import Refused

log = logging.getLogger(__name__)

PART_SIZE = 64


class ChunkStore:
    def __init__(self, directory: Path, variant: str, calls: CallCounter) -> None:
        self._chunks = directory / "chunks"
        self._chunks.mkdir(parents=True, exist_ok=True)
        self._log = ReplicationLog(directory / "replication.log")
        self._changing = threading.Lock()
        self.index = ChunkIndex(self._log.replay(), variant, calls)

    def apply(self, writes: list[Write]) -> list[list[Write] | Refused]:
        """Persists a batch of writes. Each is answered with a list of writes (what an empty write asked for, else
        nothing) or with the reason why it failed, which does not keep the others from being persisted."""
        answers: list[list[Write] | Refused] = []
        persisted = []
        with self._changing:
            for write in writes:
                try:
                    answers.append(self._apply_one(write))
                    persisted.append(write)
                except Refused as problem:
                    answers.append(problem)
            self._log.append(write for write in persisted if not write.is_empty)
        return answers

    def read(self, chunk: str) -> str:
        row = self.index.lookup(chunk)
        if row is None or row.deleted or not row.is_complete:
            raise Refused(f"chunk {chunk} cannot be read: it is deleted, incomplete or was never here")
        return (self._chunks / chunk).read_text()

    def delete(self, chunk: str) -> None:
        with self._changing:
            self.index.mark_deleted(chunk)
            self._log.append([Write(chunk, deleted=True)])
            (self._chunks / chunk).unlink(missing_ok=True)

    def _apply_one(self, write: Write) -> list[Write]:
        row = self.index.lookup(write.chunk) or self.index.insert(write.chunk)
        if row.deleted:
            log.warning("chunk %s is marked as deleted", write.chunk)
            raise Refused(f"chunk {write.chunk} is marked as deleted")
        if write.is_empty:
            return self._content(row)
        if write.part is not None:
            self._write_part(write.chunk, write.part, write.text.encode())
        row.take(write)
        return []

    def _write_part(self, chunk: str, part: int, data: bytes) -> None:
        if len(data) != PART_SIZE:
            raise Refused(f"part {part} of chunk {chunk} has {len(data)} bytes instead of {PART_SIZE}")
        (self._chunks / chunk).touch()
        with (self._chunks / chunk).open("r+b") as file:
            file.seek(part * PART_SIZE)
            file.write(data)

    def _content(self, row: ChunkRow) -> list[Write]:
        """The writes that make a chunk what it is here."""
        text = (self._chunks / row.chunk).read_text() if row.parts else ""
        parts = [Write(row.chunk, part, text[part * PART_SIZE : (part + 1) * PART_SIZE]) for part in sorted(row.parts)]
        return parts if row.length is None else [*parts, Write(row.chunk, length=row.length)]


class DeletionThread(threading.Thread):
    """Deletes, in the background, the chunks that are put on its queue; ends when None is."""

    def __init__(self, store: ChunkStore) -> None:
        super().__init__(name="deletion")
        self._store = store
        self.queue: queue.Queue[str | None] = queue.Queue()

    def run(self) -> None:
        while (chunk := self.queue.get()) is not None:
            try:
                self._store.delete(chunk)
            except OSError:
                log.exception("chunk %s could not be deleted", chunk)
            self.queue.task_done()
