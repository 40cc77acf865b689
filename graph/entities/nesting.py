"""Arrange the entities of a state into a forest of containers, and choose the largest ones to show.

An entity that communicates or contains something before its first position is `UNPLACED`. A deleted entity that still contains
something is `GONE`. Invariant: the result is a forest for any events. In a cycle of containers, the entity that was moved last
is put outside and listed in `inside_itself`.
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
    """Whether an entity exists."""

    UNKNOWN = 0  # does not exist yet, or no longer
    THERE = 1
    UNPLACED = 2  # seen, but without a position
    GONE = 3  # deleted, but still contains something


@dataclass(frozen=True)
class Nesting:
    """The forest, as columns by entity. `container` is -1 for an entity that is in no container."""

    presence: npt.NDArray[np.uint8]
    container: I64
    inside_itself: frozenset[int]
    depth: I64
    """The number of containers around each entity."""
    holds: I64
    """The number of entities inside each entity, at any depth."""

    def chosen(self, most: int, inside: int = -1) -> I64:
        """Return up to `most` entities that contain the most, ascending and always with their containers.

        `inside` restricts them to the inside of one entity.
        """
        among = np.flatnonzero(self._within(inside) if inside >= 0 else self.presence != Presence.UNKNOWN)
        if len(among) > most:
            # A container holds more than each entity in it, so it is chosen before them.
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
        """Return the containers of an entity, the outermost first."""
        found: list[int] = []
        while (entity := int(self.container[entity])) >= 0:
            found.append(entity)
        return found[::-1]

    def lifted(self, shown: I64) -> I64:
        """Return for each entity the index in `shown` of itself or of its nearest shown container, or -1."""
        found = np.full(len(self.container), -1, np.int64)
        found[shown] = np.arange(len(shown))
        for level in _levels(np.flatnonzero(self.container >= 0), self.depth):
            open_ = level[found[level] < 0]
            found[open_] = found[self.container[open_]]
        return found


def nesting(events: EntityEvents, state: State) -> Nesting:
    """Compute the forest of a state."""
    last = state.last
    has_state = last >= 0
    there = has_state.copy()
    there[has_state] = events.kind[last[has_state]] == Happening.POSITION
    container = np.full(events.entities, -1, np.int64)
    container[there] = events.other[last[there]]
    presence = np.zeros(events.entities, np.uint8)
    presence[~has_state & (state.sent + state.received > 0)] = Presence.UNPLACED
    holders = container[container >= 0]
    presence[holders] = np.where(has_state[holders], Presence.GONE, Presence.UNPLACED)
    presence[there] = Presence.THERE
    cut = _cut(container, last)
    container[cut] = -1
    depth, _ = _depths(container)
    holds = np.zeros(events.entities, np.int64)
    for level in reversed(_levels(np.flatnonzero(container >= 0), depth)):
        np.add.at(holds, container[level], holds[level] + 1)
    return Nesting(presence, container, frozenset(cut), depth, holds)


def _depths(container: I64) -> tuple[I64, I64]:
    """Return the depth of each entity, and the entities whose chain of containers is a cycle.

    Each step doubles the distance (pointer jumping).
    """
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
    """Return the entity of each cycle of containers that was moved last."""
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
    """Group entities by depth, the outermost first."""
    order = entities[np.argsort(depth[entities], kind="stable")]
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    return np.split(order, bounds) if len(order) else []
