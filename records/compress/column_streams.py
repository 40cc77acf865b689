"""Compress a chunk's data as a sequence of streams, each with a suitable method.

The codec in C (`csrc/codec.c`) splits a chunk's data into streams and joins them; this module compresses the streams.
Invariant: `decompress(compress(data))` is `data` without its trailing zeros. `docs/trace-format.md` describes the streams.
"""

from __future__ import annotations

import struct
import zlib

from clew.records.compress import _codec
from clew.records.compress.stream_layout import COUNTS, MAX_CHUNK, STREAMS, Stream

_STORED, _REPEATED, _DEFLATED = 0, 1, 2
_MIN_DEFLATED = 48
"""The minimum number of bytes of a stream to compress."""
_LEVEL = 3
"""The zlib level for streams with repeated sequences."""
_TEXT_LEVEL, _TEXT_MEMORY = 9, 9
"""The zlib level and memory for texts, which become a fifth smaller than with level 3. Most texts are in definitions, and
every process has only a few chunks of these."""


def compress(data: bytes | memoryview) -> bytes:
    body = []
    for number, stream in enumerate(_codec.split(data)):
        if number == Stream.NUMBERS:
            body.append(stream)
        elif len(stream) >= _MIN_DEFLATED and stream.count(stream[0]) == len(stream):
            body += bytes((_REPEATED,)), _varint(len(stream)), stream[:1]
        else:
            try_deflate = len(stream) >= _MIN_DEFLATED and number != Stream.STEPS
            deflated = _deflated(stream, number) if try_deflate else stream
            if len(deflated) < len(stream):
                body += bytes((_DEFLATED,)), _varint(len(stream)), _varint(len(deflated)), deflated
            else:
                body += bytes((_STORED,)), _varint(len(stream)), stream
    return b"".join(body)


def decompress(body: memoryview) -> bytes:
    """Invert `compress`. Raise `ValueError` for data that it never returns."""
    return _codec.join(_streams_of(body))


def _streams_of(body: memoryview) -> list[bytes]:
    """Return the decompressed streams. Raise `ValueError` if they are damaged."""
    size = COUNTS.size
    streams = [bytes(body[:size])]
    at = size
    try:
        for _ in range(STREAMS - 1):
            form = body[at]
            length, at = _read_varint(body, at + 1)
            if length > MAX_CHUNK:
                raise ValueError("a stream is too long")
            if form == _STORED:
                stream = bytes(body[at : at + length])
                at += length
            elif form == _REPEATED:
                stream = bytes((body[at],)) * length
                at += 1
            elif form == _DEFLATED:
                deflated, at = _read_varint(body, at)
                stream = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[at : at + deflated], length + 1)
                at += deflated
            else:
                raise ValueError("a stream has an unknown form")
            if len(stream) != length:
                raise ValueError("a stream has the wrong length")
            streams.append(stream)
    except (zlib.error, IndexError) as error:
        raise ValueError(str(error)) from None
    return streams


def extent(body: memoryview) -> tuple[int, int]:
    """Return the number of records and the ticks of the last one, from compressed data; zeros if it is too short."""
    try:
        numbers = COUNTS.unpack_from(body)
    except struct.error:
        return 0, 0
    return numbers[0], numbers[-1]


def _deflated(data: bytes, number: int) -> bytes:
    level, memory, strategy = _LEVEL, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY
    if _is_noise(data, number):
        strategy = zlib.Z_HUFFMAN_ONLY
    elif number == Stream.TEXTS:
        level, memory = _TEXT_LEVEL, _TEXT_MEMORY
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, memory, strategy)
    return compressor.compress(data) + compressor.flush()


def _is_noise(data: bytes, number: int) -> bool:
    """Return whether the stream lacks repeated sequences, so that Huffman codes alone suffice, which are five times as fast.

    Stream RESTS is noise unless one value is at least half of it; a sample of its bytes contains that value.
    """
    if number != Stream.RESTS:
        return number == Stream.NEAR
    return all(data.count(rest) * 2 < len(data) for rest in {*data[:: len(data) // 8]})


def _varint(number: int) -> bytes:
    """Encode a number with seven bits per byte, the lowest first; the highest bit is set in all bytes but the last."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_varint(body: memoryview, at: int) -> tuple[int, int]:
    """Return a `_varint` of at most five bytes, and the offset of its end."""
    number = 0
    for shift in range(0, 35, 7):
        byte = body[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number is longer than five bytes")
