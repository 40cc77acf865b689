"""Where one writer stores its records, in the recorder written in Python: a chunk of the trace file.

Invariants: ticks are stored last and at once; a record that a signal handler's exception came out of is whole or wiped.
"""

from __future__ import annotations

import time

from clew.instrument.recorder.turns import Turn
from clew.records.event import RECORD_SIZE
from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, CHUNK_STATE_OFFSET, ChunkState

ticks = time.monotonic_ns


class Chunk:
    """A chunk as bytes and as 8-byte words, the next free word, and the words there are."""

    __slots__ = ("bytes", "emitted", "end", "epoch", "number", "place", "slot", "storing", "words")

    def __init__(self, data: memoryview, epoch: int, number: int, slot: int = 0) -> None:
        self.bytes = data
        self.number = number
        self.slot = slot
        """Its number in the file."""
        self.words = data.cast("Q")
        self.place = CHUNK_HEADER_SIZE // 8
        self.end = CHUNK_SIZE // 8
        self.epoch = epoch
        self.emitted = 0
        """Records with an extension, which Python code made: there are no native hooks here."""
        self.storing = False

    def store(self, word: int, extension: bytes, turn: Turn | None = None) -> None:
        """`turn` is over with it: between the record's last byte and that no signal handler runs."""
        place, size = self.place, len(extension)
        after = place + 2 + size // 8
        self.storing = True
        self.words[place + 1] = word
        if size:
            self.bytes[place * 8 + RECORD_SIZE : place * 8 + RECORD_SIZE + size] = extension
            self.emitted += 1
        self.words[place] = ticks()
        self.place = after
        if turn is not None:
            turn.over = True
        self.storing = False

    def finish(self) -> None:
        """Nothing more will be stored in it."""
        self.put(CHUNK_STATE_OFFSET, ChunkState.FINISHED)

    def put(self, offset: int, value: int) -> None:
        """A 4-byte number, in one store."""
        with self.bytes[offset : offset + 4] as place, place.cast("I") as word:
            word[0] = value

    def recover(self) -> None:
        """A signal handler's exception (Ctrl-C, say) came out of `store`: wipes what there is of the record."""
        place = self.place
        word = self.words[place + 1] if place < self.end else 0
        if word:
            self.bytes[place * 8 : (place + 2 + 2 * (word >> 8 & 0xFF)) * 8] = bytes(16 + 16 * (word >> 8 & 0xFF))
        self.storing = False
