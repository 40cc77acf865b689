"""A chunk's data as a row of streams, each compressed in the way that suits it.

The codec in C (`csrc/codec.c`) splits a chunk's data into streams and joins them again; this file compresses the streams.
Invariant: `unpack(pack(data))` is `data`, but for zeros at its end. `docs/trace-format.md` draws the streams.
"""

from __future__ import annotations

import struct
import zlib

from clew.records.compress import _codec
from clew.records.compress.stream_layout import COUNTS, MAX_CHUNK, STREAMS, Stream

_STORED, _REPEATED, _DEFLATED = 0, 1, 2
_LITTLE = 48
"""Bytes from which on compression is tried."""
_LEVEL = 3
"""Of zlib, for streams in which sequences come again."""
_TEXT_LEVEL, _TEXT_MEMORY = 9, 9
"""A fifth less than with 3. Texts are few but in definitions, of which every process has some chunks only."""


def pack(data: bytes | memoryview) -> bytes:
    body = []
    for number, part in enumerate(_codec.split(data)):
        if number == Stream.NUMBERS:
            body.append(part)
        elif len(part) >= _LITTLE and part.count(part[0]) == len(part):
            body += bytes((_REPEATED,)), _varint(len(part)), part[:1]
        else:
            packed = _compressed(part, number) if len(part) >= _LITTLE and number != Stream.STEPS else part
            if len(packed) < len(part):
                body += bytes((_DEFLATED,)), _varint(len(part)), _varint(len(packed)), packed
            else:
                body += bytes((_STORED,)), _varint(len(part)), part
    return b"".join(body)


def unpack(body: memoryview) -> bytes:
    """Inverse of `pack`. Raises `ValueError` for what that never made."""
    return _codec.join(parts_of(body))


def parts_of(body: memoryview) -> list[bytes]:
    """The streams, as they were before they were compressed. Raises `ValueError` where there are none."""
    size = COUNTS.size
    parts = [bytes(body[:size])]
    at = size
    try:
        for _ in range(STREAMS - 1):
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
        numbers = COUNTS.unpack_from(body)
    except struct.error:
        return 0, 0
    return numbers[0], numbers[-1]


def _compressed(data: bytes, number: int) -> bytes:
    level, memory, strategy = _LEVEL, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY
    if _is_noise(data, number):
        strategy = zlib.Z_HUFFMAN_ONLY
    elif number == Stream.TEXTS:
        level, memory = _TEXT_LEVEL, _TEXT_MEMORY
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, memory, strategy)
    return packer.compress(data) + packer.flush()


def _is_noise(data: bytes, number: int) -> bool:
    """Do no sequences come again, are only some bytes more frequent than others? Huffman's codes alone are five times as fast.

    Rests are, unless nearly all are the same; a few of them tell which one that would be.
    """
    if number != Stream.RESTS:
        return number == Stream.NEAR
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
