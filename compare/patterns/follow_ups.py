"""Which pattern follows which, and how often.

Where patterns are next to each other in what one call calls, or a strand does, the widest that begins at each place counts,
from the left; the next one after its end follows it, whatever calls that belong to no pattern are between. Invariant: what
follows has the same caller, and is counted as often as that list happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew.compare.patterns.activation_shapes import Shapes
from clew.compare.patterns.sequitur import I64


class Succession(NamedTuple):
    before: int
    """Number of a pattern,"""
    after: int
    """and of the one that followed it."""
    times: int


def successions(shapes: Shapes, patterns: Sequence[tuple[I64, int]]) -> tuple[Succession, ...]:
    """Of patterns by their places in the lists of shapes, and how many calls wide they are."""
    if not patterns:
        return ()
    place = np.concatenate([places for places, _ in patterns])
    which = np.repeat(np.arange(len(patterns)), [len(places) for places, _ in patterns])
    width = np.array([wide for _, wide in patterns])[which]
    order = np.lexsort((which, -width, place))
    place, which, width = place[order], which[order], width[order]
    lists = shapes.list_of[place]
    counted: Counter[tuple[int, int]] = Counter()
    happened = shapes.times
    free, last, of = 0, -1, -1
    for at, number, wide, inside in zip(place.tolist(), which.tolist(), width.tolist(), lists.tolist(), strict=True):
        if at < free:
            continue
        if inside == of:
            counted[last, number] += int(happened[inside])
        free, last, of = at + wide, number, inside
    found = (Succession(before, after, count) for (before, after), count in counted.items())
    return tuple(sorted(found, key=lambda step: (-step.times, step.before, step.after)))
