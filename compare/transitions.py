"""A strand as a diagram of what happens next (FlowViz): states are beginnings and ends of functions, moves lead between them.

Invariant: a strand's moves are one fewer than its beginnings and ends, and its times are those between the first and the last.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from clew.compare.activations import Activations
from clew.compare.sequitur import I64

End = Literal["returned", "raised", "suspended", "unfinished"]
What = Literal["entered", "resumed"] | End
ENDS: tuple[End, ...] = ("returned", "raised", "suspended", "unfinished")


class State(NamedTuple):
    label: str
    what: What
    """entered, resumed, or how it ended."""
    times: int
    ns: int
    """Until the strand's next state, summed."""


class Move(NamedTuple):
    source: int
    """Number of a state,"""
    target: int
    """and of the one after it."""
    times: int
    inside: int
    """How many of these are within occurrences of the pattern."""


class Diagram(NamedTuple):
    states: tuple[State, ...]
    moves: tuple[Move, ...]


def diagram(of: Activations, first: I64, last: I64) -> Diagram:
    """Of all strands; a pattern is told by the first and last activation of each occurrence, which are all alike."""
    sequence = of.sequence()
    ts = np.zeros(len(sequence), np.int64)
    ts[of.opens], ts[of.closes] = of.begin_ns, of.end_ns
    symbols = 6 * len(of.labels)
    # Between strands is no move.
    moves = (sequence[1:] < symbols) & (sequence[:-1] < symbols)
    source, target = sequence[:-1][moves].astype(np.int64), sequence[1:][moves]
    took = np.bincount(source, (ts[1:] - ts[:-1])[moves], symbols).astype(np.int64)
    pairs, count = np.unique(source * symbols + target, return_counts=True)
    inside = np.zeros(len(pairs), np.int64)
    if len(first):
        one = sequence[of.opens[first[0]] : of.closes[last[0]] + 1].astype(np.int64)
        within, times = np.unique(one[:-1] * symbols + one[1:], return_counts=True)
        inside[np.searchsorted(pairs, within)] = times * len(first)
    seen = np.bincount(sequence[sequence < symbols], minlength=symbols)
    used = np.flatnonzero(seen)
    number = np.cumsum(seen > 0) - 1
    whats: tuple[What, ...] = ("entered", "resumed", *ENDS)
    states = (State(of.labels[code // 6], whats[code % 6], int(seen[code]), int(took[code])) for code in used.tolist())
    steps = zip(
        number[pairs // symbols].tolist(),
        number[pairs % symbols].tolist(),
        count.tolist(),
        inside.tolist(),
        strict=True,
    )
    return Diagram(tuple(states), tuple(Move(*step) for step in steps))
