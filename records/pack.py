"""Packs a chunk to a frame, about a fifteenth of its size, and unpacks it; the standard library only.

Invariants: `unpack(pack(chunk)) == chunk` for any bytes whatsoever; a frame stands alone, so that one which is torn or
damaged costs itself only, and `frames` finds the next one by its magic. `docs/trace-format.md` draws the bytes.
"""

from __future__ import annotations

import re
import struct
import zlib
from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from clew.records.event import RECORD_SIZE
from clew.records.header import CHUNK_HEADER_SIZE

MAGIC = b"\xc1CLEWZ\r\n"
VERSION = 1
FRAME = struct.Struct("<8sHHIII")
"""magic, version, kind, length of what was packed, length of what follows this head, its crc32."""
MAX_CHUNK = 1 << 17
"""A frame that says it holds more is damaged."""

CHUNK = 1
"""Kind of frame: a chunk. Readers step over kinds that they do not know."""
DROPPED = 2
"""Kind of frame: what was thrown away to stay within the quota, of which the greatest holds. See `DROPPED_BODY`."""
DROPPED_BODY = struct.Struct("<QQ")
"""Records thrown away until now, ticks of the last of them."""

LEVEL = 3
"""Of zlib. 6 would save a tenth of the size and cost a quarter more time."""

_COUNTS = struct.Struct("<IIIBQ")
"""Records, extensions, slots of extensions behind their first ones, flags, ticks of the last record."""
_SUMMED = 1
"""Flag: the records' first words are differences."""
_MASKS = struct.Struct("<HH")
"""Of up to 16 planes: which are one byte repeated, which are compressed. The others are zeros."""
_EXTENDED = re.compile(b"|".join(re.escape(bytes([slots])) + b".{0,%d}" % slots for slots in range(1, 256)), re.DOTALL)
_SLOTS = re.compile(rb"[^\0]")
_SIZE = struct.Struct("<I")
_WORD = (1 << 64) - 1


class Frame(NamedTuple):
    """A whole frame: its kind, the chunk's header (or less, of what was shorter), and how to get all of it."""

    kind: int
    length: int
    """Of what was packed."""
    body: memoryview

    @property
    def size(self) -> int:
        return FRAME.size + len(self.body)

    @property
    def header(self) -> bytes:
        """The first bytes of what was packed, as they were."""
        return bytes(self.body[: min(self.length, CHUNK_HEADER_SIZE)])

    def extent(self) -> tuple[int, int]:
        """How many records a chunk has, and the ticks of its last one; nothing needs to be unpacked for that."""
        try:
            count, _, _, _, last = _COUNTS.unpack_from(self.body, CHUNK_HEADER_SIZE)
        except struct.error:
            return 0, 0
        return count, last

    def unpack(self) -> bytes:
        """What was packed. Raises `ValueError` for what `pack` never made."""
        if self.kind != CHUNK:
            return bytes(self.body)
        size = min(self.length, CHUNK_HEADER_SIZE)
        try:
            data = _unpack_data(self.body[size:])
        except (zlib.error, struct.error, IndexError) as error:
            raise ValueError(str(error)) from None
        # Zeros at the end are not stored; those that fill up the last unit may be beyond it.
        return (bytes(self.body[:size]) + data).ljust(self.length, b"\0")[: self.length]


def pack(chunk: bytes) -> bytes:
    """A frame that holds `chunk`, at most `MAX_CHUNK` bytes."""
    if len(chunk) > MAX_CHUNK:
        raise ValueError(f"{len(chunk)} bytes are no chunk")
    return frame(CHUNK, len(chunk), chunk[:CHUNK_HEADER_SIZE] + _pack_data(chunk[CHUNK_HEADER_SIZE:]))


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
    return Frame(kind, length, body)


def is_torn(view: memoryview, at: int) -> bool:
    """Does a frame begin there that the data ends in the middle of?"""
    head = bytes(view[at : at + FRAME.size])
    if len(head) < FRAME.size:
        return head[: len(MAGIC)] == MAGIC[: len(head)]
    magic, _, _, _, size, _ = FRAME.unpack(head)
    return bool(magic == MAGIC and size > len(view) - at - FRAME.size)


def _pack_data(data: bytes) -> bytes:
    data = data.rstrip(b"\0")
    data += b"\0" * (-len(data) % RECORD_SIZE)
    records, firsts, texts = _split(data)
    times = array("Q", records[0::2])
    last = max(times[-2:], default=0)  # the very last may have been torn
    summed = _differences(times)
    flags = _SUMMED * summed
    parts = [_COUNTS.pack(len(times), len(firsts) // RECORD_SIZE, len(texts) // RECORD_SIZE, flags, last)]
    column = times.tobytes()
    words = records[1::2].tobytes()
    if summed:  # the first one is no difference, and would make planes of its own
        parts.append(column[:8])
        column = bytes(8) + column[8:]
    parts.append(_pack_planes([column[place::8] for place in range(8)] + [words[place::8] for place in range(8)]))
    if firsts:
        parts.append(_pack_firsts(firsts))
    if texts:
        parts.append(_deflate(texts))
    return b"".join(parts)


def _unpack_data(body: memoryview) -> bytes:
    count, extended, more, flags, last = _COUNTS.unpack_from(body)
    body = body[_COUNTS.size :]
    if max(count, extended, more) * RECORD_SIZE > MAX_CHUNK:
        raise ValueError("more than a chunk")
    first = b""
    if flags & _SUMMED:
        first, body = bytes(body[:8]), body[8:]
    body, planes = _unpack_planes(body, count)
    if flags & _SUMMED and count:
        # Nearly always all ticks of a chunk are equal in their upper half: then half as much is to be summed.
        size = 4 if first[4:] == last.to_bytes(8, "little")[4:] else 8
        times = _sums(first[size - 1 :: -1] + _woven(planes[size - 1 :: -1], count)[size:], size)
        planes[:size] = [times[size - 1 - place :: size] for place in range(size)]
        planes[size:8] = [first[place : place + 1] * count for place in range(size, 8)]
    records = _woven(planes, count)
    if not extended:
        return records
    body, firsts = _unpack_firsts(body, extended)
    texts = _inflate(body, more * RECORD_SIZE) if more else b""
    return _join(records, firsts, texts)


def _pack_firsts(firsts: bytes) -> bytes:
    """First slots of extensions. Most keys come several times: each says how far back it came last, 0 for a new one.

    New ones lie apart as counters' or neighbours' addresses do, so that their differences are few.
    """
    backs, new, last = array("H"), array("Q"), 0
    seen: dict[int, int] = {}
    for number, key in enumerate(memoryview(firsts).cast("Q")[1::2].tolist()):
        before = seen.get(key)
        if before is None or number - before > 0xFFFF:
            backs.append(0)
            new.append(key - last & _WORD)
            last = key
        else:
            backs.append(number - before)
        seen[key] = number
    back, distance = backs.tobytes(), new.tobytes()
    heads = [firsts[place::RECORD_SIZE] for place in range(8)]
    return (
        _pack_planes([*heads, back[::2], back[1::2]])
        + _SIZE.pack(len(new))
        + _pack_planes([distance[place::8] for place in range(8)])
    )


def _unpack_firsts(body: memoryview, count: int) -> tuple[memoryview, bytes]:
    """What is behind them, and the first slots."""
    body, planes = _unpack_planes(body, count)
    (many,) = _SIZE.unpack_from(body)
    if many > count:
        raise ValueError("more keys than extensions")
    body, distances = _unpack_planes(body[_SIZE.size :], many)
    last, at, keys = 0, 0, array("Q")
    new = memoryview(_woven(distances[:8], many)).cast("Q")
    for number, back in enumerate(memoryview(_woven(planes[8:10], count)).cast("H")):
        if not back:
            last = last + new[at] & _WORD
            at += 1
            keys.append(last)
        elif back <= number:
            keys.append(keys[number - back])
        else:
            raise ValueError("a key from before the chunk")
    values = keys.tobytes()
    return body, _woven(planes[:8] + [values[place::8] for place in range(8)], count)


def _woven(planes: list[bytes], count: int) -> bytes:
    """The bytes of which each of n planes has every n-th, `count` of them; an empty plane is zeros."""
    woven = bytearray(len(planes) * count)
    for place, plane in enumerate(planes):
        if plane:
            woven[place :: len(planes)] = plane
    return bytes(woven)


def _split(data: bytes) -> tuple[memoryview, bytes, bytes]:
    """Units of 16 bytes: records as 8-byte words, the first slots of extensions, their other slots."""
    slots = data[9::RECORD_SIZE]
    if not slots.strip(b"\0"):
        return memoryview(data).cast("Q"), b"", b""
    spans = [match.span() for match in _EXTENDED.finditer(slots)]
    starts = [(start + 1) * RECORD_SIZE for start, _ in spans]
    stops = [stop * RECORD_SIZE for _, stop in spans]
    records = b"".join(
        [*(data[stop:start] for stop, start in zip([0, *stops], starts, strict=False)), data[stops[-1] :]]
    )
    firsts = b"".join([data[start : start + RECORD_SIZE] for start in starts])
    texts = b"".join([data[start + RECORD_SIZE : stop] for start, stop in zip(starts, stops, strict=True)])
    return memoryview(records).cast("Q"), firsts, texts


def _join(records: bytes, firsts: bytes, texts: bytes) -> bytes:
    """Inverse of `_split`, for what it made."""
    slots = records[9::RECORD_SIZE]
    starts = [match.end() * RECORD_SIZE for match in _SLOTS.finditer(slots)]
    parts = [b""] * (3 * len(starts))
    parts[0::3] = [records[before:start] for before, start in zip([0, *starts], starts, strict=False)]
    parts[1::3] = [firsts[at : at + RECORD_SIZE] for at in range(0, len(starts) * RECORD_SIZE, RECORD_SIZE)]
    if texts:
        ends = [*accumulate((number - 1) * RECORD_SIZE for number in slots.translate(None, b"\0"))]
        parts[2::3] = [texts[before:end] for before, end in zip([0, *ends], ends, strict=False)]
    return b"".join([*parts, records[starts[-1] if starts else 0 :]])


def _differences(times: array[int]) -> bool:
    """Replaces all but the first by their differences, unless that could not be undone: False.

    They are lanes of one number, the first the most significant, so that one subtraction does it. None borrows from the
    next as long as no difference is negative; of numbers below 2**63 a negative one would show in its highest bit.
    """
    column = times.tobytes()
    if not column or not column[7::8].isascii():
        return False
    swapped = array("Q", times)
    swapped.byteswap()
    number = int.from_bytes(swapped.tobytes(), "big")
    differences = (number - (number >> 64)).to_bytes(len(column), "big")
    if not differences[::8].isascii():
        return False
    swapped = array("Q", differences)
    swapped.byteswap()
    times[:] = swapped
    return True


def _sums(differences: bytes, size: int) -> bytes:
    """Inverse of `_differences`, in big-endian lanes of `size` bytes: sums over 2, 4, 8 … neighbours at a time."""
    number, shift = int.from_bytes(differences, "big"), size * 8
    while shift < len(differences) * 8:
        number += number >> shift
        shift *= 2
    return (number & (1 << len(differences) * 8) - 1).to_bytes(len(differences), "big")


def _pack_planes(planes: list[bytes]) -> bytes:
    """Each plane as zeros, one byte or compressed, whatever it is."""
    repeated = compressed = 0
    single = bytearray()
    parts: list[bytes] = []
    for place, plane in enumerate(planes):
        if plane == plane[:1] * len(plane):
            if plane[:1].strip(b"\0"):
                repeated |= 1 << place
                single += plane[:1]
        else:
            compressed |= 1 << place
            parts.append(_deflate(plane))
    return b"".join((_MASKS.pack(repeated, compressed), single, *parts))


def _unpack_planes(body: memoryview, count: int) -> tuple[memoryview, list[bytes]]:
    """What is behind them, and 16 planes of `count` bytes; those of zeros, or that were not packed, are empty."""
    repeated, compressed = _MASKS.unpack_from(body)
    at = _MASKS.size
    planes = [b""] * 16
    for place in range(16):
        if repeated >> place & 1:
            planes[place] = bytes(body[at : at + 1]) * count
            at += 1
    for place in range(16):
        if compressed >> place & 1:
            planes[place] = _inflate(body[at:], count)
            at += _SIZE.size + _SIZE.unpack_from(body, at)[0]
    if any(len(plane) not in {0, count} for plane in planes):
        raise ValueError("a plane is too short")
    return body[at:], planes


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(data) + packer.flush()
    return _SIZE.pack(len(packed)) + packed


def _inflate(body: memoryview, size: int) -> bytes:
    """`size` bytes from a stream that says its own length first. Raises `ValueError` when it gives other than that."""
    (length,) = _SIZE.unpack_from(body)
    data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[_SIZE.size : _SIZE.size + length], size + 1)
    if len(data) != size:
        raise ValueError("a stream of another length")
    return data
