"""Which words' steps are coded alike: words are numbered by how long their steps usually are, and neighbours share a code until
one of their own pays. The twin of csrc/shared_codes.h.

Invariant: integers only, so that both twins choose the same. Any choice can be read: a reader knows nothing of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

_PIECE = 96
"""So many steps are looked at together: fewer tell nothing."""
_CODE = 150 * 16
"""What a code takes, in sixteenths of a bit; all sizes here are."""
_LONGEST = 255


def by_step(words: list[int], which: list[int], steps: list[int]) -> tuple[list[int], list[int]]:
    """The words in another order, those of short steps first, and which of them each record has then."""
    sums, counts = [0] * len(words), [0] * len(words)
    for number, step in zip(which, steps, strict=True):
        sums[number] += min(step, _LONGEST)
        counts[number] += 1
    order = sorted(
        range(len(words)), key=[256 * sum_ // count for sum_, count in zip(sums, counts, strict=True)].__getitem__
    )
    places = [0] * len(words)
    for place, number in enumerate(order):
        places[number] = place
    return [words[number] for number in order], [places[number] for number in which]


def cuts(symbols: bytes, counts: Sequence[int]) -> list[int]:
    """Where in the stream of steps another code begins; `counts` says how many of its symbols each word has."""
    found: list[int] = []
    group, group_bits = [0] * 256, -1
    at = start = 0
    for place, count in enumerate(counts):
        at += count
        if at - start < _PIECE and place < len(counts) - 1:
            continue
        piece = [0] * 256
        for symbol in symbols[start:at]:
            piece[symbol] += 1
        together = [one + other for one, other in zip(group, piece, strict=True)]
        piece_bits, bits = _bits(piece), _bits(together)
        if group_bits >= 0 and bits - group_bits - piece_bits > _CODE:
            found.append(start)
            together, bits = piece, piece_bits
        group, group_bits, start = together, bits, at
    return found


def _bits(counts: list[int]) -> int:
    """How long so many of each symbol are in a code of their own, a bit each at least."""
    used = [*filter(None, counts)]
    total = sum(used)
    return max(16 * total, _weight(total) - sum(map(_weight, used)))


@functools.cache
def _weight(number: int) -> int:
    """16 * number * log2(number), nearly."""
    if number < 2:
        return 0
    bits = number.bit_length() - 1
    above, below = number - (1 << bits), (2 << bits) - number
    return 16 * number * bits + (16 * number * above >> bits) + (11 * number * above * below >> 2 * bits + 1)
