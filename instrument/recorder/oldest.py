"""Which finished chunk the recorder written in Python drops when the quota is reached and the newest records are to be kept.

The twin of `chunk_oldest` in `csrc/chunks.h`. Invariants: a chunk of definitions is never dropped; one is dropped only under
the kernel's lock on its header, which the collector takes, too; its records are counted, and it is marked, before the first
of its bytes changes. A signal handler's exception may come out at any place: the chunk is dropped then, and the next one.
"""

from __future__ import annotations

import contextlib
import struct
from collections import deque
from collections.abc import Callable, Iterator

from clew.instrument.recorder.chunks import Chunk
from clew.records.header import (
    CHUNK_HEADER_SIZE,
    CHUNK_SIZE,
    CHUNK_STATE_OFFSET,
    HEADER_SIZE,
    OVERWRITTEN_OFFSET,
    ChunkState,
)
from clew.records.locking import lock_chunk, unlock_chunk

_USABLE = (ChunkState.FINISHED, ChunkState.DROPPED)
"""A chunk is in the second state when an exception came between."""


class Oldest:
    """Finished chunks of one recording, by their numbers in the file, the oldest first. Call with the store's lock held."""

    def __init__(self, header: memoryview, map_file: Callable[[int, int, int], memoryview]) -> None:
        self._header = header
        self._map = map_file
        self._slots: deque[int] = deque()

    def enter(self, chunk: Chunk) -> None:
        """It is about to be finished."""
        self._slots.append(chunk.slot)

    def taken(self, slot: int) -> None:
        """The chunk is in use again."""
        with contextlib.suppress(ValueError):
            self._slots.remove(slot)

    def drop(self, file: int) -> tuple[int, memoryview] | None:
        """Number and bytes, zeros but for the header, of the oldest that nobody else has; None when there is none."""
        for slot in list(self._slots):
            view = self._map(file, HEADER_SIZE + slot * CHUNK_SIZE, CHUNK_SIZE)
            if _state(view) not in _USABLE:  # it is packed
                self._slots.remove(slot)
                continue
            try:
                lock_chunk(file, slot)
            except OSError:
                continue
            try:
                if _state(view) not in _USABLE:
                    continue
                if _state(view) == ChunkState.FINISHED:
                    self._count(view)
                    view[CHUNK_STATE_OFFSET] = ChunkState.DROPPED
            finally:
                unlock_chunk(file, slot)
            view[CHUNK_HEADER_SIZE:] = bytes(CHUNK_SIZE - CHUNK_HEADER_SIZE)
            return slot, view
        return None

    def _count(self, view: memoryview) -> None:
        gone = list(_ticks(view[CHUNK_HEADER_SIZE:].cast("Q")))
        before, latest = struct.unpack_from("<QQ", self._header, OVERWRITTEN_OFFSET)
        struct.pack_into("<QQ", self._header, OVERWRITTEN_OFFSET, before + len(gone), max([latest, *gone[-1:]]))


def _ticks(words: memoryview) -> Iterator[int]:
    """Of each record."""
    at = 0
    while at < len(words) and words[at]:
        yield words[at]
        at += 2 + 2 * (words[at + 1] >> 8 & 0xFF)


def _state(view: memoryview) -> int:
    return view[CHUNK_STATE_OFFSET]
