"""Runs that grow while a test reads them."""

from dataclasses import dataclass, field

from clew.records.compress.compressed_files import CompressedFiles
from clew.records.format import header as h
from clew.records.format.event import pack_extension, pack_word
from clew.records.run.directory import finish_run

START = 1_000_000_000


ROOM = h.CHUNK_SIZE - h.CHUNK_HEADER_SIZE


@dataclass
class Slot:
    """The place of a chunk in a trace file."""

    head: bytes = b""
    data: bytes = b""
    state: h.ChunkState = h.ChunkState.FREE


@dataclass
class Live:
    """A process that records while a collector compresses, both by the definition of the format."""

    folder: object
    process: object
    droppable: bool = False
    slots: list = field(default_factory=list)
    of: dict = field(default_factory=dict)
    """By kind and serial: the current chunk, the number of chunks, and the number of written records."""
    claimed: int = 0
    over: bool = False

    def __post_init__(self):
        self.path = self.folder / f"{self.process.pid}-{self.process.pid * 7919:016x}.clew"
        self.packed = CompressedFiles(self.path, 150, droppable=self.droppable)

    def definitions(self):
        for kind, key, text in self.process.definitions:
            extension = pack_extension(key, 0, text.encode())
            yield (
                START.to_bytes(8, "little") + pack_word(kind, 0, len(extension) // 16).to_bytes(8, "little") + extension
            )

    def record(self):
        """Write the new records into chunks."""
        self._into(h.ChunkKind.DEFINITIONS, 0, list(self.definitions()))
        for thread in self.process.threads.values():
            self._into(h.ChunkKind.EVENTS, thread.serial, thread.records)

    def _into(self, kind, serial, records):
        slot, number, written = self.of.get((kind, serial), (None, 0, 0))
        for record in records[written:]:
            if slot is None or len(slot.data) + len(record) > ROOM:
                if slot is not None:
                    slot.state = h.ChunkState.FINISHED
                slot = next((one for one in self.slots if one.state == h.ChunkState.FREE), None)
                if slot is None:
                    slot = Slot()
                    self.slots.append(slot)
                self.claimed += 1
                head = h.CHUNK_HEADER.pack(
                    h.CHUNK_MAGIC, kind, 0, 100 + serial, serial, number, START + self.claimed, START + self.claimed
                )
                slot.head, slot.data, slot.state = head, b"", h.ChunkState.IN_USE
                number += 1
            slot.data += record
        self.of[kind, serial] = slot, number, len(records)

    def chunk(self, slot):
        head = slot.head.ljust(h.CHUNK_STATE_OFFSET, b"\0") + int(slot.state).to_bytes(4, "little")
        return (head.ljust(h.CHUNK_HEADER_SIZE, b"\0") + slot.data).ljust(h.CHUNK_SIZE, b"\0")

    def pack(self, *states):
        """Compress the finished chunks, oldest first, and free their places."""
        finished = [slot for slot in self.slots if slot.state in (states or (h.ChunkState.FINISHED,))]
        for slot in sorted(finished, key=lambda slot: h.CHUNK_HEADER.unpack(slot.head)[6]):
            self.packed.append(self.chunk(slot))
            slot.data, slot.state = b"", h.ChunkState.FREE

    def drop(self):
        self.packed.drop_oldest()

    def end(self):
        self.pack(h.ChunkState.IN_USE, h.ChunkState.FINISHED)
        self.over, self.slots = True, []

    def write(self, wall):
        page = bytearray(self.process.to_bytes(wall)[: h.HEADER_SIZE])
        page[h.STATE_OFFSET] = h.State.CLOSED if self.over else h.State.RECORDING
        page[h.FLAGS_OFFSET] = h.FLAG_PACKED if self.over else 0
        chunks = self.packed.chunks if self.over else len(self.slots)
        page[h.CHUNKS_OFFSET : h.CHUNKS_OFFSET + 8] = chunks.to_bytes(8, "little")
        part = self.path.with_suffix(".part")
        part.write_bytes(bytes(page) + b"".join(map(self.chunk, self.slots)))
        part.replace(self.path)


class Growing:
    """A run of `Live` processes."""

    def __init__(self, run, keep_newest=False):
        self.run, self.keep_newest, self.lives = run, keep_newest, []

    @property
    def folder(self):
        return self.run.folder

    def start(self):
        self.lives.append(Live(self.folder, self.run.process(), self.keep_newest))
        return self.lives[-1]

    def write(self):
        for live in self.lives:
            if not live.over:
                live.record()
            live.write(self.run.info.started)

    def finish(self):
        for live in self.lives:
            live.record()
            live.end()
            live.write(self.run.info.started)
        finish_run(self.folder, self.run.info, 0, [])


def work(thread, number, size=10):
    for _ in range(number):
        thread.enter("f").log("x" * size).exit("f")
