"""Infer a grammar of the repetitions in a sequence by run-length Sequitur (Nevill-Manning and Witten; section 5).

It takes linear time. Symbols carry exponents; equal neighbours are one symbol, and exponents are part of a digram.
Invariants: the first rule expands to the sequence. No digram occurs twice. Each other rule is used twice, or once with an
exponent, and has two or more symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.patterns import _sequitur as kernels

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grammar:
    """The grammar of a sequence. Rule 0 is the sequence; the others are numbered by their first occurrence in it."""

    terminals: I64
    """The value of each terminal's code."""
    first: I64
    """Rule r has the symbols from `first[r]` to `first[r + 1]`."""
    symbol: I32
    """The code of a terminal, or `~rule`."""
    exponent: I64
    start: I64
    """The first position of each rule in the sequence."""
    length: I64
    """The length of each rule in the sequence."""

    def __len__(self) -> int:
        return len(self.length)

    def rule(self, number: int) -> list[tuple[int, int]]:
        """Return the symbols of a rule with their exponents."""
        part = slice(int(self.first[number]), int(self.first[number + 1]))
        return list(zip(self.symbol[part].tolist(), self.exponent[part].tolist(), strict=True))

    def uses(self) -> I64:
        """Return how often each rule occurs in the sequence, at any depth."""
        count = np.zeros(len(self), np.int64)
        count[0] = 1
        # A rule may have a larger number than the rules in it, if these occur elsewhere first: process them topologically.
        waiting = np.bincount(~self.symbol[self.symbol < 0], minlength=len(self))
        ready = [0]
        while ready:
            rule = ready.pop()
            for symbol, exponent in self.rule(rule):
                if symbol < 0:
                    count[~symbol] += count[rule] * exponent
                    waiting[~symbol] -= 1
                    if not waiting[~symbol]:
                        ready.append(~symbol)
        return count

    def expand(self, number: int = 0) -> I64:
        """Return the part of the sequence that a rule stands for."""
        made: list[npt.NDArray[np.int64]] = []
        stack = [iter(self.rule(number))]
        while stack:
            for symbol, exponent in stack[-1]:
                if symbol >= 0:
                    made.append(np.full(exponent, self.terminals[symbol]))
                else:
                    stack += [iter(self.rule(~symbol)) for _ in range(exponent)]
                    break
            else:
                stack.pop()
        return np.concatenate(made) if made else np.zeros(0, np.int64)


def infer(sequence: Sequence[int] | npt.NDArray[np.integer]) -> Grammar:
    """Return the grammar of a sequence of integers."""
    given = np.asarray(sequence, np.int64)
    if len(given) and (given.min() < 0 or given.max() >= len(given) + (1 << 16)):
        terminals, codes = np.unique(given, return_inverse=True)
    else:
        terminals, codes = np.arange(given.max(initial=-1) + 1), given
    columns = kernels.infer(np.ascontiguousarray(codes, np.int32))
    made: list[Any] = [np.frombuffer(column, dtype) for column, dtype in zip(columns, _COLUMNS, strict=True)]
    return Grammar(terminals, *made)


_COLUMNS = (np.int64, np.int32, np.int64, np.int64, np.int64)
