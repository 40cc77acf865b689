"""A chunk's data as a row of streams, each compressed in the way that suits it.

What a chunk's data is taken apart into, `clew.records.codec` says, or its twin in C where that could be built; this file
compresses. Invariants: the two twins give the same streams; `unpack(pack(data))` is `data`, but for zeros at its end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence

from clew.records import codec

split: Callable[[bytes | memoryview], list[bytes]]
join: Callable[[Sequence[bytes], int], bytes]
try:
    from clew.records import _codec
except ImportError:  # no compiler was at hand: a hundred times slower
    split, join = codec.split, codec.join
else:
    split, join = _codec.split, _codec.join

MAX_CHUNK = codec.MAX_CHUNK

_STORED, _REPEATED, _DEFLATED = 0, 1, 2
_LITTLE = 48
"""Bytes from which on compression is tried."""
_LEVEL = 3
"""Of zlib, for streams in which sequences come again."""
_TEXT_LEVEL, _TEXT_MEMORY = 9, 9
"""A fifth less than with 3. Texts are few but in definitions, of which every process has some chunks only."""


def pack(data: bytes | memoryview) -> bytes:
    body = []
    for number, part in enumerate(split(data)):
        if number == codec.NUMBERS:
            body.append(part)
        elif len(part) >= _LITTLE and part.count(part[0]) == len(part):
            body += bytes((_REPEATED,)), _varint(len(part)), part[:1]
        else:
            packed = _compressed(part, number) if len(part) >= _LITTLE and number != codec.STEPS else part
            if len(packed) < len(part):
                body += bytes((_DEFLATED,)), _varint(len(part)), _varint(len(packed)), packed
            else:
                body += bytes((_STORED,)), _varint(len(part)), part
    return b"".join(body)


def unpack(body: memoryview, version: int) -> bytes:
    """Inverse of `pack`, as it is or was in frames of that version. Raises `ValueError` for what that never made."""
    return join(parts_of(body), version)


def parts_of(body: memoryview) -> list[bytes]:
    """The streams, as they were before they were compressed. Raises `ValueError` where there are none."""
    size = codec.COUNTS.size
    parts = [bytes(body[:size])]
    at = size
    try:
        for _ in range(codec.STREAMS - 1):
            mode = body[at]
            length, at = _number(body, at + 1)
            if length > MAX_CHUNK:
                raise ValueError("a stream is too long")
            if mode == _STORED:
                part = bytes(body[at : at + length])
                at += length
            elif mode == _REPEATED:
                part = bytes((body[at],)) * length
                at += 1
            elif mode == _DEFLATED:
                packed, at = _number(body, at)
                part = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[at : at + packed], length + 1)
                at += packed
            else:
                raise ValueError("a stream of unknown form")
            if len(part) != length:
                raise ValueError("a stream of another length")
            parts.append(part)
    except (zlib.error, IndexError) as error:
        raise ValueError(str(error)) from None
    return parts


def extent(body: memoryview) -> tuple[int, int]:
    """How many records, and the ticks of the last one."""
    try:
        numbers = codec.COUNTS.unpack_from(body)
    except struct.error:
        return 0, 0
    return numbers[0], numbers[-1]


def _compressed(data: bytes, number: int) -> bytes:
    level, memory, strategy = _LEVEL, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY
    if _is_noise(data, number):
        strategy = zlib.Z_HUFFMAN_ONLY
    elif number == codec.TEXTS:
        level, memory = _TEXT_LEVEL, _TEXT_MEMORY
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, memory, strategy)
    return packer.compress(data) + packer.flush()


def _is_noise(data: bytes, number: int) -> bool:
    """Do no sequences come again, are only some bytes more frequent than others? Huffman's codes alone are five times as fast.

    Rests are, unless nearly all are the same; a few of them tell which one that would be.
    """
    if number != codec.RESTS:
        return number == codec.NEAR
    return all(data.count(rest) * 2 < len(data) for rest in {*data[:: len(data) // 8]})


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _number(body: memoryview, at: int) -> tuple[int, int]:
    """A `_varint` of at most five bytes, and where it ends."""
    number = 0
    for shift in range(0, 35, 7):
        byte = body[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without an end")
