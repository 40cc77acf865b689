"""Compress a chunk to a block, about a twentieth of its size, and decompress it.

Invariants: `decompress(compress(chunk)) == chunk` for any bytes. A block does not depend on other blocks: if it is torn or
damaged, only its own chunk is lost, and `blocks` finds the next block by its magic. `docs/trace-format.md` shows the bytes.
"""

import struct
import zlib
from collections.abc import Iterator

from clew.records.compress import column_streams
from clew.records.compress.stream_layout import MAX_CHUNK
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.header import CHUNK_HEADER_SIZE

MAGIC = b"\xc1CLEWZ\r\n"
VERSION = 3
HEAD = struct.Struct("<8sHHIII")
"""magic, version, kind, original length, length of the body after this head, crc32."""

CHUNK = 1
"""Kind of a block with a chunk. Readers skip unknown kinds."""
DROPPED = 2
"""Kind of a block with the number of records dropped to stay within the quota; the greatest one counts. See `DROPPED_BODY`."""
DROPPED_BODY = struct.Struct("<QQ")
"""The number of records dropped so far, and the ticks of the last of them."""

_SIZE = struct.Struct("<I")


class Block(NamedTuple):
    """A complete block."""

    kind: int
    version: int
    length: int
    """The length of the original data."""
    body: memoryview
    crc: int

    @property
    def size(self) -> int:
        return HEAD.size + len(self.body)

    @property
    def header(self) -> bytes:
        """The chunk's header, which is stored unchanged; shorter if the original data was shorter."""
        return bytes(self.body[: min(self.length, CHUNK_HEADER_SIZE)])

    def extent(self) -> tuple[int, int]:
        """Return the chunk's number of records and the ticks of its last one, without decompressing it."""
        return column_streams.extent(self.body[CHUNK_HEADER_SIZE:])

    def decompress(self) -> bytes:
        """Return the original data. Raise `ValueError` for a block that `compress` never returns."""
        if self.kind != CHUNK:
            return bytes(self.body)
        head = self.header
        data = column_streams.decompress(self.body[len(head) :])
        # Trailing zeros are not stored, and the zeros that fill the last unit may exceed the length.
        return (head + data).ljust(self.length, b"\0")[: self.length]


def compress(chunk: bytes) -> bytes:
    """Return a block with `chunk`. Raise `ValueError` for more than `MAX_CHUNK` bytes."""
    if len(chunk) > MAX_CHUNK:
        raise ValueError(f"{len(chunk)} bytes are too many for a chunk")
    return encode(
        CHUNK, len(chunk), chunk[:CHUNK_HEADER_SIZE] + column_streams.compress(memoryview(chunk)[CHUNK_HEADER_SIZE:])
    )


def encode(kind: int, length: int, body: bytes) -> bytes:
    """Return a block with this body; `length` is the length of the original data."""
    head = HEAD.pack(MAGIC, VERSION, kind, length, len(body), 0)[: -_SIZE.size]
    return head + _SIZE.pack(zlib.crc32(body, zlib.crc32(head))) + body


def decompress(data: bytes | memoryview) -> bytes:
    """Return the original data of the block at the start of `data`. Raise `ValueError` if it is missing or incomplete."""
    found = block_at(memoryview(data), 0)
    if found is None:
        raise ValueError("not a complete block")
    return found.decompress()


def blocks(data: bytes | memoryview) -> Iterator[tuple[int, Block | None]]:
    """Yield every complete block with its offset, and `None` with the offset of other data between blocks or at the end.

    An incomplete block at the end is skipped: it is being written, or its writer died.
    """
    view, at = memoryview(data), 0
    text = data if isinstance(data, bytes) else bytes(data)
    while at < len(view):
        found = block_at(view, at)
        if found is not None:
            yield at, found
            at += found.size
            continue
        following = text.find(MAGIC, at + 1)
        while following >= 0 and block_at(view, following) is None:
            following = text.find(MAGIC, following + 1)
        if following >= 0 or not is_torn(view, at):
            yield at, None
        if following < 0:
            return
        at = following


def block_at(view: memoryview, at: int) -> Block | None:
    """Return the block at an offset; None if it is missing or incomplete."""
    if len(view) - at < HEAD.size:
        return None
    magic, version, kind, length, size, crc = HEAD.unpack_from(view, at)
    start = at + HEAD.size
    if magic != MAGIC or version != VERSION or length > MAX_CHUNK or size > min(len(view) - start, 2 * MAX_CHUNK):
        return None
    body = view[start : start + size]
    if zlib.crc32(body, zlib.crc32(view[at : start - _SIZE.size])) != crc:
        return None
    return Block(kind, version, length, body, crc)


def other_version(view: memoryview, at: int) -> int:
    """Return the format version of the block at an offset if it is not the current version, otherwise 0."""
    head = bytes(view[at : at + HEAD.size])
    if len(head) < HEAD.size or head[: len(MAGIC)] != MAGIC:
        return 0
    version: int = HEAD.unpack(head)[1]
    return version if version != VERSION else 0


def is_torn(view: memoryview, at: int) -> bool:
    """Return whether the data ends within a block that begins at the offset."""
    head = bytes(view[at : at + HEAD.size])
    if len(head) < HEAD.size:
        return head[: len(MAGIC)] == MAGIC[: len(head)]
    magic, _, _, _, size, _ = HEAD.unpack(head)
    return bool(magic == MAGIC and size > len(view) - at - HEAD.size)
