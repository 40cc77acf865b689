"""Decompressing a compressed chunk returns its bytes, and damage affects only its own block."""

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
def test_block_of_any_bytes_survives_round_trip(data):
    assert block.decompress(block.compress(data)) == data


@given(
    st.binary(min_size=64, max_size=64), st.lists(PLAIN | EXTENDED), st.binary(max_size=40), st.integers(0, 2**64 - 1)
)
@settings(max_examples=examples(200))
def test_block_of_any_records_survives_round_trip(head, records, rest, ticks):
    chunk = head + as_bytes(records, ticks) + rest
    assert block.decompress(block.compress(chunk)) == chunk


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40))
@example([2**63, 1])
@example([2**63 - 1, 0])
@example([0, 2**64 - 1, 0])
def test_block_of_decreasing_ticks_survives_round_trip(ticks):
    chunk = bytes(64) + b"".join(struct.pack("<QQ", tick, 1) for tick in ticks)
    assert block.decompress(block.compress(chunk)) == chunk


def test_block_of_full_chunk_of_calls_is_eight_times_smaller():
    records = [(90 + number * 7919 % 50, 1 + number % 2, 5 + number % 3, None) for number in range(4092)]
    chunk = os.urandom(64) + as_bytes(records)
    found = block.compress(chunk)
    assert len(chunk) == CHUNK_SIZE
    assert len(found) * 8 < len(chunk)
    assert block.decompress(found) == chunk


def test_block_of_repeated_keys_takes_few_more_bytes():
    keys = [int.from_bytes(os.urandom(8), "little") for _ in range(4)] * 400
    once = bytes(64) + as_bytes([(9, Kind.SEND, 0, (key, b"")) for key in keys[:4]])
    often = bytes(64) + as_bytes([(9, Kind.SEND, 0, (key, b"")) for key in keys])
    assert len(block.compress(often)) < len(block.compress(once)) + 300


def test_compress_too_large_chunk_raises_value_error():
    with pytest.raises(ValueError):
        block.compress(bytes(block.MAX_CHUNK + 1))


BLOCKS = [block.compress(json.dumps({"number": number}).encode() * number) for number in range(8)]


def found(data):
    return [found.decompress() for _, found in block.blocks(data) if found]


CONTENT = found(b"".join(BLOCKS))


def test_blocks_that_follow_each_other_are_found():
    assert len(CONTENT) == len(BLOCKS)
    assert all(found for _, found in block.blocks(b"".join(BLOCKS)))


@pytest.mark.parametrize("number", range(8))
def test_blocks_except_a_damaged_one_are_found(number):
    for place in range(0, len(BLOCKS[number]), 5):
        damaged = bytearray(BLOCKS[number])
        damaged[place] ^= 0x55
        data = b"".join([*BLOCKS[:number], bytes(damaged), *BLOCKS[number + 1 :]])
        assert found(data) == CONTENT[:number] + CONTENT[number + 1 :]
        # The last block may look as if it is still being written.
        assert sum(found is None for _, found in block.blocks(data)) == 1 or number == 7


@pytest.mark.parametrize("number", range(8))
def test_blocks_except_a_truncated_one_are_found(number):
    for length in range(0, len(BLOCKS[number]), 7):
        data = b"".join([*BLOCKS[:number], BLOCKS[number][:length], *BLOCKS[number + 1 :]])
        assert found(data) == CONTENT[:number] + CONTENT[number + 1 :]


@given(st.binary(max_size=300))
def test_blocks_after_any_bytes_are_found(data):
    assert found(data) == []
    assert found(data + BLOCKS[5]) == [CONTENT[5]]


@given(st.data())
@settings(max_examples=examples(300))
def test_decompress_block_with_any_body_succeeds_or_raises_value_error(data):
    """The checksum is correct, although the body is not."""
    good = bytearray(BLOCKS[7][block.HEAD.size :])
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    body = bytes(good[: data.draw(st.integers(0, len(good)))])
    length = data.draw(st.integers(0, 300))
    try:
        assert len(block.decompress(block.encode(block.CHUNK, length, body))) == length
    except ValueError:
        pass
