"""Steps of time as frames of version 2, of before 0.2, have them: a byte each, which is the step or, from 192 on, how many bits
it has. The twin of csrc/step_classes.h. Newer frames have `clew.records.rice`.
"""

from __future__ import annotations

from collections.abc import Sequence

_ONE_BYTE = 192
_LEAST_BITS = 8


def decode(which: Sequence[int], symbols: bytes, tails: bytes) -> list[int]:
    """The steps of records of which `which` says what word each has. Raises `ValueError` for what was never packed."""
    count = len(which)
    if len(symbols) != count:
        raise ValueError("another number of times")
    large = [symbol + _LEAST_BITS - _ONE_BYTE for symbol in symbols if symbol >= _ONE_BYTE]
    if max(large, default=0) > 64:
        raise ValueError("a step of more than 64 bits")
    values = [1 << bits - 1 for bits in large]
    at = 0
    for place in range(8):
        members = [number for number, bits in enumerate(large) if bits - 1 > 8 * place]
        for number, byte in zip(members, tails[at : at + len(members)], strict=False):
            values[number] |= byte << 8 * place  # beyond its bits in what is damaged: harmless, as sums are cut to 64
        at += len(members)
    if at != len(tails):
        raise ValueError("another number of large steps")
    value = iter(values)
    steps = [0] * count
    for place, symbol in zip(sorted(range(count), key=which.__getitem__), symbols, strict=True):
        steps[place] = symbol if symbol < _ONE_BYTE else next(value)
    return steps
