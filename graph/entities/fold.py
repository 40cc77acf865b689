"""Fold entity events into states: step forward or back by one event, or seek to any moment from the nearest snapshot.

The state of an entity is its last position or deletion, and how often it sent and received. Undoing an event restores the one
it replaced (`EntityEvents.before`), so the state at a moment does not depend on the way there.
Invariant: snapshots take at most 12 bytes per event in addition to the first one (24 if entities appeared after the fold was
created). A seek reads at most `NEAR` events, or as many as there are entities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.entities.events import I32, EntityEvents, Happening

NEAR = 1 << 16
"""The minimum number of events between two snapshots."""


@dataclass(eq=False)
class State:
    """The state of each entity after `moment` events. It is mutable: compare two states by `equals`."""

    moment: int
    last: I32
    """The last position or deletion of each entity, or -1."""
    sent: I32
    received: I32

    @classmethod
    def empty(cls, entities: int) -> State:
        return cls(0, np.full(entities, -1, np.int32), np.zeros(entities, np.int32), np.zeros(entities, np.int32))

    def copy(self) -> State:
        return State(self.moment, self.last.copy(), self.sent.copy(), self.received.copy())

    def grown(self, entities: int) -> State:
        """Return a copy that has room for `entities` entities."""
        missing = entities - len(self.last)
        return State(
            self.moment,
            np.concatenate([self.last, np.full(missing, -1, np.int32)]),
            np.concatenate([self.sent, np.zeros(missing, np.int32)]),
            np.concatenate([self.received, np.zeros(missing, np.int32)]),
        )

    def equals(self, other: State) -> bool:
        return self.moment == other.moment and all(
            np.array_equal(mine, its)
            for mine, its in ((self.last, other.last), (self.sent, other.sent), (self.received, other.received))
        )

    def apply(self, events: EntityEvents) -> None:
        """Apply the next event. Raises IndexError after the last one."""
        place = self.moment
        if events.kind[place] == Happening.COMMUNICATION:
            self.sent[events.first[place]] += 1
            self.received[events.other[place]] += 1
        else:
            self.last[events.first[place]] = place
        self.moment += 1

    def undo(self, events: EntityEvents) -> None:
        """Undo the last event. Raises IndexError if there is none."""
        place = self.moment - 1
        if place < 0:
            raise IndexError("no event has happened yet")
        if events.kind[place] == Happening.COMMUNICATION:
            self.sent[events.first[place]] -= 1
            self.received[events.other[place]] -= 1
        else:
            self.last[events.first[place]] = events.before[place]
        self.moment = place

    def advance(self, events: EntityEvents, moment: int) -> None:
        """Apply all events up to a later moment at once."""
        part = slice(self.moment, moment)
        kind, first, other = events.kind[part], events.first[part], events.other[part]
        is_message = kind == Happening.COMMUNICATION
        size = len(self.last)
        self.sent += np.bincount(first[is_message], minlength=size).astype(np.int32)
        self.received += np.bincount(other[is_message], minlength=size).astype(np.int32)
        moves = np.flatnonzero(~is_message)
        # Rows ascend, so the largest is the last.
        np.maximum.at(self.last, first[moves], (moves + self.moment).astype(np.int32))
        self.moment = moment


class Fold:
    """Computes the state at any moment."""

    _snapshots: list[State]

    def __init__(self, events: EntityEvents, before: Fold | None = None) -> None:
        """`before` is the fold of a prefix of the same events; its snapshots are reused."""
        self.events = events
        self.every: int = before.every if before and 2 * before.every > events.entities else max(NEAR, events.entities)
        snapshots = before._snapshots if before and before.every == self.every else []
        self._snapshots = list(snapshots)
        state = snapshots[-1].grown(events.entities) if snapshots else State.empty(events.entities)
        for moment in range(len(snapshots) * self.every, len(events), self.every):
            state.advance(events, moment)
            self._snapshots.append(state.copy())

    @property
    def bytes(self) -> int:
        """The size of all snapshots."""
        return sum(one.last.nbytes + one.sent.nbytes + one.received.nbytes for one in self._snapshots)

    def at(self, moment: int) -> State:
        """Return the state at a moment, which is clipped to the existing ones."""
        moment = min(max(0, moment), len(self.events))
        if not self._snapshots:
            return State.empty(self.events.entities)
        state = self._snapshots[min(moment // self.every, len(self._snapshots) - 1)].grown(self.events.entities)
        state.advance(self.events, moment)
        return state
