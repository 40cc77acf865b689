"""What is packed is what is unpacked, for any bytes; damage costs the frame it is in and no other."""

import json
import os
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.records.compress import block
from clew.records.format.event import Kind, pack_extension, pack_word
from clew.records.format.header import CHUNK_HEADER_SIZE, CHUNK_SIZE
from tests.support.examples import examples

PLAIN = st.tuples(st.integers(0, 300), st.sampled_from([1, 2, 3, 4, 5, 24, 255]), st.integers(0, 2**32 - 1), st.none())
EXTENDED = st.tuples(
    st.integers(0, 2**40), st.integers(0, 255), st.integers(0, 3),
    st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 4), st.binary(max_size=60)),
)  # fmt: skip


def as_bytes(records, ticks=1 << 52):
    data = b""
    for step, kind, site, more in records:
        ticks += step
        extension = pack_extension(more[0], 3, more[1]) if more else b""
        data += struct.pack("<QQ", ticks & (1 << 64) - 1, pack_word(kind, site, len(extension) // 16)) + extension
    return data


@given(st.binary(max_size=400))
@example(b"")
@example(bytes(CHUNK_SIZE))
@example(b"\xff" * CHUNK_SIZE)
@example(bytes(CHUNK_HEADER_SIZE) + b"\0\0\0\0\0\0\0\0\1\1")  # an extension that ends with the data
@example(bytes(CHUNK_HEADER_SIZE) + bytes(9) + b"\xff")
def test_any_bytes_come_back(data):
    assert block.unpack(block.pack(data)) == data


@given(
    st.binary(min_size=64, max_size=64), st.lists(PLAIN | EXTENDED), st.binary(max_size=40), st.integers(0, 2**64 - 1)
)
@settings(max_examples=examples(200))
def test_any_records_come_back(head, records, rest, ticks):
    chunk = head + as_bytes(records, ticks) + rest
    assert block.unpack(block.pack(chunk)) == chunk


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40))
@example([2**63, 1])
@example([2**63 - 1, 0])
@example([0, 2**64 - 1, 0])
def test_ticks_that_go_back_come_back(ticks):
    chunk = bytes(64) + b"".join(struct.pack("<QQ", tick, 1) for tick in ticks)
    assert block.unpack(block.pack(chunk)) == chunk


def test_a_full_chunk_of_calls_takes_a_fraction():
    records = [(90 + number * 7919 % 50, 1 + number % 2, 5 + number % 3, None) for number in range(4092)]
    chunk = os.urandom(64) + as_bytes(records)
    frame = block.pack(chunk)
    assert len(chunk) == CHUNK_SIZE
    assert len(frame) * 8 < len(chunk)
    assert block.unpack(frame) == chunk


def test_keys_that_come_again_take_next_to_nothing():
    keys = [int.from_bytes(os.urandom(8), "little") for _ in range(4)] * 400
    once = bytes(64) + as_bytes([(9, Kind.SEND, 0, (key, b"")) for key in keys[:4]])
    often = bytes(64) + as_bytes([(9, Kind.SEND, 0, (key, b"")) for key in keys])
    assert len(block.pack(often)) < len(block.pack(once)) + 300


def test_what_is_no_chunk_is_refused():
    with pytest.raises(ValueError):
        block.pack(bytes(block.MAX_CHUNK + 1))


FRAMES = [block.pack(json.dumps({"number": number}).encode() * number) for number in range(8)]


def found(data):
    return [frame.unpack() for _, frame in block.frames(data) if frame]


CONTENT = found(b"".join(FRAMES))


def test_frames_follow_each_other():
    assert len(CONTENT) == len(FRAMES)
    assert all(frame for _, frame in block.frames(b"".join(FRAMES)))


@pytest.mark.parametrize("number", range(8))
def test_a_damaged_frame_costs_itself_only(number):
    for place in range(0, len(FRAMES[number]), 5):
        damaged = bytearray(FRAMES[number])
        damaged[place] ^= 0x55
        data = b"".join([*FRAMES[:number], bytes(damaged), *FRAMES[number + 1 :]])
        assert found(data) == CONTENT[:number] + CONTENT[number + 1 :]
        # At the end it may look like one that is still being written.
        assert sum(frame is None for _, frame in block.frames(data)) == 1 or number == 7


@pytest.mark.parametrize("number", range(8))
def test_a_torn_frame_costs_itself_only(number):
    for length in range(0, len(FRAMES[number]), 7):
        data = b"".join([*FRAMES[:number], FRAMES[number][:length], *FRAMES[number + 1 :]])
        assert found(data) == CONTENT[:number] + CONTENT[number + 1 :]


@given(st.binary(max_size=300))
def test_any_bytes_can_be_searched_for_frames(data):
    assert found(data) == []
    assert found(data + FRAMES[5]) == [CONTENT[5]]


@given(st.data())
@settings(max_examples=examples(300))
def test_a_frame_with_any_body_unpacks_or_is_refused(data):
    """Its checksum is right: somebody made it so."""
    good = bytearray(FRAMES[7][block.FRAME.size :])
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    body = bytes(good[: data.draw(st.integers(0, len(good)))])
    length = data.draw(st.integers(0, 300))
    try:
        assert len(block.unpack(block.frame(block.CHUNK, length, body))) == length
    except ValueError:
        pass
