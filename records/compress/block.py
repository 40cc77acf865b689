"""Packs a chunk to a frame, about a twentieth of its size, and unpacks it.

Invariants: `unpack(pack(chunk)) == chunk` for any bytes whatsoever; a frame stands alone, so that one which is torn or
damaged costs itself only, and `frames` finds the next one by its magic. `docs/trace-format.md` draws the bytes.
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
FRAME = struct.Struct("<8sHHIII")
"""magic, version, kind, length of what was packed, length of what follows this head, its crc32."""

CHUNK = 1
"""Kind of frame: a chunk. Readers step over kinds that they do not know."""
DROPPED = 2
"""Kind of frame: what was thrown away to stay within the quota, of which the greatest holds. See `DROPPED_BODY`."""
DROPPED_BODY = struct.Struct("<QQ")
"""Records thrown away until now, ticks of the last of them."""

_SIZE = struct.Struct("<I")


class Frame(NamedTuple):
    """A whole frame: its kind, the chunk's header (or less, of what was shorter), and how to get all of it."""

    kind: int
    version: int
    length: int
    """Of what was packed."""
    body: memoryview
    crc: int

    @property
    def size(self) -> int:
        return FRAME.size + len(self.body)

    @property
    def header(self) -> bytes:
        """The first bytes of what was packed, as they were."""
        return bytes(self.body[: min(self.length, CHUNK_HEADER_SIZE)])

    def extent(self) -> tuple[int, int]:
        """How many records a chunk has, and the ticks of its last one; nothing needs to be unpacked for that."""
        return column_streams.extent(self.body[CHUNK_HEADER_SIZE:])

    def unpack(self) -> bytes:
        """What was packed. Raises `ValueError` for what `pack` never made."""
        if self.kind != CHUNK:
            return bytes(self.body)
        head = self.header
        data = column_streams.unpack(self.body[len(head) :])
        # Zeros at the end are not stored; those that fill up the last unit may be beyond it.
        return (head + data).ljust(self.length, b"\0")[: self.length]


def pack(chunk: bytes) -> bytes:
    """A frame that holds `chunk`, at most `MAX_CHUNK` bytes."""
    if len(chunk) > MAX_CHUNK:
        raise ValueError(f"{len(chunk)} bytes are too many for a chunk")
    return frame(
        CHUNK, len(chunk), chunk[:CHUNK_HEADER_SIZE] + column_streams.pack(memoryview(chunk)[CHUNK_HEADER_SIZE:])
    )


def frame(kind: int, length: int, body: bytes) -> bytes:
    head = FRAME.pack(MAGIC, VERSION, kind, length, len(body), 0)[: -_SIZE.size]
    return head + _SIZE.pack(zlib.crc32(body, zlib.crc32(head))) + body


def unpack(data: bytes | memoryview) -> bytes:
    """What the frame that `data` begins with holds. Raises `ValueError` when it begins with no whole frame."""
    found = frame_at(memoryview(data), 0)
    if found is None:
        raise ValueError("not a whole frame")
    return found.unpack()


def frames(data: bytes | memoryview) -> Iterator[tuple[int, Frame | None]]:
    """Every whole frame with its offset, and `None` with the offset of whatever else lies between two of them or at the end.

    A frame that the data ends in the middle of is being written, or was when its writer died: it is passed over.
    """
    view, at = memoryview(data), 0
    text = data if isinstance(data, bytes) else bytes(data)
    while at < len(view):
        found = frame_at(view, at)
        if found is not None:
            yield at, found
            at += found.size
            continue
        following = text.find(MAGIC, at + 1)
        while following >= 0 and frame_at(view, following) is None:
            following = text.find(MAGIC, following + 1)
        if following >= 0 or not is_torn(view, at):
            yield at, None
        if following < 0:
            return
        at = following


def frame_at(view: memoryview, at: int) -> Frame | None:
    """The frame that begins there, if it is whole."""
    if len(view) - at < FRAME.size:
        return None
    magic, version, kind, length, size, crc = FRAME.unpack_from(view, at)
    start = at + FRAME.size
    if magic != MAGIC or version != VERSION or length > MAX_CHUNK or size > min(len(view) - start, 2 * MAX_CHUNK):
        return None
    body = view[start : start + size]
    if zlib.crc32(body, zlib.crc32(view[at : start - _SIZE.size])) != crc:
        return None
    return Frame(kind, version, length, body, crc)


def other_version(view: memoryview, at: int) -> int:
    """The version of what begins there if that is a frame of another version of the format, or else 0."""
    head = bytes(view[at : at + FRAME.size])
    if len(head) < FRAME.size or head[: len(MAGIC)] != MAGIC:
        return 0
    version: int = FRAME.unpack(head)[1]
    return version if version != VERSION else 0


def is_torn(view: memoryview, at: int) -> bool:
    """Does a frame begin there that the data ends in the middle of?"""
    head = bytes(view[at : at + FRAME.size])
    if len(head) < FRAME.size:
        return head[: len(MAGIC)] == MAGIC[: len(head)]
    magic, _, _, _, size, _ = FRAME.unpack(head)
    return bool(magic == MAGIC and size > len(view) - at - FRAME.size)
