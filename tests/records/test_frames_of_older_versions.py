"""What older packers packed is still read: `version-1.clewz` and `version-2.clewz` hold frames that the packers of those times
made of the chunks below."""

import random
import struct
from pathlib import Path

import pytest

from clew.records import _codec, codec, pack, streams
from clew.records.event import Kind, pack_extension, pack_word


def packed(version):
    return Path(__file__).with_name(f"version-{version}.clewz").read_bytes()


def chunk(kind, records):
    head = struct.pack("<IHHQIIQQ", 0x4B4E4843, kind, 0, 77, 1, 0, 5000, 6000).ljust(64, b"\0")
    return (head + b"".join(struct.pack("<QQ", ticks, word) + more for ticks, word, more in records)).ljust(
        1 << 16, b"\0"
    )


def extended(number):
    keys = (number // 3, 1 << 60 | number % 5, 0x9E37_79B9_7F4A_7C15 * number & (1 << 64) - 1)
    more = pack_extension(keys[number % 3], number % 2, b"text" * (number % 9), number % 3)
    return 1000 + number * 26, pack_word(Kind.SEND, number % 7, len(more) // 16), more


def fine(unit, different, count):
    """Of a clock so fine that its lowest bits went among the rests; some steps are long, some do not go with the clock."""
    chance, ticks = random.Random(unit), 1 << 50
    for number in range(count):
        ticks += unit * chance.choice((chance.randrange(200, 900), chance.randrange(5), 1 << chance.randrange(40)))
        yield ticks + (number % 97 == 0), pack_word(1 + number % 2, number * number % different), b""


CHUNKS = [
    chunk(1, [(1 << 52 | number * number, pack_word(1 + number % 2, number % 11), b"") for number in range(700)]),
    chunk(1, [extended(number) for number in range(300)]),
    chunk(1, [(tick, 1, b"") for tick in (5, 4, 2**63, 2**64 - 1, 1)]),
    chunk(3, [(7, 12345678901, b""), (9, 3, b"")]),
    chunk(2, []),
]
FINE = [chunk(1, fine(1, 12, 300)), chunk(1, fine(2, 997, 900)), chunk(1, fine(26, 5, 200))]


@pytest.mark.parametrize(("version", "chunks"), [(1, CHUNKS), (2, CHUNKS + FINE)])
def test_every_chunk_comes_back(version, chunks):
    found = [frame for _, frame in pack.frames(packed(version))]
    assert [frame.version for frame in found] == [version] * len(chunks)
    assert [frame.unpack() for frame in found] == chunks


def test_python_and_c_put_streams_of_version_2_together_alike():
    for _, frame in pack.frames(packed(2)):
        parts = streams.parts_of(frame.body[64:])
        assert codec.join(parts, 2) == _codec.join(parts, 2)
        for stream, place in [(stream, place) for stream in range(codec.STREAMS) for place in (0, 1, 9, 70, 299)]:
            damaged = [*parts]
            damaged[stream] = parts[stream][:place] + bytes([200]) + parts[stream][place + 1 :]
            assert outcome(codec.join, damaged) == outcome(_codec.join, damaged)


def outcome(join, parts):
    try:
        return join(parts, 2)
    except ValueError:
        return None


@pytest.mark.parametrize("version", [1, 2])
def test_how_many_records_and_until_when_is_said_without_unpacking(version):
    found = [frame.extent() for _, frame in pack.frames(packed(version))]
    assert found[:2] == [(700, 1 << 52 | 699 * 699), (300, 1000 + 299 * 26)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("place", range(93, 700, 9))
def test_a_damaged_body_gives_some_chunk_or_is_refused(version, place):
    first = next(frame for _, frame in pack.frames(packed(version)))
    body = bytearray(first.body)
    body[place % len(body)] ^= 0x5A
    frame = first._replace(body=memoryview(bytes(body)))
    try:
        assert len(frame.unpack()) == 1 << 16
    except ValueError:
        pass
