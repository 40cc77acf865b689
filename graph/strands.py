"""Takes a thread's stream apart into strands: its own, and those of the tasks that it runs step by step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.arrays import lengths
from clew.records.event import Kind


class Demultiplexer:
    """Numbers the strands of one process. Invariant: the first strand that is asked for gets the first number."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.keys: list[int] = []
        """Key of each task's strand, 0 for a thread's own, by number."""
        self.threads: list[int] = []
        """Serial of the thread that a strand ran on first, by number."""
        self.unmatched_ends = 0

    def split(
        self,
        serial: int,
        kind: npt.NDArray[np.uint8],
        site: npt.NDArray[np.uint32],
        keys: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.uint32]:
        """The strand number of every record of a thread's stream. `keys` is 0 where a record has none.

        STEP_BEGIN and STEP_END belong to the strand that is stepped. Steps that never ended go on to the stream's end, or to
        where records were dropped: nothing is known there of what ran, so all strands begin anew.
        """
        own = self._add(0, serial)
        lost = (kind == Kind.GAP) & (site == 0)
        # One after another are one, and at the beginning there was nothing that could go on.
        lost[1:] &= ~lost[:-1]
        lost[:1] = False
        rows = np.flatnonzero((kind == Kind.STEP_BEGIN) | (kind == Kind.STEP_END) | lost)
        starts, numbers = [0], [own]
        stack = [own]
        for row, what, key in zip(rows.tolist(), kind[rows].tolist(), keys[rows].tolist(), strict=True):
            if what == Kind.GAP:
                known = self._numbers.items()
                self._numbers = {strand: number for strand, number in known if self.threads[number] != serial}
                stack = [self._add(0, serial)]
                starts.append(row)
            elif what == Kind.STEP_BEGIN:
                stack.append(self._strand(key, serial))
                starts.append(row)
            else:
                if len(stack) == 1:
                    self.unmatched_ends += 1
                    continue
                ended = self._numbers.get(key)
                # An end names its strand, so steps above it that lack theirs end with it.
                while len(stack) > 2 and ended is not None and ended in stack[1:] and stack[-1] != ended:
                    stack.pop()
                stack.pop()
                starts.append(row + 1)
            numbers.append(stack[-1])
        return np.repeat(np.array(numbers, np.uint32), lengths(np.array([*starts, len(kind)], np.int64)))

    def own(self, serial: int) -> int:
        """The number of a thread's own strand."""
        return next(number for number, key in enumerate(self.keys) if not key and self.threads[number] == serial)

    def _strand(self, key: int, serial: int) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._add(key, serial)
        return number

    def _add(self, key: int, serial: int) -> int:
        self.keys.append(key)
        self.threads.append(serial)
        return len(self.keys) - 1
