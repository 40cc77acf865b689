"""Takes threads' streams apart into strands: the thread's own, and those of the tasks that it runs step by step.

A thread is taken apart by itself, its strands numbered as they come, and may go on later from where it was (`Steps`); then
`number` finds which strands of a process's threads are one. Invariant: how often a stream was interrupted shows in nothing.
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
    """How far a thread has been taken apart. Strands are numbered within the thread; its own is number 0, or, since records
    were dropped last, `since`."""

    keys: U64 = field(default_factory=lambda: np.zeros(1, np.uint64))
    """Of every strand, 0 for the thread's own."""
    counts: I64 = field(default_factory=lambda: np.zeros(1, np.int64))
    """Records of every strand."""
    since: int = 0
    stack: tuple[int, ...] = (0,)
    """The strands under way, the thread's own first."""
    unmatched: int = 0
    """Ends of steps without a beginning."""
    dropped: bool = True
    """Would a mark of dropped records say nothing new? At the beginning there is nothing that could go on."""


def split(steps: Steps, kind: U8, site: U32, ext: npt.NDArray[np.int32], key: U64) -> tuple[U32, Steps]:
    """The strand of every record of a thread's stream from `steps` on, and how far that is. `ext` names rows of `key`.

    STEP_BEGIN and STEP_END belong to the strand that is stepped. Steps that never ended go on to the stream's end, or to
    where records were dropped: nothing is known there of what ran, so all strands begin anew.
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
    """Those of a process, in the order in which its threads, one after the other, come to them."""

    keys: list[int]
    """Key of each task's strand, 0 for a thread's own."""
    threads: list[int]
    """Serial of the thread that a strand ran on first."""
    of: list[U32]
    """Per thread, by a strand's number within it: its number here."""

    def tangled(self, threads: Iterable[Steps]) -> list[int]:
        """The strands that more than one thread ran."""
        ran: Counter[int] = Counter()
        for numbers, steps in zip(self.of, threads, strict=True):
            ran.update(np.unique(numbers[steps.counts > 0]).tolist())
        return [number for number, count in ran.items() if count > 1]


def number(threads: Iterable[tuple[int, Steps]]) -> Strands:
    """Of pairs of a thread's serial and how it was taken apart. A task that several threads step is one strand, unless the
    thread that had it first lost records since."""
    keys: list[int] = []
    serials: list[int] = []
    of: list[U32] = []
    known: dict[int, int] = {}
    for serial, steps in threads:
        first = len(keys)
        numbers = [known.get(key, -1) for key in steps.keys.tolist()]
        new = [place for place, found in enumerate(numbers) if found < 0]
        for count, place in enumerate(new):
            numbers[place] = first + count
        added = steps.keys[new].tolist()
        keys += added
        serials += [serial] * len(added)
        known.update(
            (key, numbers[place]) for place, key in zip(new, added, strict=True) if key and place > steps.since
        )
        of.append(np.array(numbers, np.uint32))
    return Strands(keys, serials, of)
