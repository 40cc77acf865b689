"""What is alike in strands: activations with the same calls in them, in the same order, have one *shape*.

Each shape has its list of shapes inside once, however often it happened, and strands have one list each, of what nobody called.
What is asked of all places where something happened is asked of these lists, with sums over all activations. Invariant: two
activations have one shape exactly when they began and ended alike and their lists are equal, in whichever strand they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clew.compare.patterns import _sequitur as kernels
from clew.compare.patterns.activations import Activations
from clew.compare.patterns.sequitur import I32, I64


@dataclass(frozen=True, eq=False)
class Shapes:
    """Lists of shapes: those of the shapes first, then one per strand. A place is one in all lists together."""

    of: Activations
    shape: I32
    """Per activation."""
    what: I32
    """Per shape, as `Activations.what`."""
    first: I64
    """List i has the places `first[i]` up to `first[i + 1]`."""
    inside: I32
    """Per place the shape that is there."""
    place: I64
    """Per activation the place that it is at."""

    def __len__(self) -> int:
        return len(self.what)

    @cached_property
    def count(self) -> I64:
        """Per shape, how many activations have it."""
        return np.bincount(self.shape, minlength=len(self))

    @cached_property
    def size(self) -> I64:
        """Per shape, how many activations are in one, itself included."""
        size = np.zeros(len(self), np.int64)
        size[self.shape] = self.of.size
        return size

    @cached_property
    def one_of(self) -> I64:
        """Per shape the first activation that has it."""
        one = np.zeros(len(self), np.int64)
        one[self.shape[::-1]] = np.arange(len(self.of))[::-1]
        return one

    @cached_property
    def mean_ns(self) -> npt.NDArray[np.float64]:
        """Per shape, how long one of them takes."""
        total = np.bincount(self.inside, self.total_ns, len(self))
        return np.asarray(total / np.maximum(self.count, 1))

    @cached_property
    def list_of(self) -> I64:
        """Per place the list that it is in."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def times(self) -> I64:
        """Per list, how often it happened."""
        return np.concatenate((self.count, np.ones(len(self.first) - 1 - len(self), np.int64)))

    @cached_property
    def total_ns(self) -> I64:
        """Per place, summed over all that happened there: how long it took,"""
        return self._sum(self.of.end_ns - self.of.begin_ns)

    @cached_property
    def own_ns(self) -> I64:
        """and how long it was in recorded code."""
        sums = np.concatenate(([0], np.cumsum(self.of.own_ns)))
        at = np.arange(len(self.of))
        return self._sum(sums[at + self.of.size] - sums[at])

    def _sum(self, values: I64) -> I64:
        """A float holds whole nanoseconds up to 104 days."""
        return np.bincount(self.place, values, len(self.inside)).astype(np.int64)


def shapes_of(activations: Activations) -> Shapes:
    what, size = activations.what, activations.size
    made = kernels.shapes(np.ascontiguousarray(what), np.ascontiguousarray(size))
    columns = [np.frombuffer(column, dtype) for column, dtype in zip(made, _COLUMNS, strict=True)]
    shape, inside, symbol, first, child = columns
    tops = np.flatnonzero(activations.parent < 0)
    place = inside.copy()
    place[tops] = len(child) + np.arange(len(tops))
    lists = np.concatenate((first, len(child) + np.searchsorted(tops, activations.bounds[1:])))
    return Shapes(activations, shape, symbol, lists, np.concatenate((child, shape[tops])), place)


_COLUMNS = (np.int32, np.int64, np.int32, np.int64, np.int32)
