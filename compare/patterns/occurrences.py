"""Find when a pattern occurs: how often, and for how long, between any two times, by bisection.

Invariant: a window takes time logarithmic in the number of occurrences, and its result is exact. The time of a pattern in
a window is the time of its calls, clipped to the window, without the gaps between consecutive calls.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from clew.compare.patterns.activations import Activations
from clew.compare.patterns.sequitur import I32, I64

_AT_ONCE = 1 << 18
"""The number of moments that are searched together; more would need memory without being faster."""


class Occurrence(NamedTuple):
    """One occurrence of a pattern."""

    number: int
    """The index in the order of time, over all strands."""
    strand: int
    """The index in `Activations.strands`."""
    begin_ns: int
    end_ns: int
    event: int
    """The event that begins it."""


class Moments(NamedTuple):
    """Times in strands, as columns, with the position of each time among the activations. They are the same for all
    patterns."""

    strand: I64
    """The indices in `Activations.strands`."""
    ns: I64
    reached: I64
    """The first activation of the strand that does not begin before the time."""


def moments(of: Activations, strand: I64, ns: I64 | int) -> Moments:
    """Return the moments for times in strands."""
    at = np.broadcast_to(np.asarray(ns, np.int64), strand.shape)
    return Moments(strand, at, _before(of, strand, at))


class Occurrences:
    """The occurrences of one pattern, ordered by strand and time; those of one strand do not overlap."""

    def __init__(self, of: Activations, first: I64, offsets: I64) -> None:
        """Create the occurrences: `first` has the first activation of each, `offsets` the distances of its consecutive
        calls from it."""
        self.of = of
        self.offsets = offsets
        self.first = first.astype(np.int32)
        self.bounds = np.searchsorted(first, of.bounds)
        """Strand number i has the occurrences `bounds[i]` up to `bounds[i + 1]`."""
        took = np.zeros(len(first), np.int64)
        for offset in offsets.tolist():
            took += of.end_ns[first + offset] - of.begin_ns[first + offset]
        self.passed = np.concatenate(([0], np.cumsum(took)))
        """The total time of all occurrences before each one, in ns."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def last(self) -> I32:
        """Return the last activation of each occurrence."""
        return self.first + int(self.offsets[-1])

    def strands(self) -> I64:
        """Return the strands in which the pattern occurs, as indices in `Activations.strands`."""
        return np.flatnonzero(np.diff(self.bounds))

    def begun(self, at: Moments) -> I64:
        """Return how many occurrences have begun before a time, in its strand and the strands before it."""
        return np.clip(np.searchsorted(self.first, at.reached), self.bounds[at.strand], self.bounds[at.strand + 1])

    def spent(self, at: Moments) -> I64:
        """Return the time of occurrences before a time, in its strand and the strands before it, in ns."""
        begun = self.begun(at)
        spent = self.passed[begun]
        # Subtract the part of the last started occurrence that lies after the time.
        last = np.flatnonzero(begun > self.bounds[at.strand])
        call = self.first[begun[last] - 1].astype(np.int64)
        for offset in self.offsets.tolist():
            begin, end = self.of.begin_ns[call + offset], self.of.end_ns[call + offset]
            spent[last] -= end - np.clip(at.ns[last], begin, end)
        return spent

    def touching(self, begin: Moments, end: Moments) -> I64:
        """Return how many occurrences of a strand overlap the time between two moments."""
        low = self.begun(begin)
        count = self.begun(end) - low
        before = np.flatnonzero(low > self.bounds[begin.strand])
        last = self.first[low[before] - 1].astype(np.int64) + int(self.offsets[-1])
        count[before] += self.of.end_ns[last] > begin.ns[before]
        return count

    def bins(self, strand: int, edges: I64) -> tuple[I64, I64]:
        """Return, per bin between consecutive `edges`, the number of occurrences that begin and the time that they take."""
        at = moments(self.of, np.full(len(edges), strand, np.int64), edges)
        return np.diff(self.begun(at)), np.diff(self.spent(at))

    def all_bins(self, edges: I64) -> I64:
        """Return, per bin between consecutive `edges`, the time of the occurrences in all strands together."""
        strands = self.strands()
        total = np.zeros(len(edges), np.int64)
        together = max(1, _AT_ONCE // max(len(edges), 1))
        for at in range(0, len(strands), together):
            some = strands[at : at + together]
            spent = self.spent(moments(self.of, np.repeat(some, len(edges)), np.tile(edges, len(some))))
            total += spent.reshape(len(some), len(edges)).sum(axis=0)
        return np.diff(total)

    @cached_property
    def _in_time(self) -> I64:
        return np.argsort(self.of.begin_ns[self.first], kind="stable")

    def occurrence(self, number: int) -> Occurrence:
        """Return an occurrence by its index in the order of time, from 0."""
        at = int(self._in_time[number])
        first = int(self.first[at])
        return Occurrence(
            number=number,
            strand=int(np.searchsorted(self.bounds, at, side="right")) - 1,
            begin_ns=int(self.of.begin_ns[first]),
            end_ns=int(self.of.end_ns[first + int(self.offsets[-1])]),
            event=int(self.of.first[first]),
        )

    def nearest(self, strand: int, at: int) -> int | None:
        """Return the number of a strand's occurrence at a time, or of the nearest one; None if the strand has none."""
        low, high = self.bounds[strand : strand + 2].tolist()
        if low == high:
            return None
        after = int(self.begun(moments(self.of, np.array([strand]), at + 1))[0])
        near = range(max(low, after - 1), min(high, after + 1))
        found = min(near, key=lambda one: self._distance(one, at))
        return int(np.flatnonzero(self._in_time == found)[0])

    def _distance(self, which: int, at: int) -> int:
        first = int(self.first[which])
        begin, end = int(self.of.begin_ns[first]), int(self.of.end_ns[first + int(self.offsets[-1])])
        return max(begin - at, at - end, 0)


def _before(of: Activations, strand: I64, at: I64) -> I64:
    """Return the first activation of each strand that does not begin before its time, by bisection of all times at once."""
    low, high = of.bounds[strand].copy(), of.bounds[strand + 1].copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        open_ = low < high
        earlier = open_ & (of.begin_ns[np.minimum(middle, max(len(of) - 1, 0))] < at)
        low = np.where(earlier, middle + 1, low)
        high = np.where(open_ & ~earlier, middle, high)
    return low
