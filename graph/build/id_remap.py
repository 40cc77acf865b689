"""A process's numbers of sites and strings to the run's.

Invariant: whatever number a damaged record has, there is an answer, and none of it takes memory by the number's size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]

_SPREAD = 16
_SMALL = 1 << 12
"""A table may have that many times as many places as there are numbers, and so many more."""


@dataclass(frozen=True)
class Numbers:
    """What was never defined (its definition is lost) becomes 0."""

    known: U32
    """Sorted."""
    run: U32
    table: U32 | None
    """By a process's number, 0 at the end; None when that would be too long."""

    @classmethod
    def of(cls, ids: Mapping[int, int]) -> Numbers:
        """`ids` has a 0."""
        known = np.array(sorted(ids), np.uint32)
        run = np.array([ids[number] for number in known.tolist()], np.uint32)
        most = int(known[-1])
        if most > _SPREAD * len(known) + _SMALL:
            return cls(known, run, None)
        table = np.zeros(most + 2, np.uint32)
        table[known] = run
        return cls(known, run, table)

    def translate(self, column: U32) -> U32:
        if self.table is not None:
            return self.table.take(column, mode="clip")
        place = np.minimum(np.searchsorted(self.known, column), len(self.known) - 1)
        return np.where(self.known[place] == column, self.run[place], np.uint32(0))
