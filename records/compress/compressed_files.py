"""Write the compressed files of one process: the collector appends blocks, and drops the oldest files for a quota.

Invariants: a block is appended completely or not at all, and a file changes only at its end. Definitions and counters are
in the first file, which is never dropped. Before another file is dropped, the first file gets the number of lost records.
"""

from __future__ import annotations

import os
from pathlib import Path

from clew.records.compress import block
from clew.records.format.header import CHUNK_HEADER, ChunkKind
from clew.records.run.directory import COMPRESSED_SUFFIX, compressed_files

FILE_BYTES = 16 << 20
"""The size at which a new file begins, which limits the memory of readers."""

Key = tuple[int, int, int]
"""The kind, the thread's serial and the number of a chunk, which identify it within its process."""


def key_of(header: bytes) -> Key:
    _, kind, _, _, serial, number, _, _ = CHUNK_HEADER.unpack_from(header)
    return kind, serial, number


class CompressedFiles:
    """The compressed files of one trace file, continued from those of an earlier collector."""

    def __init__(self, trace: Path, file_bytes: int = FILE_BYTES, *, droppable: bool = False) -> None:
        self._trace = trace
        self._file_bytes = file_bytes
        self._droppable = droppable
        self._sizes: dict[int, int] = {}
        """The sizes of the files by their numbers; 0 is the first file."""
        self._paths: dict[int, Path] = {}
        self.known: set[Key] = set()
        """The chunks that an earlier collector compressed."""
        self.chunks = 0
        """The number of different chunks in the files."""
        self._dropped = (0, 0)
        for path in compressed_files(trace):
            self._continue(path)

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    def append(self, chunk: bytes, space: int | None = None) -> None:
        """Compress and append a chunk. A chunk of events that takes more than `space` bytes is counted and dropped.

        Raise `OSError` if it cannot be written; then the files are unchanged.
        """
        number = 0
        events = key_of(chunk)[0] == ChunkKind.EVENTS
        compressed = block.compress(chunk)
        if events and space is not None and len(compressed) > space:
            found = block.block_at(memoryview(compressed), 0)
            if found is not None:
                self._add_dropped(*found.extent())
                self._write_dropped()
            return
        if events:
            number = max(self._sizes, default=0)
            if (self._droppable and not number) or self._sizes.get(number, 0) >= self._file_bytes:
                number += 1
        self._write(number, compressed)
        self.chunks += 1

    def drop_oldest(self) -> bool:
        """Delete the oldest file, but neither the first one nor the last one. Return False if no file was deleted.

        Raise `OSError`.
        """
        numbers = sorted(number for number in self._sizes if number)
        if len(numbers) < 2:
            return False
        path = self._path(numbers[0])
        for _, found in block.blocks(path.read_bytes()):
            if found is not None and found.kind == block.CHUNK:
                self._add_dropped(*found.extent())
                self.chunks -= 1
        self._write_dropped()
        path.unlink()
        del self._sizes[numbers[0]]
        return True

    def _add_dropped(self, records: int, ticks: int) -> None:
        self._dropped = self._dropped[0] + records, max(self._dropped[1], ticks)

    def _write_dropped(self) -> None:
        self._write(0, block.encode(block.DROPPED, block.DROPPED_BODY.size, block.DROPPED_BODY.pack(*self._dropped)))

    def _path(self, number: int) -> Path:
        path = self._paths.get(number)
        if path is None:
            middle = f".{number}" if number else ""
            path = self._paths[number] = self._trace.with_name(self._trace.stem + middle + COMPRESSED_SUFFIX)
        return path

    def _write(self, number: int, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        file = os.open(self._path(number), flags, 0o600)
        try:
            size = os.fstat(file).st_size
            try:
                written = os.write(file, data)
                while written < len(data):
                    written += os.write(file, data[written:])
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)
        self._sizes[number] = self._sizes.get(number, 0) + len(data)

    def _continue(self, path: Path) -> None:
        data = path.read_bytes()
        end = 0
        for offset, found in block.blocks(data):
            if found is None:
                continue
            end = offset + found.size
            if found.kind == block.CHUNK and found.length >= CHUNK_HEADER.size:
                self.known.add(key_of(found.header))
            elif found.kind == block.DROPPED and len(found.body) == block.DROPPED_BODY.size:
                self._dropped = max(self._dropped, block.DROPPED_BODY.unpack(found.body))
        if end < len(data) and block.is_torn(memoryview(data), end):  # its writer died
            os.truncate(path, end)
        else:
            end = len(data)
        middle = path.name[len(self._trace.stem) : -len(COMPRESSED_SUFFIX)]
        self._sizes[int(middle[1:] or 0)] = end
        self.chunks = len(self.known)
