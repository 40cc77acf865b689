"""The table of a server's chunks, and the index that finds a chunk in it by id."""

import logging
import threading
from time import perf_counter_ns

from chunkstore.counter import CallCounter
from chunkstore.replication import ChunkRow

log = logging.getLogger(__name__)

VARIANTS = ("before", "after")


def to_columns(row: ChunkRow, variant: str) -> dict[str, object]:
    """The columns that an index can be created on. This is the code change of the slow-job story: "after" renames the
    first column, and nobody thought of the index."""
    key = "chunk" if variant == "before" else "chunk_id"
    return {key: row.chunk, "length": row.length, "deleted": row.deleted}


class ChunkIndex:
    """Its methods may be called from any thread. Who changes a row guards the change."""

    def __init__(self, rows: list[ChunkRow], variant: str, calls: CallCounter) -> None:
        self._rows = rows
        self._by_chunk = self._create_index(variant)
        self._lock = threading.Lock()
        self.calls = calls
        self.lookup_ns = 0

    def lookup(self, chunk_id: str) -> ChunkRow | None:
        """The row of a chunk by its primary key, or None if this server never held it."""
        self.calls.increment()
        found = None
        with self._lock:
            started = perf_counter_ns()
            if self._by_chunk is not None:
                found = self._by_chunk.get(chunk_id)
            else:
                for row in self._rows:
                    if row.chunk == chunk_id:
                        found = row
                        break
            self.lookup_ns += perf_counter_ns() - started
        return found

    def insert(self, chunk_id: str) -> ChunkRow:
        row = ChunkRow(chunk_id)
        with self._lock:
            self._rows.append(row)
            if self._by_chunk is not None:
                self._by_chunk[chunk_id] = row
        return row

    def mark_deleted(self, chunk_id: str) -> None:
        """Leaves a tombstone, so that a chunk that belongs to no file is not written again."""
        row = self.lookup(chunk_id) or self.insert(chunk_id)
        row.deleted = True
        log.info("chunk %s is now marked as deleted", chunk_id)

    def incomplete(self) -> list[str]:
        """The chunks of which this server misses something, or cannot know whether it does."""
        with self._lock:
            return [row.chunk for row in self._rows if not row.deleted and not row.is_complete]

    def _create_index(self, variant: str) -> dict[object, ChunkRow] | None:
        """An index only makes lookups faster, so a table does without one that it cannot have."""
        try:
            return {to_columns(row, variant)["chunk"]: row for row in self._rows}
        except KeyError as missing:
            log.debug("no index: the table has no column %s", missing)
            return None
