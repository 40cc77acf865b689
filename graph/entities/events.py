"""Define the entity events of a run as columns with one row per event, in time order.

Invariant: the row number identifies an event. Entities are numbered by first appearance. `first` and `other` are entity
numbers, or -1. A *moment* is the number of events that have happened.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]

MOST_NAME = 80
"""The maximum length of an entity's name, in characters."""
ENDING_NS = 1_000_000_000
"""The time that a program may take to end its threads and processes one after the other."""


class Happening(enum.IntEnum):
    """The kind of an entity event."""

    POSITION = 1  # `first` is in `other`, or in no container
    DELETION = 2  # `first` was deleted
    COMMUNICATION = 3  # `first` sent to `other`


@dataclass(frozen=True)
class EntityEvents:
    """The columns of the events, and the names of the entities.

    `failed` counts the events that could not be evaluated or read.
    """

    ns: I64
    kind: U8
    first: I32
    other: I32
    row: I64
    """The row of the graph event that recorded it."""
    channel: U32
    """The channel of a communication, an index into the graph's strings."""
    names: Sequence[str]
    classes: Sequence[str]
    """The class of each entity, or "machine", "process", "thread" or "task"; "" if unknown."""
    failed: int = 0

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def entities(self) -> int:
        return len(self.names)

    @cached_property
    def before(self) -> I32:
        """For each position and deletion, the previous one of the same entity, or -1. Undoing the event restores it."""
        found = np.full(len(self), -1, np.int32)
        states = np.flatnonzero(self.kind != Happening.COMMUNICATION)
        order = states[np.argsort(self.first[states], kind="stable")]
        same = self.first[order[1:]] == self.first[order[:-1]]
        found[order[1:][same]] = order[:-1][same]
        return found

    def moment_at(self, ns: int) -> int:
        """Return the number of events up to a time."""
        return int(np.searchsorted(self.ns, ns, "right"))

    @cached_property
    def _present(self) -> I32:
        """The number of existing entities at each moment."""
        change = np.zeros(len(self) + 1, np.int8)
        before = np.where(self.before >= 0, self.kind[self.before], Happening.DELETION)
        change[1:][(self.kind == Happening.POSITION) & (before == Happening.DELETION)] = 1
        change[1:][(self.kind == Happening.DELETION) & (before == Happening.POSITION)] = -1
        return np.cumsum(change, dtype=np.int32)

    @cached_property
    def fullest(self) -> int:
        """The last of the moments with the most entities."""
        return _last_maximum(self._present)

    @cached_property
    def before_end(self) -> int:
        """The fullest moment of the last second before the final deletions; the end if the last event is not a deletion.

        A program that ends deletes its entities from the leaves to the root, with messages in between.
        """
        others = np.flatnonzero(self.kind != Happening.DELETION)
        end = int(others[-1]) + 1 if len(others) else 0
        if end in (0, len(self)):
            return end
        since = self.moment_at(int(self.ns[end - 1]) - ENDING_NS)
        return since + _last_maximum(self._present[since : end + 1])

    def gone(self, moment: int) -> int:
        """Return how many more entities exist at a moment than at the end."""
        return int(self._present[moment] - self._present[-1])

    def activity(self, parts: int) -> I64:
        """Divide the time from the first to the last event into equal parts, and return the number of events in each."""
        if not len(self):
            return np.zeros(parts, np.int64)
        edges = self.ns[0] + (int(self.ns[-1] - self.ns[0]) * np.arange(1, parts)) // parts
        bounds = np.searchsorted(self.ns, edges, "left")
        return np.diff(np.concatenate([[0], bounds, [len(self)]]))

    def about(self, entity: int, moment: int, most: int) -> list[int]:
        """Return up to `most` of the last events of an entity, the newest first."""
        found: list[int] = []
        end = moment
        while end > 0 and len(found) < most:
            begin = max(0, end - _BATCH_EVENTS)
            part = (self.first[begin:end] == entity) | (self.other[begin:end] == entity)
            found += (np.flatnonzero(part)[::-1] + begin).tolist()
            end = begin
        return found[:most]


_BATCH_EVENTS = 1 << 18


def _last_maximum(numbers: I32) -> int:
    """Return the index of the last maximum."""
    return len(numbers) - 1 - int(np.argmax(numbers[::-1]))


def bounded(name: str) -> str:
    """Shorten a name to `MOST_NAME` characters."""
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…"


def numbered(first: I64, other: I64, known: int) -> tuple[I32, I32, list[int]]:
    """Renumber entities by first appearance; return both columns and the old number of each entity.

    Entities that never appear get no number.
    """
    came = np.full(known, 2 * len(first), np.int64)
    place = np.arange(len(first), dtype=np.int64)
    np.minimum.at(came, first, 2 * place)
    has = other >= 0
    np.minimum.at(came, other[has], 2 * place[has] + 1)
    order = np.argsort(came, kind="stable")
    order = order[came[order] < 2 * len(first)]
    number = np.full(known + 1, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[first], number[other], order.tolist()
