"""What is to be seen of a state: which entities there are, each in its container, and the largest of them.

Shown as they are: who talks before it exists, or holds something, has no place yet; who holds something after its deletion is
gone and still holds it. Invariant: it is a forest whatever was said; of containers that are in each other the one that was
moved last is outside, and `inside_itself`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.entities.events import I64, EntityEvents, Happening
from clew.graph.entities.fold import State

Mask = npt.NDArray[np.bool_]


class Presence(enum.IntEnum):
    UNKNOWN = 0  # not yet, or no more
    THERE = 1
    UNPLACED = 2  # heard of, but nobody said where it is
    GONE = 3  # deleted, but something is still in it


@dataclass(frozen=True)
class Nesting:
    """By entity. `container` is -1 outside of any."""

    presence: npt.NDArray[np.uint8]
    container: I64
    inside_itself: frozenset[int]
    depth: I64
    """How many containers it is in."""
    holds: I64
    """How many are in it, at any depth."""

    def chosen(self, most: int, inside: int = -1) -> I64:
        """The entities that hold most, all or those within one, in the order of their numbers; with each its containers."""
        among = np.flatnonzero(self._within(inside) if inside >= 0 else self.presence != Presence.UNKNOWN)
        if len(among) > most:
            # A container holds more than what is in it, so that it is never left out where that is not.
            order = np.lexsort((among, -self.holds[among]))[:most]
            among = np.sort(among[order])
        return among

    def _within(self, entity: int) -> Mask:
        found = np.zeros(len(self.container), bool)
        found[entity] = True
        deeper = np.flatnonzero((self.presence != Presence.UNKNOWN) & (self.depth > self.depth[entity]))
        for level in _levels(deeper, self.depth):
            found[level] = found[self.container[level]]
        found[entity] = False
        return found

    def path(self, entity: int) -> list[int]:
        """Its containers, the outermost first."""
        found: list[int] = []
        while (entity := int(self.container[entity])) >= 0:
            found.append(entity)
        return found[::-1]

    def lifted(self, shown: I64) -> I64:
        """By entity the place in `shown` of itself or its nearest container there, -1 for none."""
        found = np.full(len(self.container), -1, np.int64)
        found[shown] = np.arange(len(shown))
        for level in _levels(np.flatnonzero(self.container >= 0), self.depth):
            open_ = level[found[level] < 0]
            found[open_] = found[self.container[open_]]
        return found


def nesting(events: EntityEvents, state: State) -> Nesting:
    last = state.last
    said = last >= 0
    there = said.copy()
    there[said] = events.kind[last[said]] == Happening.POSITION
    container = np.full(events.entities, -1, np.int64)
    container[there] = events.other[last[there]]
    presence = np.zeros(events.entities, np.uint8)
    presence[~said & (state.sent + state.received > 0)] = Presence.UNPLACED
    holders = container[container >= 0]
    presence[holders] = np.where(said[holders], Presence.GONE, Presence.UNPLACED)
    presence[there] = Presence.THERE
    cut = _cut(container, last)
    container[cut] = -1
    depth, _ = _depths(container)
    holds = np.zeros(events.entities, np.int64)
    for level in reversed(_levels(np.flatnonzero(container >= 0), depth)):
        np.add.at(holds, container[level], holds[level] + 1)
    return Nesting(presence, container, frozenset(cut), depth, holds)


def _depths(container: I64) -> tuple[I64, I64]:
    """How many containers each is in, and who is in none however far one goes: in twice as many at each step."""
    depth, above = (container >= 0).astype(np.int64), container.copy()
    for _ in range(len(container).bit_length() + 1):
        inner = np.flatnonzero(above >= 0)
        if not len(inner):
            break
        up = above[inner]
        depth[inner] += depth[up]
        above[inner] = above[up]
    return depth, np.flatnonzero(above >= 0)


def _cut(container: I64, last: npt.NDArray[np.int32]) -> list[int]:
    """Of each circle of containers the one that was moved last."""
    seen: dict[int, int] = {}
    found = []
    for start in _depths(container)[1].tolist():
        path, at = [], start
        while at >= 0 and at not in seen:
            seen[at] = start
            path.append(at)
            at = int(container[at])
        if at >= 0 and seen[at] == start:
            found.append(max(path[path.index(at) :], key=lambda one: int(last[one])))
    return found


def _levels(entities: I64, depth: I64) -> list[I64]:
    """By depth, the outermost first."""
    order = entities[np.argsort(depth[entities], kind="stable")]
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    return np.split(order, bounds) if len(order) else []
