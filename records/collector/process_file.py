"""Compress and free the finished chunks of another process's trace file, and all remaining chunks after its end.

`instrument/recorder/csrc/store/chunks.h` explains the states of a chunk and their transitions. Invariants: a chunk
becomes PACKED only after its block is in a compressed file. It is zeroed only after that, and FREE only after the
zeros. So if the collector is killed at any instant, each chunk is readable in at least one of the two places. The next
collector completes interrupted steps. A recorder that may not grow can drop a finished chunk, except a locked one. Chunks
of a thread are compressed in the order of their numbers, so that the oldest are dropped first.
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

from clew.records.collector.chunk_lock import lock_chunk, unlock_chunk
from clew.records.compress.compressed_files import FILE_BYTES, CompressedFiles, Key, key_of
from clew.records.format import header
from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE, HEADER_SIZE, RING_CHUNKS, ChunkState, State
from clew.records.run.liveness import is_running

SPARE_CHUNKS = RING_CHUNKS
"""Free chunks reserved for the process, 16 MB; further ones become holes."""
_ZEROS = bytes(CHUNK_SIZE - CHUNK_HEADER_SIZE)
_MAGIC = header.CHUNK_MAGIC.to_bytes(4, "little")
_KEEP_SIZE_PUNCH_HOLE = 3
_QUOTA_PARTS = 16
"""The number of files that the quota is divided into, so that a sixteenth of it is dropped at a time."""


class Unusable(Exception):
    """The file cannot be collected on this machine, or not yet."""


class TraceFile:
    """A trace file of this machine whose process may still write. Its methods raise `OSError` for disk errors."""

    def __init__(self, path: Path, boot_id: str, quota: int, *, keep_newest: bool) -> None:
        self.path = path
        with path.open("rb") as file:
            values = _checked(file.read(HEADER_SIZE), boot_id)
        self.pid, self.started = values["pid"], values["start_wall_ns"]
        self._quota = quota
        self._keep_newest = keep_newest
        part = max(min(FILE_BYTES, quota // _QUOTA_PARTS), 4 * CHUNK_SIZE) if keep_newest else FILE_BYTES
        self._compressed = CompressedFiles(path, part, droppable=keep_newest)
        self._spare = max(min(SPARE_CHUNKS, quota // CHUNK_SIZE // 4), 1)
        self._ahead = max(quota // 8, 2 * CHUNK_SIZE)
        """Bytes that the process may claim before the next poll."""
        self._slots: list[int] = []
        """Chunks of the file that are not holes."""
        self._listed = 0
        self._seen = -1
        self._file = -1
        self._open()
        try:
            self._complete_interrupted_steps()
        except OSError:
            self.close()
            raise

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            self._page = mmap.mmap(self._file, HEADER_SIZE)
        except (OSError, ValueError):  # truncated to zero
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
        """Return whether the process ended its recording; then no process writes to the file."""
        return self._bytes[header.STATE_OFFSET] == State.CLOSED

    def has_ended(self, *, replaced: bool) -> bool:
        """Return whether the process has ended in any way, or was `replaced` by another program with its PID.

        The kernel must confirm that no process has the file open or mapped for writing, because the PID of a process in
        another container is meaningless here.
        """
        if not replaced and is_running(self.pid, self.started):
            return False
        self.close()  # our own mapping would prevent it
        try:
            return _unwritten(self.path)
        finally:
            self._open()

    def pending(self) -> int:
        """Return about how many chunks remain to be compressed after the process ends."""
        return len(self._slots) + self._claimed() - self._listed

    def poll(self) -> int:
        """Compress finished chunks and free their space. Return the number of chunks."""
        finished = self._words[header.FINISHED_OFFSET // 8]
        if finished == self._seen:
            return 0
        found = self._find({ChunkState.FINISHED})
        if found:
            # A chunk that finished before one of these may have been checked before that: the second pass finds it.
            latest = max(ticks for ticks, _, _ in found)
            found = [chunk for chunk in self._find({ChunkState.FINISHED}) if chunk[0] <= latest]
        for ticks, slot, key in found:
            with self._locked(slot, ticks, key) as ours:
                if ours:
                    self._compress(slot, key)
                    self._free(slot)
        self._seen = finished
        return len(found)

    def finish(self, progress: Callable[[], None] = lambda: None) -> int:
        """Compress all remaining chunks of an ended process, and truncate the file to its header.

        Call `progress` after each chunk. Return the number of chunks.
        """
        found = self._find({ChunkState.IN_USE, ChunkState.FINISHED})
        for _, slot, key in found:
            self._compress(slot, key)
            if self._exceeds_quota(2 * CHUNK_SIZE):  # make space for the newest chunk
                self._retire(slot)
            progress()
        self._truncate()
        return len(found)

    @contextlib.contextmanager
    def _locked(self, slot: int, ticks: int, key: Key) -> Iterator[bool]:
        """Lock a chunk, so that the recorder cannot drop it; yield whether it is still the finished chunk that was found."""
        locked = True
        try:
            lock_chunk(self._file, slot)
        except BlockingIOError:
            yield False
            return
        except OSError:  # the recorder cannot lock it either
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
        """Return chunks in these states, oldest first: (ticks when claimed, number in the file, key)."""
        claimed = self._claimed()
        self._slots.extend(range(self._listed, claimed))
        self._listed = max(self._listed, claimed)
        found = []
        for slot in self._slots:
            head = os.pread(self._file, CHUNK_HEADER_SIZE, _offset(slot))
            if head[:4] == _MAGIC and _state(head) in states:
                found.append((int.from_bytes(head[24:32], "little"), slot, key_of(head)))
        return sorted(found)

    def _compress(self, slot: int, key: Key) -> None:
        chunk = os.pread(self._file, CHUNK_SIZE, _offset(slot))
        if chunk[CHUNK_HEADER_SIZE : CHUNK_HEADER_SIZE + 8].strip(b"\0") and key not in self._compressed.known:
            self._compressed.append(chunk, self._free_space())
        self._words[header.PACKED_BYTES_OFFSET // 8] = self._compressed.size
        self._set_state(slot, ChunkState.PACKED)

    def _free_space(self) -> int | None:
        """Drop the oldest compressed files as the quota requires.

        Return the maximum number of bytes of the next chunk; None without a limit.
        """
        if not self._keep_newest:
            return None
        while self._exceeds_quota(CHUNK_SIZE if self.closed else self._ahead):
            if not self._compressed.drop_oldest():
                break
        return self._quota - self._used()

    def _exceeds_quota(self, ahead: int) -> bool:
        """Return whether `ahead` more bytes would exceed the quota, for a recording that keeps the newest events."""
        return self._keep_newest and self._used() + ahead > self._quota

    def _used(self) -> int:
        raw = self._words[header.CHUNKS_OFFSET // 8] - self._words[header.RETIRED_OFFSET // 8]
        return HEADER_SIZE + raw * CHUNK_SIZE + self._compressed.size

    def _set_state(self, slot: int, state: ChunkState) -> None:
        # Only its lowest byte is ever not 0, so the kernel's copy is atomic.
        os.pwrite(self._file, bytes((state, 0, 0, 0)), _offset(slot) + header.CHUNK_STATE_OFFSET)

    def _free(self, slot: int) -> None:
        """Return a chunk to the process, or its space to the disk if the process has enough free chunks.

        The system calls order the stores to the mapping.
        """
        head, tail = self._ring()
        if head - tail & 0xFFFF_FFFF >= self._spare or self._exceeds_quota(CHUNK_SIZE):
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

    def _complete_interrupted_steps(self) -> None:
        """Complete the interrupted steps of an earlier collector."""
        head, tail = self._ring()
        given = self._halves[header.RING_OFFSET // 4 + head % RING_CHUNKS]
        places = range(tail, tail + (head - tail & 0xFFFF_FFFF))
        waiting = {self._halves[header.RING_OFFSET // 4 + place % RING_CHUNKS] for place in places[:RING_CHUNKS]}
        for _, slot, _ in self._find({ChunkState.FREE}):
            # See csrc/store/chunks.h: a free chunk outside the ring was about to enter it.
            if slot == given and slot not in waiting and self._ring()[0] == head:
                self._halves[header.RING_HEAD_OFFSET // 4] = head + 1 & 0xFFFF_FFFF
        for _, slot, _ in self._find({ChunkState.PACKED}):
            self._free(slot)
        for _, slot, _ in self._find({ChunkState.RETIRED}):
            self._retire(slot)

    def _truncate(self) -> None:
        """Replace the file by one with only the header page; readers of the old file are unaffected."""
        page = bytearray(os.pread(self._file, HEADER_SIZE, 0))
        struct.pack_into("<H", page, header.FLAGS_OFFSET, header.FLAG_PACKED)
        struct.pack_into("<Q", page, header.CHUNKS_OFFSET, self._compressed.chunks)
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
    """Return True unless a process has the file open for writing, in which case the kernel grants no read lease."""
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
        return True  # this disk does not support leases
    finally:
        os.close(file)
    return True


def _offset(slot: int) -> int:
    return HEADER_SIZE + slot * CHUNK_SIZE


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")


def _checked(page: bytes, boot_id: str) -> dict[str, int]:
    """Return the header's fields.

    Raises `Unusable` for a file that is not initialized, already compressed, or written elsewhere.
    """
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
    # Files of another machine arrive with delay: states and PIDs in them are meaningless here.
    if not isinstance(info, dict) or info.get("boot_id", boot_id) != boot_id:
        raise Unusable
    return values


def _punch_hole(file: int, offset: int, length: int) -> bool:
    """Return a part of a file to the disk; return False if that is impossible."""
    import ctypes  # loading it takes ten milliseconds, which most runs do not need

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
        return bool(libc.fallocate(file, _KEEP_SIZE_PUNCH_HOLE, offset, length) == 0)
    except (OSError, AttributeError):
        return False
