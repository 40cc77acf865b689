"""Find the chunks of a trace file by their headers alone: their data is read on demand and not cached.

Invariant: data of a chunk counts only if its header is the same before and after reading. Otherwise the chunk was
compressed meanwhile (`Gone`), and is in a compressed file by then.
"""

import os
import struct
from collections.abc import Callable, Iterator
from typing import Protocol

from clew.records.fast_namedtuple import NamedTuple
from clew.records.format import header
from clew.records.format.event import RECORD_SIZE, Kind, pack_extension, pack_word
from clew.records.format.header import ChunkState

CHUNK_MAGIC = header.CHUNK_MAGIC.to_bytes(4, "little")
_READABLE = frozenset({ChunkState.IN_USE, ChunkState.FINISHED})

Report = Callable[[str, str | int, str], None]
"""Callback for problems: what, where (or the offset in the trace file), what is lost."""


class Gone(Exception):
    """The chunk is no longer where it was found."""


class Source(Protocol):
    """A file's bytes; a part beyond the end is shorter."""

    def size(self) -> int: ...

    def part(self, offset: int, length: int) -> bytes: ...


class InMemory:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def size(self) -> int:
        return len(self._data)

    def part(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


class OnDisk:
    """A file that stays open until `close`, and is then opened for each part. May raise `OSError` until then."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def size(self) -> int:
        return os.fstat(self._file).st_size

    def part(self, offset: int, length: int) -> bytes:
        if self._file >= 0:
            return os.pread(self._file, length, offset)
        try:
            file = self._open()
        except OSError:
            return b""
        try:
            return os.pread(file, length, offset)
        except OSError:
            return b""
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._file)
        self._file = -1


class Chunk(NamedTuple):
    """A chunk that was found but not decoded."""

    where: str
    """The file, with `@offset` of the chunk or of its compressed block."""
    header: bytes
    load: Callable[[], bytes]
    """Return its bytes, including the header; fewer if the file was cut. Raises `Gone`, or `ValueError` for undecodable
    data."""
    raw: bool
    block_crc: int = 0
    """Checksum of its compressed block; 0 for an uncompressed chunk, which may grow."""

    @property
    def identity(self) -> bytes:
        return _identity(self.header)

    def inside(self, end: int) -> str:
        """Return the place of byte `end` of its data; a compressed chunk has only one place."""
        path, _, offset = self.where.rpartition("@")
        return f"{path}@{int(offset) + header.CHUNK_HEADER_SIZE + end}" if self.raw else self.where

    @property
    def empty(self) -> bool:
        try:
            return not self.load()[header.CHUNK_HEADER_SIZE : header.CHUNK_HEADER_SIZE + 8].strip(b"\0")
        except (ValueError, Gone):
            return True


def find_raw(source: Source, path: str, whole: int, report: Report) -> Iterator[Chunk]:
    """Yield chunks with data among the first `whole` ones of a trace file."""
    for index in range(whole):
        offset = header.HEADER_SIZE + index * header.CHUNK_SIZE
        head = source.part(offset, header.CHUNK_HEADER_SIZE)
        if len(head) < header.CHUNK_HEADER_SIZE:  # the file was truncated while it was read
            return
        if head[:4] != CHUNK_MAGIC:
            if head[:4].strip(b"\0"):
                report("a chunk's header is damaged", offset, "the chunk")
        elif _state(head) in _READABLE:
            yield Chunk(f"{path}@{offset}", head, _loader(source, offset, head), raw=True)


def _loader(source: Source, offset: int, head: bytes) -> Callable[[], bytes]:
    def load() -> bytes:
        data = source.part(offset, header.CHUNK_SIZE)
        again = source.part(offset, header.CHUNK_HEADER_SIZE)
        if _identity(again) != _identity(head) or _state(again) not in _READABLE:
            raise Gone
        return data

    return load


def _state(head: bytes) -> int:
    return int.from_bytes(head[header.CHUNK_STATE_OFFSET : header.CHUNK_STATE_OFFSET + 4], "little")


def _identity(head: bytes) -> bytes:
    """Return the part of a chunk's header that two copies have in common."""
    return head[: header.CHUNK_STATE_OFFSET]


def gap_before(chunk: Chunk) -> memoryview:
    """Return the record of events dropped before a chunk, or with it, by the recorder.

    The collector drops only the oldest chunks.
    """
    extension = pack_extension(0, 0, b"they were dropped to stay within the quota")
    ticks = header.CHUNK_HEADER.unpack_from(chunk.header)[6]
    word = pack_word(Kind.GAP, 0, len(extension) // RECORD_SIZE)
    return memoryview(struct.pack("<QQ", ticks or 1, word) + extension)
