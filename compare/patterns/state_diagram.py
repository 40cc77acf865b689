"""Describe strands as a diagram of successive states (FlowViz): states are begins and ends of functions, moves connect them.

Invariant: a strand has one move less than begins and ends, and its times are those between the first and the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clew.compare.patterns.activations import WAYS, Activations, depths
from clew.compare.patterns.sequitur import I64

End = Literal["returned", "raised", "suspended", "unfinished"]
What = Literal["entered", "resumed"] | End
ENDS: tuple[End, ...] = ("returned", "raised", "suspended", "unfinished")


class State(NamedTuple):
    """A begin or an end of a function, with its totals."""

    label: str
    what: What
    """"entered", "resumed", or how the function ended."""
    times: int
    ns: int
    """The total time until the next state of the strand."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """The state diagram of all strands. Moves are columns, sorted by source and target."""

    states: tuple[State, ...]
    of: Activations
    code: I64
    """The symbol of each state in `of.sequence()`."""
    first: I64
    """The first position of each state in `of.sequence()`."""
    source: I64
    """The number of the state before each move."""
    target: I64
    """The number of the state after each move."""
    times: I64

    def inside(self, first: I64, last: I64) -> tuple[I64, I64]:
        """Return how often states, and moves, are inside the occurrences of a pattern.

        `first` and `last` are the first and last activations of the occurrences, which are all alike.
        """
        states, moves = np.zeros(len(self.states), np.int64), np.zeros(len(self.times), np.int64)
        if not len(first):
            return states, moves
        one = np.searchsorted(self.code, self._symbols(int(first[0]), int(last[0])))
        np.add.at(states, one, len(first))
        pairs = self.source * len(self.states) + self.target
        np.add.at(moves, np.searchsorted(pairs, one[:-1] * len(self.states) + one[1:]), len(first))
        return states, moves

    def _symbols(self, first: int, last: int) -> I64:
        """Return the symbols of consecutive activations and of all activations inside them."""
        rows = slice(first, last + int(self.of.size[last]))
        label, way = np.divmod(self.of.what[rows], WAYS)
        size = self.of.size[rows].astype(np.int64)
        opens = 2 * np.arange(len(size)) - depths(size)
        made = np.zeros(2 * len(size), np.int64)
        made[opens] = label * 6 + way // 4
        made[opens + 2 * size - 1] = label * 6 + 2 + way % 4
        return made


def diagram(of: Activations) -> Diagram:
    """Return the state diagram of all strands."""
    sequence = of.sequence()
    ts = np.zeros(len(sequence), np.int64)
    ts[of.opens], ts[of.closes] = of.begin_ns, of.end_ns
    symbols = 6 * len(of.labels)
    counts = np.bincount(sequence[sequence < symbols], minlength=symbols)
    code = np.flatnonzero(counts)
    number = np.cumsum(counts > 0) - 1
    first = np.zeros(symbols + len(of.strands), np.int64)
    # With repeated indices the last assignment wins, so assign in reverse to keep the first position.
    first[sequence[::-1]] = np.arange(len(sequence))[::-1]
    # A move does not cross strands.
    moves = (sequence[1:] < symbols) & (sequence[:-1] < symbols)
    source, target = number[sequence[:-1][moves]], number[sequence[1:][moves]]
    ns_of_state = np.bincount(source, (ts[1:] - ts[:-1])[moves], len(code)).astype(np.int64)
    pairs, times = np.unique(source * len(code) + target, return_counts=True)
    whats: tuple[What, ...] = ("entered", "resumed", *ENDS)
    states = tuple(
        State(of.labels[symbol // 6], whats[symbol % 6], int(counts[symbol]), ns)
        for symbol, ns in zip(code.tolist(), ns_of_state.tolist(), strict=True)
    )
    width = max(len(code), 1)
    return Diagram(states, of, code, first[code], pairs // width, pairs % width, times)
