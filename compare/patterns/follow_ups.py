"""Count which pattern follows which.

Among the consecutive calls of a caller or a strand, the widest pattern that begins at each place counts, from the left.
The next pattern after its end follows it; calls between them that belong to no pattern are ignored. Invariant: a pattern
and its follower have the same caller, and the count is the number of occurrences of their list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew.compare.patterns.activation_shapes import Shapes
from clew.compare.patterns.sequitur import I64


class Succession(NamedTuple):
    """A pattern that follows another pattern."""

    before: int
    """The number of the first pattern."""
    after: int
    """The number of the pattern that follows."""
    times: int


def successions(shapes: Shapes, patterns: Sequence[tuple[I64, int]]) -> tuple[Succession, ...]:
    """Return the successions of patterns, given by their places in the lists of shapes and their widths in calls."""
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
