"""The packed files of one process, as the collector writes them: frames appended, the oldest parts dropped for a quota.

Invariants: a frame is appended in one piece and a file never changes but at its end; definitions and counters are in the
first file, which is never dropped; before a part is dropped, the first file says how much is gone.
"""

from __future__ import annotations

import os
from pathlib import Path

from clew.records.compress import block
from clew.records.format.header import CHUNK_HEADER, ChunkKind
from clew.records.run.directory import PACKED_SUFFIX, packed_files

PART_BYTES = 16 << 20
"""A file of this size is followed by another, so that nobody need hold more than that at a time."""

Key = tuple[int, int, int]
"""Kind, thread's serial, number: names a chunk within its process."""


def key_of(header: bytes) -> Key:
    _, kind, _, _, serial, number, _, _ = CHUNK_HEADER.unpack_from(header)
    return kind, serial, number


class PackedFiles:
    """Of one trace file. What an earlier collector left behind is continued."""

    def __init__(self, trace: Path, part_bytes: int = PART_BYTES, *, droppable: bool = False) -> None:
        self._trace = trace
        self._part_bytes = part_bytes
        self._droppable = droppable
        self._sizes: dict[int, int] = {}
        """Of every file, by its number; 0 is the first one."""
        self._paths: dict[int, Path] = {}
        self.known: set[Key] = set()
        """Chunks that an earlier collector packed."""
        self.chunks = 0
        """How many different ones there are."""
        self._dropped = (0, 0)
        for path in packed_files(trace):
            self._continue(path)

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    def append(self, chunk: bytes, room: int | None = None) -> None:
        """Packs a chunk. One of events that takes more than `room` bytes is counted and dropped. Raises `OSError` when it can't
        be kept; then nothing has changed."""
        number = 0
        events = key_of(chunk)[0] == ChunkKind.EVENTS
        frame = block.pack(chunk)
        if events and room is not None and len(frame) > room:
            found = block.frame_at(memoryview(frame), 0)
            if found is not None:
                self._add_dropped(*found.extent())
                self._say_dropped()
            return
        if events:
            number = max(self._sizes, default=0)
            if (self._droppable and not number) or self._sizes.get(number, 0) >= self._part_bytes:
                number += 1
        self._write(number, frame)
        self.chunks += 1

    def drop_oldest(self) -> bool:
        """Deletes the oldest part, but never the last one. False when there is none. Raises `OSError`."""
        parts = sorted(number for number in self._sizes if number)
        if len(parts) < 2:
            return False
        path = self._path(parts[0])
        for _, frame in block.frames(path.read_bytes()):
            if frame is not None and frame.kind == block.CHUNK:
                self._add_dropped(*frame.extent())
                self.chunks -= 1
        self._say_dropped()
        path.unlink()
        del self._sizes[parts[0]]
        return True

    def _add_dropped(self, records: int, ticks: int) -> None:
        self._dropped = self._dropped[0] + records, max(self._dropped[1], ticks)

    def _say_dropped(self) -> None:
        self._write(0, block.frame(block.DROPPED, block.DROPPED_BODY.size, block.DROPPED_BODY.pack(*self._dropped)))

    def _path(self, number: int) -> Path:
        path = self._paths.get(number)
        if path is None:
            middle = f".{number}" if number else ""
            path = self._paths[number] = self._trace.with_name(self._trace.stem + middle + PACKED_SUFFIX)
        return path

    def _write(self, number: int, frame: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        file = os.open(self._path(number), flags, 0o600)
        try:
            size = os.fstat(file).st_size
            try:
                written = os.write(file, frame)
                while written < len(frame):
                    written += os.write(file, frame[written:])
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)
        self._sizes[number] = self._sizes.get(number, 0) + len(frame)

    def _continue(self, path: Path) -> None:
        data = path.read_bytes()
        end = 0
        for offset, frame in block.frames(data):
            if frame is None:
                continue
            end = offset + frame.size
            if frame.kind == block.CHUNK and frame.length >= CHUNK_HEADER.size:
                self.known.add(key_of(frame.header))
            elif frame.kind == block.DROPPED and len(frame.body) == block.DROPPED_BODY.size:
                self._dropped = max(self._dropped, block.DROPPED_BODY.unpack(frame.body))
        if end < len(data) and block.is_torn(memoryview(data), end):  # its writer died
            os.truncate(path, end)
        else:
            end = len(data)
        middle = path.name[len(self._trace.stem) : -len(PACKED_SUFFIX)]
        self._sizes[int(middle[1:] or 0)] = end
        self.chunks = len(self.known)
