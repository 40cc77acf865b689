"""Reference implementation of the codec in Python: a chunk's data as streams of similar bytes, and back.

Invariants: for any bytes, `join(split(data))` is `data` without the zeros at its end, padded to whole units. For streams
that `split` never returns, `join` raises `ValueError` or returns arbitrary data. `docs/trace-format.md` shows the streams.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import gcd

from clew.records.compress.stream_layout import COUNTS, MAX_CHUNK, STREAMS, Stream
from clew.records.format.event import RECORD_SIZE
from clew.records.format.record_scan import extended
from tests.oracles import rice

NUMBERS, WORDS, WHICH_WORD, STEPS, _TAILS, RESTS, HEADS, WHICH_HEAD, CODES, FAR, FAMILIES, NEAR, COUNTED, NEW, TEXTS = (
    Stream
)
_MOST_UNIT = 255

_FAR, _NEAR, _COUNTED, _NEW = 252, 253, 254, 255
"""Codes of keys that are not 1 to 252 extensions back."""
_MAX_FAMILIES = 256
_NEAR_BITS, _COUNTED_BITS = 24, 16
_STRIDE = 0x9E37_79B9_7F4A_7C15
"""The difference of successive fresh keys, see `clew.records.format.keys`."""
_INVERSE = pow(_STRIDE, -1, 1 << 64)
_WORD = (1 << 64) - 1

_UNIT = struct.Struct("<QQ")
_SLOTS = re.compile(rb"[^\0]")


def split(data: bytes | memoryview) -> list[bytes]:
    """Return the streams of a chunk's data."""
    data = bytes(data).rstrip(b"\0")
    data += b"\0" * (-len(data) % RECORD_SIZE)
    records, firsts, texts = _units(data)
    times, words = records[0::2].tolist(), records[1::2].tolist()
    heads, keys = memoryview(firsts).cast("Q")[0::2].tolist(), memoryview(firsts).cast("Q")[1::2].tolist()
    different_words, which = _numbered(words)
    different_heads, which_head = _numbered(heads)
    unit, steps, rests = _steps(times)
    first, last = (times[0], max(times[-2:])) if times else (0, 0)  # the very last may have been torn
    numbers = COUNTS.pack(
        len(times), len(different_words), len(heads), len(different_heads), len(texts) // RECORD_SIZE, unit, first, last
    )
    return [
        numbers, _planes(different_words, 8), _places(which, len(different_words)), rice.encode(which, steps), b"", rests,
        _planes(different_heads, 8), _places(which_head, len(different_heads)), *_split_keys(keys), texts,
    ]  # fmt: skip


def join(streams: Sequence[bytes]) -> bytes:
    """Return the data of `split`'s streams."""
    if len(streams) != STREAMS or len(streams[NUMBERS]) != COUNTS.size:
        raise ValueError("streams are missing")
    count, words, extended, heads, more, unit, first, _ = COUNTS.unpack(streams[NUMBERS])
    if (count + extended + more) * RECORD_SIZE > MAX_CHUNK:
        raise ValueError("more than a chunk")
    which = _from_places(streams[WHICH_WORD], count, words)
    table = _from_planes(streams[WORDS], words, 8)
    times = _times(which, streams, unit, first)
    records = b"".join(map(_UNIT.pack, times, map(table.__getitem__, which)))
    which_head = _from_places(streams[WHICH_HEAD], extended, heads)
    head_table = _from_planes(streams[HEADS], heads, 8)
    keys = _join_keys(extended, streams[CODES:TEXTS])
    firsts = b"".join(map(_UNIT.pack, map(head_table.__getitem__, which_head), keys))
    if len(streams[TEXTS]) != more * RECORD_SIZE:
        raise ValueError("another number of slots")
    return joined(records, firsts, streams[TEXTS])


def _units(data: bytes) -> tuple[memoryview, bytes, bytes]:
    """Return the records as 8-byte words, the first slots of extensions, and their other slots."""
    slots = data[9::RECORD_SIZE]
    if not slots.strip(b"\0"):
        return memoryview(data).cast("Q"), b"", b""
    places = list(extended(slots))
    starts = [(place + 1) * RECORD_SIZE for place in places]
    stops = [start + slots[place] * RECORD_SIZE for place, start in zip(places, starts, strict=True)]
    records = b"".join(
        [*(data[stop:start] for stop, start in zip([0, *stops], starts, strict=False)), data[stops[-1] :]]
    )
    firsts = b"".join([data[start : start + RECORD_SIZE] for start in starts])
    texts = b"".join([data[start + RECORD_SIZE : stop] for start, stop in zip(starts, stops, strict=True)])
    return memoryview(records).cast("Q"), firsts, texts


def joined(records: bytes, firsts: bytes, texts: bytes) -> bytes:
    """Return the data of `_units`' parts; a record without its extension is accepted."""
    slots = records[9::RECORD_SIZE]
    starts = [match.end() * RECORD_SIZE for match in _SLOTS.finditer(slots)]
    parts = [b""] * (3 * len(starts))
    parts[0::3] = [records[before:start] for before, start in zip([0, *starts], starts, strict=False)]
    parts[1::3] = [firsts[at : at + RECORD_SIZE] for at in range(0, len(starts) * RECORD_SIZE, RECORD_SIZE)]
    if texts:
        ends = [*accumulate((number - 1) * RECORD_SIZE for number in slots.translate(None, b"\0"))]
        parts[2::3] = [texts[before:end] for before, end in zip([0, *ends], ends, strict=False)]
    return b"".join([*parts, records[starts[-1] if starts else 0 :]])


def _steps(times: list[int]) -> tuple[int, list[int], bytes]:
    """Return the clock's unit, the steps between records in units, and the remainders (empty if all are 0)."""
    if not times:
        return 1, [], b""
    differences = [after - before & _WORD for before, after in pairwise(times)]
    unit = _unit(differences)
    if unit == 1:
        return 1, [0, *differences], b""
    since = [time - times[0] & _WORD for time in times]
    units, rests = [time // unit for time in since], bytes([time % unit for time in since])
    steps = [0, *(after - before & _WORD for before, after in pairwise(units))]
    return unit, steps, rests if rests.strip(b"\0") else b""


def _unit(differences: list[int]) -> int:
    """Return the clock's unit: the greatest common divisor, up to 255, of some adjacent steps that divides 7 of 8 steps.

    Cycle counters often advance in steps of some dozens.
    """
    count = len(differences)
    found = set()
    for part in range(8):
        start = part * count // 8
        found.add(gcd(*(number for number in differences[start : start + 4] if number < 1 << 32)))
    for unit in sorted(found, reverse=True):
        if 1 < unit <= _MOST_UNIT and sum(number % unit == 0 for number in differences) * 8 >= count * 7:
            return unit
    return 1


def _times(which: list[int], streams: Sequence[bytes], unit: int, first: int) -> list[int]:
    """Decode the steps, and return the times of `_steps`."""
    rests, count = streams[RESTS], len(which)
    if rests and len(rests) != count:
        raise ValueError("another number of times")
    steps = rice.decode(which, streams[STEPS])
    return [
        first + step * unit + rest & _WORD for step, rest in zip(accumulate(steps), rests or bytes(count), strict=True)
    ]


def _split_keys(keys: list[int]) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]:
    """Return the codes of keys: a number of extensions back, near a new key, counted from a new key, or new.

    Keys of objects are addresses near each other. Fresh keys are `_STRIDE` apart: divided by it, they are neighbours.
    """
    codes, families = bytearray(), bytearray()
    far: list[int] = []
    near: list[int] = []
    counted: list[int] = []
    new: list[int] = []
    seen: dict[int, int] = {}
    neighbours: dict[int, int] = {}
    counts: dict[int, int] = {}
    latest: list[int] = []
    for number, key in enumerate(keys):
        before = seen.get(key)
        seen[key] = number
        if before is not None:
            back = number - before
            if back <= _FAR:
                codes.append(back - 1)
            else:
                codes.append(_FAR)
                far.append(back)
            continue
        family = neighbours.get(key >> _NEAR_BITS)
        if family is not None:
            codes.append(_NEAR)
            families.append(family)
            near.append(key & (1 << _NEAR_BITS) - 1)
            continue
        count = key * _INVERSE & _WORD
        family = counts.get(count >> _COUNTED_BITS)
        if family is not None:
            codes.append(_COUNTED)
            families.append(family)
            counted.append(count - latest[family] & (1 << _COUNTED_BITS) - 1)
            latest[family] = count
            continue
        codes.append(_NEW)
        if len(new) < _MAX_FAMILIES:
            neighbours[key >> _NEAR_BITS] = counts[count >> _COUNTED_BITS] = len(new)
            latest.append(count)
        new.append(key)
    return bytes(codes), _planes(far, 2), bytes(families), _planes(near, 3), _planes(counted, 2), _planes(new, 8)


def _join_keys(extended: int, streams: Sequence[bytes]) -> list[int]:
    """Return the keys of `_split_keys`' streams."""
    codes, far, families, near, counted, new = streams
    if len(codes) != extended:
        raise ValueError("another number of keys")
    backs = iter(_from_planes(far, codes.count(_FAR), 2))
    lows = iter(_from_planes(near, codes.count(_NEAR), 3))
    differences = iter(_from_planes(counted, codes.count(_COUNTED), 2))
    news = _from_planes(new, codes.count(_NEW), 8)
    if len(families) != codes.count(_NEAR) + codes.count(_COUNTED):
        raise ValueError("another number of families")
    family = iter(families)
    keys: list[int] = []
    latest: list[int] = []
    for number, code in enumerate(codes):
        if code <= _FAR:
            back = next(backs) if code == _FAR else code + 1
            if not 0 < back <= number:
                raise ValueError("a key from before the chunk")
            keys.append(keys[number - back])
        elif code == _NEW:
            key = news[len(latest)]
            keys.append(key)
            latest.append(key * _INVERSE & _WORD)
        else:
            place = next(family)
            if place >= len(latest):
                raise ValueError("a key of no family")
            if code == _NEAR:
                keys.append(news[place] >> _NEAR_BITS << _NEAR_BITS | next(lows))
            else:
                mask = (1 << _COUNTED_BITS) - 1
                latest[place] = latest[place] & ~mask | latest[place] + next(differences) & mask
                keys.append(latest[place] * _STRIDE & _WORD)
    return keys


def _numbered(values: list[int]) -> tuple[list[int], list[int]]:
    """Return the distinct values in the order of their first occurrence, and the index of each value among them."""
    table = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return list(table), [*map(table.__getitem__, values)]


def _places(which: list[int], different: int) -> bytes:
    """Return indices in one plane, or in two if there are more than 256 distinct values."""
    return _planes(which, 1 if different <= 256 else 2)


def _from_places(data: bytes, count: int, different: int) -> list[int]:
    which = _from_planes(data, count, 1 if different <= 256 else 2)
    if which and max(which) >= different:
        raise ValueError("a word that is not there")
    return which


def _planes(values: Iterable[int], size: int) -> bytes:
    """Return the lowest bytes of all values, then the second bytes of all values, and so on."""
    data = b"".join([value.to_bytes(size, "little") for value in values])
    return b"".join([data[place::size] for place in range(size)])


def _from_planes(data: bytes, count: int, size: int) -> list[int]:
    """Return the values of `_planes`."""
    if len(data) != count * size:
        raise ValueError("a stream of another length")
    woven = bytearray(len(data))
    for place in range(size):
        woven[place::size] = data[place * count : (place + 1) * count]
    return [int.from_bytes(woven[at : at + size], "little") for at in range(0, len(woven), size)]
