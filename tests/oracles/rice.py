"""Steps of time in bits: adaptive Rice codes of how far each is from what is usual where it comes.

What is usual depends on a record's word and on the one before it. It moves a quarter of the way with every step, since a
program's phases and its machine's moods are short. Steps are told by sixteenths of their octave, so that short ones are told
as exactly, for their length, as long ones; the bits below that are noise, and follow as they are.

Invariants: integers only, so that C codes alike; `decode(which, encode(which, steps))` is `steps`, if the first is 0.
`docs/trace-format.md` says the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

_FRACTION = 4
"""Bits of a step behind its highest that are coded; further ones follow as they are."""
_LONGEST_RUN = 16
"""So many zeros say that a number of `_WIDE` bits follows."""
_WIDE = 11
_POINT = 8
"""What is usual is kept in so many bits more than it has."""
_LONGEST_FOLD = 255
"""Longer ones are learnt from as if they were this long."""


class _Context:
    """What is usual somewhere: a step's octaves, and how far steps are from it."""

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
    """For each record but the first, the context that its step is coded in, and behind it those that learn from it as well: one
    that is new begins as a wider one is."""
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
    """The bits of all steps but the first, the lowest bit of a byte first; `which` says which word each record has."""
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
    """Inverse of `encode`. Raises `ValueError` for bits that it never gives for so many records, or gives some steps."""
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
    """How many bits of a fold are told as they are: about as many as half of a usual one has."""
    return (context.spread >> _POINT + 1).bit_length()
