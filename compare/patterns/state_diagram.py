"""A strand as a diagram of what happens next (FlowViz): states are beginnings and ends of functions, moves lead between them.

Invariant: a strand's moves are one fewer than its beginnings and ends, and its times are those between the first and the last.
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
    label: str
    what: What
    """entered, resumed, or how it ended."""
    times: int
    ns: int
    """Until the strand's next state, summed."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """Of all strands. Moves are columns, by their source and target."""

    states: tuple[State, ...]
    of: Activations
    code: I64
    """Per state its symbol in `of.sequence()`,"""
    first: I64
    """and where in that it is first."""
    source: I64
    """Per move the number of a state,"""
    target: I64
    """and of the one after it."""
    times: I64

    def inside(self, first: I64, last: I64) -> tuple[I64, I64]:
        """How often states, and moves, are within occurrences of a pattern, told by the first and last activation of each
        side by side. Occurrences are all alike."""
        states, moves = np.zeros(len(self.states), np.int64), np.zeros(len(self.times), np.int64)
        if not len(first):
            return states, moves
        one = np.searchsorted(self.code, self._symbols(int(first[0]), int(last[0])))
        np.add.at(states, one, len(first))
        pairs = self.source * len(self.states) + self.target
        np.add.at(moves, np.searchsorted(pairs, one[:-1] * len(self.states) + one[1:]), len(first))
        return states, moves

    def _symbols(self, first: int, last: int) -> I64:
        """Of activations side by side, and what is in them."""
        rows = slice(first, last + int(self.of.size[last]))
        label, way = np.divmod(self.of.what[rows], WAYS)
        size = self.of.size[rows].astype(np.int64)
        opens = 2 * np.arange(len(size)) - depths(size)
        made = np.zeros(2 * len(size), np.int64)
        made[opens] = label * 6 + way // 4
        made[opens + 2 * size - 1] = label * 6 + 2 + way % 4
        return made


def diagram(of: Activations) -> Diagram:
    sequence = of.sequence()
    ts = np.zeros(len(sequence), np.int64)
    ts[of.opens], ts[of.closes] = of.begin_ns, of.end_ns
    symbols = 6 * len(of.labels)
    seen = np.bincount(sequence[sequence < symbols], minlength=symbols)
    code = np.flatnonzero(seen)
    number = np.cumsum(seen > 0) - 1
    first = np.zeros(symbols + len(of.strands), np.int64)
    # Of several places that are written to one, the last stays: from the end on.
    first[sequence[::-1]] = np.arange(len(sequence))[::-1]
    # Between strands is no move.
    moves = (sequence[1:] < symbols) & (sequence[:-1] < symbols)
    source, target = number[sequence[:-1][moves]], number[sequence[1:][moves]]
    took = np.bincount(source, (ts[1:] - ts[:-1])[moves], len(code)).astype(np.int64)
    pairs, times = np.unique(source * len(code) + target, return_counts=True)
    whats: tuple[What, ...] = ("entered", "resumed", *ENDS)
    states = tuple(
        State(of.labels[symbol // 6], whats[symbol % 6], int(seen[symbol]), ns)
        for symbol, ns in zip(code.tolist(), took.tolist(), strict=True)
    )
    many = max(len(code), 1)
    return Diagram(states, of, code, first[code], pairs // many, pairs % many, times)
