"""Maps a process's numbers of sites and strings to the run's.

Invariant: any number, also of a damaged record, is mapped, and memory use does not depend on how large it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]

_SPREAD = 16
_SMALL = 1 << 12
"""The size of a table may be up to `_SPREAD` times the count of numbers, plus `_SMALL`."""


@dataclass(frozen=True)
class Numbers:
    """A mapping of numbers. A number without a definition (it was lost) becomes 0."""

    known: U32
    """The process's numbers, sorted."""
    run: U32
    """The run's number of each."""
    table: U32 | None
    """The run's numbers by the process's number, with a 0 at the end; None if it would be too long."""

    @classmethod
    def of(cls, ids: Mapping[int, int]) -> Numbers:
        """Make the mapping from `ids`, which must map 0."""
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
