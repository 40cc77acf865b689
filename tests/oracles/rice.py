"""Reference implementation of time steps as bits: adaptive Rice codes of each step's difference from the expected step.

The expected step depends on a record's word and on the previous record's word. It moves a quarter of the way to every
new step, because phases of a program are short. Steps are coded in sixteenths of their octave, so that short and long
steps have the same relative precision; the lower bits are noise and are written unchanged.

Invariants: only integers are used, so that the C code gives the same bits; `decode(which, encode(which, steps))` is
`steps` if the first step is 0. `docs/trace-format.md` specifies the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

_FRACTION = 4
"""Number of bits after a step's highest bit that are coded; the lower bits are written unchanged."""
_LONGEST_RUN = 16
"""This number of zeros announces a number of `_WIDE` bits."""
_WIDE = 11
_POINT = 8
"""Number of fractional bits of the expected values."""
_LONGEST_FOLD = 255
"""Larger differences are learnt as this value."""


class _Context:
    """The expected octaves of a step, and the expected difference from them, in one context."""

    __slots__ = ("seen", "spread", "usual")

    def __init__(self, usual: int, spread: int) -> None:
        self.usual = usual
        self.spread = spread
        self.seen = 0

    def learn(self, octaves: int, fold: int) -> None:
        self.usual += (octaves << _POINT) - self.usual >> self.seen
        self.spread += (min(fold, _LONGEST_FOLD) << _POINT) - self.spread >> 2
        self.seen = min(self.seen + 1, 2)


def _contexts(which: Sequence[int]) -> Iterator[list[_Context]]:
    """Yield for each record but the first the context of its step, followed by the wider contexts that also learn.

    A new context starts with the values of the wider context.
    """
    anything = _Context(100 << _POINT, 16 << _POINT)
    words: dict[int, _Context] = {}
    pairs: dict[tuple[int, int], _Context] = {}
    for pair in pairwise(which):
        context = pairs.get(pair)
        if context is not None:
            yield [context]
            continue
        word = words.get(pair[1])
        wider = [word] if word is not None else [_Context(anything.usual, anything.spread), anything]
        words[pair[1]] = wider[0]
        context = pairs[pair] = _Context(wider[0].usual, wider[0].spread)
        yield [context, *wider]


def encode(which: Sequence[int], steps: Sequence[int]) -> bytes:
    """Return the bits of all steps but the first, lowest bit of a byte first; `which` is the word of each record."""
    data, bits, filled = bytearray(), 0, 0
    for number, contexts in enumerate(_contexts(which), 1):
        step, context = steps[number], contexts[0]
        lower = max(0, step.bit_length() - 1 - _FRACTION)
        octaves = (lower << _FRACTION) + (step >> lower)
        difference = octaves - _middle(context)
        fold = 2 * difference if difference >= 0 else -2 * difference - 1
        width = _width(context)
        zeros = fold >> width
        if zeros < _LONGEST_RUN:
            bits |= (1 | (fold & (1 << width) - 1) << 1) << zeros + filled
            filled += zeros + 1 + width
        else:
            bits |= fold << _LONGEST_RUN + filled
            filled += _LONGEST_RUN + _WIDE
        bits |= (step & (1 << lower) - 1) << filled
        filled += lower
        whole = filled // 8
        data += (bits & (1 << 8 * whole) - 1).to_bytes(whole, "little")
        bits >>= 8 * whole
        filled -= 8 * whole
        for learner in contexts:
            learner.learn(octaves, fold)
    return bytes(data) + bytes((bits,)) * (filled > 0)


def decode(which: Sequence[int], data: bytes) -> list[int]:
    """Return the steps of `encode`'s bits. For other bits, raise `ValueError` or return arbitrary steps."""
    steps = [0] * min(len(which), 1)
    at, end = 0, 8 * len(data)
    for contexts in _contexts(which):
        context = contexts[0]
        bits = int.from_bytes(data[at >> 3 : (at >> 3) + 13], "little") >> (at & 7)
        width = _width(context)
        zeros = (bits & -bits).bit_length() - 1 if bits else _LONGEST_RUN
        if zeros < _LONGEST_RUN:
            fold = zeros << width | bits >> zeros + 1 & (1 << width) - 1
            used = zeros + 1 + width
        else:
            fold = bits >> _LONGEST_RUN & (1 << _WIDE) - 1
            used = _LONGEST_RUN + _WIDE
        octaves = _middle(context) + (fold >> 1 if not fold & 1 else -(fold + 1 >> 1))
        lower = max(0, (octaves >> _FRACTION) - 1)
        if octaves < 0 or lower + 1 + _FRACTION > 64:
            raise ValueError("a step of more than 64 bits, or of less than none")
        steps.append((octaves - (lower << _FRACTION)) << lower | bits >> used & (1 << lower) - 1)
        at += used + lower
        if at > end:
            raise ValueError("another number of steps")
        for learner in contexts:
            learner.learn(octaves, fold)
    if (at + 7) // 8 != len(data):
        raise ValueError("another number of steps")
    return steps


def _middle(context: _Context) -> int:
    return context.usual + (1 << _POINT - 1) >> _POINT


def _width(context: _Context) -> int:
    """Return the number of a fold's low bits that are written unchanged: about the length of half an expected fold."""
    return (context.spread >> _POINT + 1).bit_length()
