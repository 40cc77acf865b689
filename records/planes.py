"""Unpacks the chunks of frames of version 1, of before 0.2; `clew.records.streams` packs and unpacks newer ones.

Invariant: any bytes whatsoever give some data or a `ValueError`. `docs/trace-format.md` draws the bytes.
"""

from __future__ import annotations

import struct
import zlib
from array import array

from clew.records.codec import MAX_CHUNK, joined
from clew.records.event import RECORD_SIZE

_COUNTS = struct.Struct("<IIIBQ")
"""Records, extensions, slots of extensions behind their first ones, flags, ticks of the last record."""
_SUMMED = 1
"""Flag: the records' first words are differences."""
_MASKS = struct.Struct("<HH")
"""Of up to 16 planes: which are one byte repeated, which are compressed. The others are zeros."""
_SIZE = struct.Struct("<I")
_WORD = (1 << 64) - 1


def extent(body: memoryview) -> tuple[int, int]:
    """How many records, and the ticks of the last one."""
    try:
        count, _, _, _, last = _COUNTS.unpack_from(body)
    except struct.error:
        return 0, 0
    return count, last


def unpack(body: memoryview) -> bytes:
    """The data that was packed, zeros at its end but for those. Raises `ValueError` for what never was."""
    try:
        return _unpack_data(body)
    except (zlib.error, struct.error, IndexError) as error:
        raise ValueError(str(error)) from None


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
    return joined(records, firsts, texts)


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


def _sums(differences: bytes, size: int) -> bytes:
    """Inverse of `_differences`, in big-endian lanes of `size` bytes: sums over 2, 4, 8 … neighbours at a time."""
    number, shift = int.from_bytes(differences, "big"), size * 8
    while shift < len(differences) * 8:
        number += number >> shift
        shift *= 2
    return (number & (1 << len(differences) * 8) - 1).to_bytes(len(differences), "big")


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


def _inflate(body: memoryview, size: int) -> bytes:
    """`size` bytes from a stream that says its own length first. Raises `ValueError` when it gives other than that."""
    (length,) = _SIZE.unpack_from(body)
    data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[_SIZE.size : _SIZE.size + length], size + 1)
    if len(data) != size:
        raise ValueError("a stream of another length")
    return data
