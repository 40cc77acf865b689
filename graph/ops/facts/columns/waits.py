"""The waits of a run as columns, and a wait as an object.

Invariant: the waits are ordered by the time of their beginning, and at one time by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clew.graph.ops.facts.columns.records import Fact, Records, Resource
from clew.graph.ops.facts.columns.views import I64, Column, Mask, View
from clew.records.format.facts import Wait, Wake

LOCKS = frozenset({"lock", "rlock"})
DECLARED = "resource."
"""The prefix of the channels of resources that a spec declares."""


def is_lock_channel(channel: str) -> bool:
    """Return whether what a channel is about is a lock."""
    return channel.rpartition(".")[2] in LOCKS and not channel.startswith(DECLARED)


"""The last parts of the channels of locks."""
_OF_OBJECT = ("name", "holders", "waiters", "capacity", "target", "targets")
"""The fields of a wait that tell of what it is for."""
_ENDS = ("never", "satisfied", "timeout", "cancelled", "failed")


@dataclass(frozen=True)
class Waiting:
    """A wait, from its WAIT to its WAKE."""

    begin: Fact[Wait]
    wake: Fact[Wake] | None
    """None if the wait never ended."""
    inner: tuple[int, ...] = ()
    """The rows of the same wait in the task that a library made for it."""

    @property
    def end(self) -> str:
        """ "satisfied", "timeout", "cancelled", "failed" or "never"."""
        return self.wake.text.end if self.wake else "never"

    @property
    def resource(self) -> Resource:
        return self.begin.resource

    @property
    def strand(self) -> int:
        return self.begin.strand

    @property
    def rows(self) -> tuple[int, ...]:
        return (self.begin.row, *self.inner, *((self.wake.row,) if self.wake else ()))

    def until_ns(self, last_ns: int) -> int:
        """Return when the wait ended, or `last_ns` if it never did."""
        return self.wake.ns if self.wake else last_ns

    def covers(self, ns: int) -> bool:
        return self.begin.ns <= ns and (self.wake is None or ns <= self.wake.ns)


class WaitTable:
    """All waits of a run. Each place is a wait, and each column has a value for it.

    A wait for a helper has the object and the beginning of the helper's first wait. The helper's own waits have no places.
    `first` and `last` are the range of the WAITs of each WAIT's helper. `by_thread` tells which of the helpers are threads:
    their waits also tell how the wait ended.
    """

    def __init__(self, begins: Records[Wait], wakes: Records[Wake], first: I64, last: I64, by_thread: Mask) -> None:
        self.begins, self.wakes = begins, wakes
        # The ranges do not overlap, or they are the same.
        change = np.zeros(len(begins) + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last, -1)
        own = np.flatnonzero(np.cumsum(change[:-1]) == 0)
        first, last, by_thread = first[own], last[own], by_thread[own]
        is_helped = first < last
        about = np.where(is_helped, first, own)
        order = np.argsort(begins.ns[about], kind="stable")
        self.begin: I64 = own[order]
        self._wake_of_each = _wake_of_each(begins, wakes)
        self._wake = self._wake_of_each[self.begin]
        told = self._wake_of_each[np.where(by_thread, first, own)[order]]
        self._told = np.where(told >= 0, told, self._wake)
        """The WAKE that tells how each wait ended."""
        self._first, self._last = first[order], last[order]
        self._is_helped: Mask = is_helped[order]
        self._about: I64 = about[order]
        """The WAIT that tells what each wait is for."""
        self.has_end: Mask = self._wake >= 0
        self.begin_ns: I64 = begins.ns[self._about]
        self.row: I64 = begins.row[self.begin]
        self.strand: I64 = begins.strand[self.begin]
        self._made: dict[int, Waiting] = {}

    def __len__(self) -> int:
        return len(self.begin)

    @cached_property
    def process(self) -> I64:
        return self.begins.process[self.begin]

    @cached_property
    def owner(self) -> I64:
        return self.begins.owner[self._about]

    @cached_property
    def key(self) -> npt.NDArray[np.uint64]:
        return self.begins.key[self._about]

    @cached_property
    def channel(self) -> I64:
        return self.begins.channel[self._about]

    def of_wake(self, column: npt.NDArray[np.int64], missing: int, wake: I64 | None = None) -> I64:
        """Return a column of the records that end the waits, with a value for waits without an end."""
        values = np.full(len(self), missing, np.int64)
        values[self.has_end] = column[(self._wake if wake is None else wake)[self.has_end]]
        return values

    @cached_property
    def wake_row(self) -> I64:
        return self.of_wake(self.wakes.row, -1)

    @cached_property
    def wake_ns(self) -> I64:
        return self.of_wake(self.wakes.ns, -1)

    @cached_property
    def end(self) -> I64:
        """How each wait ended, as a number; see `Waits.ended`."""
        numbers = {end: number for number, end in enumerate(_ENDS)}
        return self.of_wake(self.wakes.by_text(lambda wake: numbers.get(wake.end, len(_ENDS))), 0, self._told)

    def of_about(self, mask: Mask) -> Mask:
        """Return a column of the records that tell what the waits are for."""
        return mask[self._about]

    @cached_property
    def names_holders(self) -> Mask:
        return self.of_about(self.begins.contains('"holders":[{'))

    @cached_property
    def target(self) -> npt.NDArray[np.uint64]:
        return self.begins.number("target")[self.begin]

    @cached_property
    def is_declared(self) -> Mask:
        return self.of_about(self.begins.channels(lambda channel: channel.startswith(DECLARED)))

    @cached_property
    def for_ends(self) -> Mask:
        to_end = self.begins.contains('"target":') | self.begins.contains('"targets":')
        return self.of_about(to_end) | (self.target > 0)

    @cached_property
    def after_request(self) -> Mask:
        asked = self.begins.contains('"cancelling":') & ~self.begins.contains('"handling":true')
        return asked[self.begin]

    @cached_property
    def is_exclusive(self) -> Mask:
        locks = self.begins.channels(is_lock_channel)
        return self.of_about(locks | self.begins.contains(r'"capacity":1[,}]', regex=True))

    def wait(self, place: int) -> Waiting:
        """Return a wait as an object, the same one each time."""
        found = self._made.get(place)
        if found is None:
            wake, told = int(self._wake[place]), int(self._told[place])
            begin, inner = self.begins.fact(int(self.begin[place])), tuple[int, ...]()
            if self._is_helped[place]:
                begin, inner = self._through_helper(place, begin)
            end = replace(self.wakes.fact(wake), text=self.wakes.text(told)) if wake >= 0 else None
            found = self._made[place] = Waiting(begin, end, inner)
        return found

    def _through_helper(self, place: int, begin: Fact[Wait]) -> tuple[Fact[Wait], tuple[int, ...]]:
        """Return the beginning of a wait for what its helper waits for, and the rows of the helper's waits."""
        first = self.begins.fact(int(self._about[place]))
        told = {name: getattr(first.text, name) for name in _OF_OBJECT}
        rows: list[int] = []
        for inner in range(int(self._first[place]), int(self._last[place])):
            wake = int(self._wake_of_each[inner])
            rows += [int(self.begins.row[inner]), *([int(self.wakes.row[wake])] if wake >= 0 else [])]
        text = begin.text._replace(**told)
        return replace(begin, ns=first.ns, key=first.key, channel=first.channel, text=text), tuple(rows)

    def all(self) -> Waits:
        return Waits(self, np.arange(len(self)))


class Waits(View[Waiting]):
    """Some waits of a run."""

    def __init__(self, table: WaitTable, places: I64) -> None:
        super().__init__(table.wait, places)
        self._table = table

    begin_ns = Column[I64]()
    row = Column[I64]()
    """The rows where the waits begin."""
    strand = Column[I64]()
    process = Column[I64]()
    owner = Column[I64]()
    """The first part of what each wait is for; see `Resource`."""
    key = Column[npt.NDArray[np.uint64]]()
    has_end = Column[Mask]()
    wake_row = Column[I64]()
    """The rows where the waits end, -1 for those that never ended."""
    wake_ns = Column[I64]()
    """The times when the waits ended, -1 for those that never did."""

    def until_ns(self, last_ns: int) -> I64:
        """Return when the waits ended, `last_ns` for those that never did."""
        until: I64 = np.where(self.has_end, self.wake_ns, last_ns)
        return until

    def covers(self, ns: int) -> Mask:
        """Return for each wait whether it lasted at a time."""
        covers: Mask = (self.begin_ns <= ns) & (~self.has_end | (self.wake_ns >= ns))
        return covers

    def ended(self, *ends: str) -> Mask:
        """Return for each wait whether it ended in one of some ways; see `Waiting.end`."""
        return np.isin(self._table.end[self.places], [_ENDS.index(end) for end in ends])

    def of_channels(self, test: Callable[[str], bool]) -> Mask:
        """Return for each wait whether its mechanism passes a test."""
        return self._table.begins.pass_test(self._table.channel[self.places], test)

    names_holders = Column[Mask]()
    """Whether each wait names the holders of what it is for."""
    target = Column[npt.NDArray[np.uint64]]()
    """The key of the task, also of a helper, or the serial of the thread, whose end each wait is for; 0 for none."""
    is_exclusive = Column[Mask]()
    """Whether each wait is for something that has one holder at a time."""
    is_declared = Column[Mask]()
    """Whether each wait is for a resource that a spec declares."""
    for_ends = Column[Mask]()
    """Whether each wait is for the ends of strands."""
    after_request = Column[Mask]()
    """Whether each wait began after a request for cancellation that was not taken back, in no handler of it."""


def _wake_of_each(begins: Records[Wait], wakes: Records[Wake]) -> I64:
    """Return the place of the WAKE of each WAIT: the next one of its strand with its key; -1 if there is none."""
    following = np.searchsorted(wakes.row, begins.row)
    found = np.full(len(begins), -1, np.int64)
    # A wait mostly ends before its strand waits again.
    near = np.flatnonzero(following < len(wakes))
    after = following[near]
    same = (wakes.strand[after] == begins.strand[near]) & (wakes.key[after] == begins.key[near])
    found[near[same]] = after[same]
    left = np.flatnonzero(found < 0)
    others = np.flatnonzero(np.isin(wakes.strand, np.unique(begins.strand[left]))) if len(left) else left
    if not len(others):
        return found
    strand = np.concatenate((begins.strand[left], wakes.strand[others]))
    key = np.concatenate((begins.key[left], wakes.key[others]))
    row = np.concatenate((begins.row[left], wakes.row[others]))
    order = np.lexsort((row, key, strand))
    count = len(order)
    ends = np.where(order >= len(left), np.arange(count), count)
    next_end = np.minimum.accumulate(ends[::-1])[::-1]
    at = np.flatnonzero((order < len(left)) & (next_end < count))
    begin, end = order[at], order[next_end[at]]
    matches = (strand[begin] == strand[end]) & (key[begin] == key[end])
    found[left[begin[matches]]] = others[end[matches] - len(left)]
    return found
