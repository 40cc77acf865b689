"""The codec in C equals its Python reference implementation: both split data into the same streams, and join them equally."""

import math
import os
import random
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.records.compress import _codec, column_streams
from clew.records.format.event import Kind, pack_extension, pack_word
from tests.oracles import transpose
from tests.oracles.record_scan import find_end as python_find_end
from tests.support.examples import examples

STRIDE = 0x9E37_79B9_7F4A_7C15
U64 = st.integers(0, 2**64 - 1)
TICKS = st.sampled_from([0, 1, 26, 52, 5000, 2**40, 2**63, 2**64 - 1]) | U64
KEYS = (
    U64
    | st.integers(0, 3)
    | st.integers(0, 40).map(lambda number: 2**61 + number * 48)
    | st.integers(0, 300).map(lambda number: (99 + number * STRIDE) % 2**64)
)


@st.composite
def record(draw):
    slots = draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 255]))
    word = pack_word(
        draw(st.integers(0, 255)), draw(st.sampled_from([0, 1, 2, 2**32 - 1])), slots, draw(st.integers(0, 2))
    )
    more = b""
    if slots:
        given_slots = draw(st.integers(0, min(slots, 4)))
        more = struct.pack("<QQ", draw(st.integers(0, 2)), draw(KEYS)) + draw(st.binary(max_size=48)).ljust(48, b"\0")
        more = more[: given_slots * 16]
    return draw(TICKS), word, more


RECORDS = st.lists(record(), max_size=60)


def as_bytes(records, *, steps=False):
    data, ticks = b"", 1 << 50
    for step, word, more in records:
        ticks = ticks + step & (1 << 64) - 1 if steps else step
        data += struct.pack("<QQ", ticks, word) + more
    return data


def trimmed(data):
    data = data.rstrip(b"\0")
    return data + bytes(-len(data) % 16)


def agree(data):
    parts = transpose.split(data)
    assert _codec.split(data) == parts
    assert transpose.join(parts) == _codec.join(parts) == trimmed(data)
    assert column_streams.decompress(memoryview(column_streams.compress(data))) == trimmed(data)


@given(st.binary(max_size=500))
@example(b"")
@example(b"\0" * 8 + b"\1\1")  # an extension that ends with the data
@example(b"\xff" * transpose.MAX_CHUNK)
@example(bytes(transpose.MAX_CHUNK))
def test_codec_of_any_bytes_equals_python_reference(data):
    agree(data)


@given(RECORDS, st.booleans(), st.binary(max_size=20))
@settings(max_examples=examples(300))
def test_codec_of_any_records_equals_python_reference(records, steps, rest):
    agree(as_bytes(records, steps=steps) + rest)


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 8191))
@settings(max_examples=examples(40))
def test_codec_of_varied_words_keys_and_times_equals_python_reference(seed, different, count):
    chance = random.Random(seed)
    unit, ticks, data = chance.choice((1, 2, 26, 255, 256)), 1 << 51, b""
    while len(data) < count * 16:
        ticks += unit * int(chance.expovariate(1 / 300)) + (chance.random() < 0.02)
        more = b""
        if chance.random() < 0.3:
            key = chance.choice(
                (chance.getrandbits(64), chance.randrange(999) * STRIDE, 1 << 62 | chance.randrange(1 << 20))
            )
            more = pack_extension(key, chance.randrange(different), bytes(chance.randrange(40)))
        data += (
            struct.pack("<QQ", ticks, pack_word(chance.randrange(1, 30), chance.randrange(different), len(more) // 16))
            + more
        )
    agree(data[: transpose.MAX_CHUNK])


def test_codec_of_random_full_chunk_equals_python_reference():
    for size in (65472, transpose.MAX_CHUNK):
        agree(os.urandom(size))


def test_codec_split_of_too_large_chunk_raises_value_error():
    with pytest.raises(ValueError):
        _codec.split(bytes(transpose.MAX_CHUNK + 1))


@given(RECORDS, st.binary(max_size=40), st.integers(0, 6000), st.binary(min_size=1, max_size=255))
@settings(max_examples=examples(300))
@example([], b"", 5000, b"\1")
@example([(1, pack_word(1), b"")] * 3, b"\1", 4096, b"\1")
@example([(1, pack_word(1), b"")] * 3, b"\1", 4081, b"\1")
def test_codec_find_end_equals_python_reference(records, rest, zeros, kinds):
    data = as_bytes(records) + bytes(zeros) + rest
    for known in (kinds, bytes(range(256))):
        assert _codec.find_end(memoryview(data), known) == python_find_end(data, known)


@given(RECORDS, st.data())
@settings(max_examples=examples(400))
def test_codec_join_of_damaged_streams_equals_python_reference(records, data):
    parts = transpose.split(as_bytes(records))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, transpose.STREAMS - 1))
        damaged = bytearray(parts[number])
        place = data.draw(st.integers(0, len(damaged)))
        match data.draw(st.sampled_from(("byte", "cut", "more"))):
            case "byte" if place < len(damaged):
                damaged[place] = data.draw(st.integers(0, 255))
            case "cut":
                del damaged[place:]
            case _:
                damaged[place:place] = bytes([data.draw(st.integers(0, 255))])
        parts[number] = bytes(damaged)
    found = []
    for join in (transpose.join, _codec.join):
        try:
            found.append(join(parts))
        except ValueError:
            found.append(None)
    assert found[0] == found[1]
    assert found[0] is None or len(found[0]) <= transpose.MAX_CHUNK


@pytest.mark.parametrize("wrong", [[], [b""] * transpose.STREAMS, [b""] * 14])
def test_codec_join_of_missing_streams_raises_value_error(wrong):
    for join in (transpose.join, _codec.join):
        with pytest.raises(ValueError):
            join(wrong)


def test_codec_with_wrong_types_raises_type_error():
    for wrong in ([None] * transpose.STREAMS, 3, ["x"] * transpose.STREAMS):
        with pytest.raises(TypeError):
            _codec.join(wrong)
    for wrong in ((), ([b""] * transpose.STREAMS, 3)):
        with pytest.raises(TypeError):
            _codec.join(*wrong)
    with pytest.raises(TypeError):
        _codec.split("text")


def calls(unit, jitter=0, count=4000):
    chance = random.Random(5)
    ticks, data = 1 << 52, b""
    for number in range(count):
        ticks += unit * chance.randrange(1, 8)
        data += struct.pack("<QQ", ticks + (jitter and not number % 90), pack_word(1 + number % 2, 3))
    return data


def test_column_streams_of_coarse_clock_take_no_more_bytes():
    by_one, by_26 = len(column_streams.compress(calls(1))), len(column_streams.compress(calls(26)))
    assert by_26 <= by_one + 8
    assert len(column_streams.compress(calls(26, jitter=1))) < by_one * 1.2


def waits(unit, typical, count=4000):
    """Return records with two kinds of steps, each scattered around a typical step as in real programs."""
    chance = random.Random(7)
    ticks, data = 1 << 52, b""
    for number in range(count):
        ticks += unit * round(typical * (1 + number % 2) * chance.lognormvariate(0, 0.3))
        data += struct.pack("<QQ", ticks, pack_word(1 + number % 2, 3))
    return data


def test_column_streams_steps_take_little_more_than_their_entropy():
    for unit, typical in ((1, 12), (1, 300), (2, 300), (26, 300), (1, 10**6)):
        # Entropy of a log-normal number around its mean, and of another around twice that: log2(mean * 0.3 * sqrt(2 * pi * e)).
        worth = math.log2(typical * 0.3 * math.sqrt(2 * math.pi * math.e)) + 0.5
        assert worth < 8 * len(column_streams.compress(waits(unit, typical))) / 4000 < worth + 0.6


def test_column_streams_adapt_when_typical_steps_change():
    chance, ticks, data = random.Random(2), 1 << 50, b""
    for number in range(4000):
        ticks += (30, 9000)[number // 500 % 2] + chance.randrange(8)
        data += struct.pack("<QQ", ticks, 1)
    noise = (
        3 + 9
    ) / 2  # three bits of the short steps, and of the long steps the nine bits below the five that are coded
    assert noise < 8 * len(column_streams.compress(data)) / 4000 < noise + 1.5


def test_codec_equal_steps_take_at_most_one_bit_each():
    data = b"".join(struct.pack("<QQ", 1000 + 77 * number, 5) for number in range(4000))
    assert len(transpose.split(data)[transpose.STEPS]) <= 510


def keys_cost(keys):
    data = b"".join(struct.pack("<QQ", 7, pack_word(Kind.SEND, 1, 1)) + pack_extension(key) for key in keys)
    return len(column_streams.compress(data)) / len(keys)


def test_column_streams_fresh_keys_and_addresses_take_few_bytes():
    chance = random.Random(3)
    assert keys_cost([chance.getrandbits(64) for _ in range(1000)]) > 8
    assert keys_cost([(chance.randrange(3) + 1234567 * 4 + number * 4) * STRIDE % 2**64 for number in range(1000)]) < 1
    assert keys_cost([0x1101_1FE4_0000_0000 + 48 * chance.randrange(1 << 16) for _ in range(1000)]) < 4
