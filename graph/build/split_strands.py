"""Splits the streams of threads into strands: the thread's own, and one per task that it runs step by step.

Each thread is split independently. Its strands are numbered in order of appearance, and a later call can continue from `Steps`.
Then `number` merges the strands that several threads of a process have in common. Invariant: the number of calls that a stream
is split in does not affect the strands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """The state of splitting a thread. Strands are numbered within the thread.

    The thread's own strand is number 0; after records were dropped, it is `since`.
    """

    keys: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """The key of every strand, 0 for the thread's own."""
    counts: I64 = field(default_factory=lambda: np.zeros(1, np.int64))
    """The number of records of every strand."""
    since: int = 0
    stack: tuple[int, ...] = (0,)
    """The active strands, the thread's own first."""
    unmatched: int = 0
    """The number of step ends without a beginning."""
    dropped: bool = True
    """Whether another mark of dropped records would have no effect. It is true at the start, where no strand can continue."""


def split(steps: Steps, kind: U8, site: U32, ext: npt.NDArray[np.int32], key: U64) -> tuple[U32, Steps]:
    """Return the strand of every record of a thread's stream after `steps`, and the new state. `ext` has rows of `key`.

    STEP_BEGIN and STEP_END belong to the strand that is stepped. A step without an end lasts until the stream's end, or until
    records were dropped: it is unknown what ran there, so all strands start again.
    """
    strand = np.empty(len(kind), np.uint32)
    added, since, under_way, unmatched, dropped = kernels.steps(
        kind, site, ext, key, steps.keys, steps.since, np.array(steps.stack, np.uint32), steps.dropped, strand
    )
    keys = np.concatenate((steps.keys, np.frombuffer(added, np.uint64)))
    stack = tuple(np.frombuffer(under_way, np.uint32).tolist())
    return strand, Steps(keys, _counted(steps, strand, len(keys)), since, stack, steps.unmatched + unmatched, dropped)


def _counted(steps: Steps, strand: U32, strands: int) -> I64:
    counts = np.bincount(strand, minlength=strands).astype(np.int64)
    counts[: len(steps.counts)] += steps.counts
    return counts


@dataclass(frozen=True)
class Strands:
    """The strands of a process, in the order of their first appearance in its threads, one thread after the other."""

    keys: list[int]
    """The key of each task's strand, 0 for a thread's own."""
    threads: list[int]
    """The serial of the first thread that ran each strand."""
    of: list[U32]
    """Per thread, the process's number of each of the thread's strands."""

    def tangled(self, threads: Iterable[Steps]) -> list[int]:
        """Return the strands that more than one thread ran."""
        ran: Counter[int] = Counter()
        for numbers, steps in zip(self.of, threads, strict=True):
            ran.update(np.unique(numbers[steps.counts > 0]).tolist())
        return [number for number, count in ran.items() if count > 1]


def number(threads: Iterable[tuple[int, Steps]]) -> Strands:
    """Number the strands of a process, given each thread's serial and state.

    A task that several threads step is one strand, unless its first thread lost records after it.
    """
    keys: list[int] = []
    serials: list[int] = []
    of: list[U32] = []
    number_of: dict[int, int] = {}
    for serial, steps in threads:
        first = len(keys)
        numbers = [number_of.get(key, -1) for key in steps.keys.tolist()]
        new = [place for place, found in enumerate(numbers) if found < 0]
        for count, place in enumerate(new):
            numbers[place] = first + count
        added = steps.keys[new].tolist()
        keys += added
        serials += [serial] * len(added)
        number_of.update(
            (key, numbers[place]) for place, key in zip(new, added, strict=True) if key and place > steps.since
        )
        of.append(np.array(numbers, np.uint32))
    return Strands(keys, serials, of)
