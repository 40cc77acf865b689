"""One process's trace file from outside: packs its finished chunks and gives them back, and all the rest when it is over.

The states of a chunk and who may change them are argued in `instrument/recorder/csrc/store.h`. Invariants here: a chunk's
state becomes PACKED only after its frame is in a packed file, it is zeroed only after that, and FREE only after the zeros;
so whatever kills the collector, each chunk can be read in at least one of the two places. What one collector left half
done, the next one finishes. A recorder that may not grow may drop a finished chunk, but for the one that is locked here.
Chunks of a thread are packed in the order of their numbers, so that the oldest go first.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.records import header
from clew.records.alive import is_running
from clew.records.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE, RING_CHUNKS, ChunkState, State
from clew.records.locking import lock_chunk, unlock_chunk
from clew.records.packed import PART_BYTES, Key, PackedFiles, key_of

SPARE_CHUNKS = RING_CHUNKS
"""Free chunks kept for the process, 16 MB; what comes back beyond them becomes a hole."""
_ZEROS = bytes(CHUNK_SIZE - CHUNK_HEADER_SIZE)
_MAGIC = header.CHUNK_MAGIC.to_bytes(4, "little")
_KEEP_SIZE_PUNCH_HOLE = 3
_KEPT_PARTS = 16
"""The quota's share that goes at a time when the oldest is dropped."""


class Unusable(Exception):
    """The file is not (yet) one that can be collected here."""


class Recycled:
    """A trace file of this machine whose process may still write. Its methods raise `OSError` for what the disk refuses."""

    def __init__(self, path: Path, boot_id: str, quota: int, *, keep_newest: bool) -> None:
        self.path = path
        with path.open("rb") as file:
            values = _checked(file.read(HEADER_SIZE), boot_id)
        self.pid, self.started = values["pid"], values["start_wall_ns"]
        self._quota = quota
        self._keep_newest = keep_newest
        part = max(min(PART_BYTES, quota // _KEPT_PARTS), 4 * CHUNK_SIZE) if keep_newest else PART_BYTES
        self._packed = PackedFiles(path, part, droppable=keep_newest)
        self._spare = max(min(SPARE_CHUNKS, quota // CHUNK_SIZE // 4), 1)
        self._ahead = max(quota // 8, 2 * CHUNK_SIZE)
        """So much the process may claim before we look again."""
        self._slots: list[int] = []
        """Chunks of the file that are no holes."""
        self._listed = 0
        self._seen = -1
        self._file = -1
        self._open()
        try:
            self._interrupted()
        except OSError:
            self.close()
            raise

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            self._page = mmap.mmap(self._file, HEADER_SIZE)
        except (OSError, ValueError):  # it was cut to nothing
            os.close(self._file)
            self._file = -1
            raise OSError(errno.EIO, os.strerror(errno.EIO), self.path) from None
        self._bytes = memoryview(self._page)
        self._words = self._bytes.cast("Q")
        self._halves = self._bytes.cast("I")

    def close(self) -> None:
        if self._file < 0:
            return
        for view in (self._halves, self._words, self._bytes):
            view.release()
        self._page.close()
        os.close(self._file)
        self._file = -1

    @property
    def closed(self) -> bool:
        """Did the process end its recording? Then nobody stores into the file any more."""
        return self._bytes[header.STATE_OFFSET] == State.CLOSED

    def gone(self, *, replaced: bool) -> bool:
        """Has the process ended, however it did, or been `replaced` by another program of its number?

        The kernel must agree that nobody has the file open, or mapped, for writing: of a process in another container, say,
        the number means nothing here.
        """
        if not replaced and is_running(self.pid, self.started):
            return False
        self.close()  # our own mapping would be in the way
        try:
            return _unwritten(self.path)
        finally:
            self._open()

    def pending(self) -> int:
        """About how many chunks are still to be packed when the process is over."""
        return len(self._slots) + self._claimed() - self._listed

    def poll(self) -> int:
        """Packs what is finished and gives it back. The number of chunks packed."""
        finished = self._words[header.FINISHED_OFFSET // 8]
        if finished == self._seen:
            return 0
        found = self._find({ChunkState.FINISHED})
        if found:
            # A chunk that finished before one of these may have been looked at before it did: the second look sees it.
            latest = max(ticks for ticks, _, _ in found)
            found = [chunk for chunk in self._find({ChunkState.FINISHED}) if chunk[0] <= latest]
        for ticks, slot, key in found:
            with self._locked(slot, ticks, key) as ours:
                if ours:
                    self._pack(slot, key)
                    self._give_back(slot)
        self._seen = finished
        return len(found)

    def finish(self, packed: Callable[[], None] = lambda: None) -> int:
        """Packs all that is left of a process that is over, and cuts the file down to its header. The number of chunks.

        `packed` is called after each.
        """
        found = self._find({ChunkState.IN_USE, ChunkState.FINISHED})
        for _, slot, key in found:
            self._pack(slot, key)
            if self._crowded(2 * CHUNK_SIZE):  # or there would be no room for the newest beside it
                self._retire(slot)
            packed()
        self._cut()
        return len(found)

    @contextlib.contextmanager
    def _locked(self, slot: int, ticks: int, key: Key) -> Iterator[bool]:
        """Is it still the finished chunk that was found? While we have it, the recorder can't drop it."""
        locked = True
        try:
            lock_chunk(self._file, slot)
        except BlockingIOError:
            yield False
            return
        except OSError:  # nor can the recorder have one
            locked = False
        try:
            head = os.pread(self._file, CHUNK_HEADER_SIZE, _offset(slot))
            same = head[:4] == _MAGIC and _state(head) == ChunkState.FINISHED
            yield same and key_of(head) == key and int.from_bytes(head[24:32], "little") == ticks
        finally:
            if locked:
                unlock_chunk(self._file, slot)

    def _claimed(self) -> int:
        size = os.fstat(self._file).st_size
        return min(self._words[header.CHUNKS_OFFSET // 8], max(size - HEADER_SIZE, 0) // CHUNK_SIZE)

    def _find(self, states: set[ChunkState]) -> list[tuple[int, int, Key]]:
        """Chunks in these states, oldest first: (ticks when claimed, number in the file, key)."""
        claimed = self._claimed()
        self._slots.extend(range(self._listed, claimed))
        self._listed = max(self._listed, claimed)
        found = []
        for slot in self._slots:
            head = os.pread(self._file, CHUNK_HEADER_SIZE, _offset(slot))
            if head[:4] == _MAGIC and _state(head) in states:
                found.append((int.from_bytes(head[24:32], "little"), slot, key_of(head)))
        return sorted(found)

    def _pack(self, slot: int, key: Key) -> None:
        chunk = os.pread(self._file, CHUNK_SIZE, _offset(slot))
        if chunk[CHUNK_HEADER_SIZE : CHUNK_HEADER_SIZE + 8].strip(b"\0") and key not in self._packed.known:
            self._packed.append(chunk, self._make_room())
        self._words[header.PACKED_BYTES_OFFSET // 8] = self._packed.size
        self._set_state(slot, ChunkState.PACKED)

    def _make_room(self) -> int | None:
        """Drops the oldest parts as the quota wants it. How many bytes one more chunk may take, None for any."""
        if not self._keep_newest:
            return None
        while self._crowded(CHUNK_SIZE if self.closed else self._ahead):
            if not self._packed.drop_oldest():
                break
        return self._quota - self._used()

    def _crowded(self, ahead: int) -> bool:
        """When the newest are to be kept: would `ahead` more bytes be too much?"""
        return self._keep_newest and self._used() + ahead > self._quota

    def _used(self) -> int:
        raw = self._words[header.CHUNKS_OFFSET // 8] - self._words[header.RETIRED_OFFSET // 8]
        return HEADER_SIZE + raw * CHUNK_SIZE + self._packed.size

    def _set_state(self, slot: int, state: ChunkState) -> None:
        # Only its lowest byte is ever not 0, so the kernel's copy cannot be seen half done.
        os.pwrite(self._file, bytes((state, 0, 0, 0)), _offset(slot) + header.CHUNK_STATE_OFFSET)

    def _give_back(self, slot: int) -> None:
        """To the process, or to the disk when it has enough. System calls order our stores: each is done before the next."""
        head, tail = self._ring()
        if head - tail & 0xFFFF_FFFF >= self._spare or self._crowded(CHUNK_SIZE):
            self._retire(slot)
            return
        os.pwrite(self._file, _ZEROS, _offset(slot) + CHUNK_HEADER_SIZE)
        self._halves[header.RING_OFFSET // 4 + head % RING_CHUNKS] = slot
        self._set_state(slot, ChunkState.FREE)
        self._halves[header.RING_HEAD_OFFSET // 4] = head + 1 & 0xFFFF_FFFF

    def _retire(self, slot: int) -> None:
        self._set_state(slot, ChunkState.RETIRED)
        if _punch_hole(self._file, _offset(slot), CHUNK_SIZE):
            self._words[header.RETIRED_OFFSET // 8] += 1
        self._slots.remove(slot)

    def _ring(self) -> tuple[int, int]:
        return self._halves[header.RING_HEAD_OFFSET // 4], self._halves[header.RING_TAIL_OFFSET // 4]

    def _interrupted(self) -> None:
        """Finishes what a collector before us was in the middle of."""
        head, tail = self._ring()
        given = self._halves[header.RING_OFFSET // 4 + head % RING_CHUNKS]
        places = range(tail, tail + (head - tail & 0xFFFF_FFFF))
        waiting = {self._halves[header.RING_OFFSET // 4 + place % RING_CHUNKS] for place in places[:RING_CHUNKS]}
        for _, slot, _ in self._find({ChunkState.FREE}):
            # See csrc/store.h: a chunk that is free and not in the ring was being put there.
            if slot == given and slot not in waiting and self._ring()[0] == head:
                self._halves[header.RING_HEAD_OFFSET // 4] = head + 1 & 0xFFFF_FFFF
        for _, slot, _ in self._find({ChunkState.PACKED}):
            self._give_back(slot)
        for _, slot, _ in self._find({ChunkState.RETIRED}):
            self._retire(slot)

    def _cut(self) -> None:
        """Puts a file in its place that has only the header page: who is reading the old one can go on."""
        page = bytearray(os.pread(self._file, HEADER_SIZE, 0))
        struct.pack_into("<H", page, header.FLAGS_OFFSET, header.FLAG_PACKED)
        struct.pack_into("<Q", page, header.CHUNKS_OFFSET, self._packed.chunks)
        page[header.RING_OFFSET :] = bytes(HEADER_SIZE - header.RING_OFFSET)
        part = self.path.with_name(self.path.name + ".part")
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            with contextlib.closing(os.fdopen(file, "wb")) as whole:
                whole.write(page)
            part.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise


def _unwritten(path: Path) -> bool:
    """True unless the kernel knows of somebody who has the file open for writing: then it grants no lease to readers."""
    try:
        import fcntl

        lease = fcntl.F_SETLEASE
    except (ImportError, AttributeError):
        return True
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.fcntl(file, lease, fcntl.F_RDLCK)
        fcntl.fcntl(file, lease, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except OSError:
        return True  # there are no leases on this disk
    finally:
        os.close(file)
    return True


def _offset(slot: int) -> int:
    return HEADER_SIZE + slot * CHUNK_SIZE


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")


def _checked(page: bytes, boot_id: str) -> dict[str, int]:
    """The header's fields. Raises `Unusable` for a file that is not begun, packed already, or written elsewhere."""
    if len(page) < HEADER_SIZE:
        raise Unusable
    values = dict(zip(header.HEADER_FIELDS, header.HEADER.unpack_from(page), strict=True))
    if values["magic"] != header.MAGIC or values["version"] != header.VERSION:
        raise Unusable
    if values["flags"] & header.FLAG_PACKED or values["chunk_size"] != CHUNK_SIZE:
        raise Unusable
    length = int.from_bytes(page[header.INFO_OFFSET : header.INFO_OFFSET + 4], "little")
    try:
        info = json.loads(page[header.INFO_OFFSET + 4 : header.INFO_OFFSET + 4 + min(length, header.INFO_MAX)])
    except ValueError:
        raise Unusable from None
    # What another machine writes here comes when its system likes it: neither states nor numbers of processes mean anything.
    if not isinstance(info, dict) or info.get("boot_id", boot_id) != boot_id:
        raise Unusable
    return values


def _punch_hole(file: int, offset: int, length: int) -> bool:
    """Gives a part of a file back to the disk. False where that can't be done."""
    import ctypes  # which a run that never has too much would take ten milliseconds to load

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
        return bool(libc.fallocate(file, _KEEP_SIZE_PUNCH_HOLE, offset, length) == 0)
    except (OSError, AttributeError):
        return False
