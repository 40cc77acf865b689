"""Assign shapes to activations: activations with equal calls inside them, in the same order, have the same *shape*.

Each shape has one list of the shapes inside it, however often it occurs. Each strand has one list of its top-level
activations. Computations over all activations use these lists, with sums over all occurrences. Invariant: two activations,
in any strands, have one shape exactly if they began and ended alike and their lists are equal.
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
    """The lists of shapes: first one list per shape, then one per strand. A place is an index into all lists together."""

    of: Activations
    shape: I32
    """The shape of each activation."""
    what: I32
    """The `Activations.what` of each shape."""
    first: I64
    """List i has the places from `first[i]` to `first[i + 1]`."""
    inside: I32
    """The shape at each place."""
    place: I64
    """The place of each activation."""

    def __len__(self) -> int:
        return len(self.what)

    @cached_property
    def count(self) -> I64:
        """Return the number of activations of each shape."""
        return np.bincount(self.shape, minlength=len(self))

    @cached_property
    def size(self) -> I64:
        """Return the number of activations in one activation of each shape, including itself."""
        size = np.zeros(len(self), np.int64)
        size[self.shape] = self.of.size
        return size

    @cached_property
    def one_of(self) -> I64:
        """Return the first activation of each shape."""
        one = np.zeros(len(self), np.int64)
        one[self.shape[::-1]] = np.arange(len(self.of))[::-1]
        return one

    @cached_property
    def mean_ns(self) -> npt.NDArray[np.float64]:
        """Return the mean time of each shape."""
        total = np.bincount(self.inside, self.total_ns, len(self))
        return np.asarray(total / np.maximum(self.count, 1))

    @cached_property
    def list_of(self) -> I64:
        """Return the list of each place."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def times(self) -> I64:
        """Return the number of occurrences of each list."""
        return np.concatenate((self.count, np.ones(len(self.first) - 1 - len(self), np.int64)))

    @cached_property
    def total_ns(self) -> I64:
        """Return the total time of all activations at each place."""
        return self._sum(self.of.end_ns - self.of.begin_ns)

    @cached_property
    def own_ns(self) -> I64:
        """Return the total own time, in recorded code, of all activations at each place."""
        sums = np.concatenate(([0], np.cumsum(self.of.own_ns)))
        at = np.arange(len(self.of))
        return self._sum(sums[at + self.of.size] - sums[at])

    def _sum(self, values: I64) -> I64:
        """Return the sum of the values at each place; floats are exact for nanoseconds up to 104 days."""
        return np.bincount(self.place, values, len(self.inside)).astype(np.int64)


def shapes_of(activations: Activations) -> Shapes:
    """Return the shapes of activations."""
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
