"""What happened to the entities of a run: columns, one row per event, in the order of time.

Invariant: an event is known by its place, entities by numbers in the order in which they first come up; `first` and `other`
are entities wherever they are not -1. A moment is how many events have happened by then.
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
"""Characters."""
ENDING_NS = 1_000_000_000
"""So long a program may take to end its threads and processes one after the other."""


class Happening(enum.IntEnum):
    """What an event says."""

    POSITION = 1  # `first` is in `other`, or outside of any container
    DELETION = 2  # of `first`
    COMMUNICATION = 3  # from `first` to `other`


@dataclass(frozen=True)
class EntityEvents:
    """Columns of events, and what entities are called. `failed` counts events that could not be evaluated or read."""

    ns: I64
    kind: U8
    first: I32
    other: I32
    row: I64
    """The event of the run's graph that says so."""
    channel: U32
    """What was used to communicate: a place among the graph's strings."""
    names: Sequence[str]
    classes: Sequence[str]
    """Of each entity the name of its class, or machine, process, thread, task; "" when nothing tells."""
    failed: int = 0

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def entities(self) -> int:
        return len(self.names)

    @cached_property
    def before(self) -> I32:
        """Per position and deletion the entity's last one before it, -1 for none: what undoing it goes back to."""
        found = np.full(len(self), -1, np.int32)
        states = np.flatnonzero(self.kind != Happening.COMMUNICATION)
        order = states[np.argsort(self.first[states], kind="stable")]
        same = self.first[order[1:]] == self.first[order[:-1]]
        found[order[1:][same]] = order[:-1][same]
        return found

    def moment_at(self, ns: int) -> int:
        """How many events have happened by then."""
        return int(np.searchsorted(self.ns, ns, "right"))

    @cached_property
    def _there(self) -> I32:
        """How many are there at each moment."""
        change = np.zeros(len(self) + 1, np.int8)
        before = np.where(self.before >= 0, self.kind[self.before], Happening.DELETION)
        change[1:][(self.kind == Happening.POSITION) & (before == Happening.DELETION)] = 1
        change[1:][(self.kind == Happening.DELETION) & (before == Happening.POSITION)] = -1
        return np.cumsum(change, dtype=np.int32)

    @cached_property
    def fullest(self) -> int:
        """The last moment when most entities are there."""
        return _last_most(self._there)

    @cached_property
    def before_end(self) -> int:
        """Of the last second before the deletions that the events end with, the last moment when most entities are there; the
        end where it does not end with any. Who ends a program does so from the leaves to the root, with messages between."""
        others = np.flatnonzero(self.kind != Happening.DELETION)
        end = int(others[-1]) + 1 if len(others) else 0
        if end in (0, len(self)):
            return end
        since = self.moment_at(int(self.ns[end - 1]) - ENDING_NS)
        return since + _last_most(self._there[since : end + 1])

    def gone(self, moment: int) -> int:
        """How many fewer are there in the end."""
        return int(self._there[moment] - self._there[-1])

    def activity(self, parts: int) -> I64:
        """How many events happened in each of so many equal parts of the time from the first to the last."""
        if not len(self):
            return np.zeros(parts, np.int64)
        edges = self.ns[0] + (int(self.ns[-1] - self.ns[0]) * np.arange(1, parts)) // parts
        bounds = np.searchsorted(self.ns, edges, "left")
        return np.diff(np.concatenate([[0], bounds, [len(self)]]))

    def about(self, entity: int, moment: int, most: int) -> list[int]:
        """The last events that name an entity, the newest first."""
        found: list[int] = []
        end = moment
        while end > 0 and len(found) < most:
            begin = max(0, end - _AT_ONCE)
            part = (self.first[begin:end] == entity) | (self.other[begin:end] == entity)
            found += (np.flatnonzero(part)[::-1] + begin).tolist()
            end = begin
        return found[:most]


_AT_ONCE = 1 << 18


def _last_most(numbers: I32) -> int:
    """Where the last one of the largest stands."""
    return len(numbers) - 1 - int(np.argmax(numbers[::-1]))


def bounded(name: str) -> str:
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…"


def numbered(first: I64, other: I64, known: int) -> tuple[I32, I32, list[int]]:
    """Entities numbered anew in the order in which they come up, and which each one was. Those that never do have no number."""
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
