"""The fold of the events up to a moment, one event forward or back at a time, or anywhere at once from the nearest snapshot.

What is known of an entity is its last position or deletion, and how often it sent and received. So an event is undone by going
back to the one that it took over from (`EntityEvents.before`), and the state is the same however one came to the moment.
Invariant: snapshots take at most 12 bytes an event beside the first, 24 where entities came up since the fold was begun, and to
seek takes a look at no more events than there are entities, or `NEAR`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.entities.events import I32, EntityEvents, Happening

NEAR = 1 << 16
"""Events between two snapshots, of few entities."""


@dataclass(eq=False)
class State:
    """By entity, after `moment` events. It changes: two are compared by `equals`."""

    moment: int
    last: I32
    """The last position or deletion, -1 for none."""
    sent: I32
    received: I32

    @classmethod
    def empty(cls, entities: int) -> State:
        return cls(0, np.full(entities, -1, np.int32), np.zeros(entities, np.int32), np.zeros(entities, np.int32))

    def copy(self) -> State:
        return State(self.moment, self.last.copy(), self.sent.copy(), self.received.copy())

    def grown(self, entities: int) -> State:
        """A copy, with room for entities that have come up since."""
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
        """The next event. Raises IndexError behind the last one."""
        place = self.moment
        if events.kind[place] == Happening.COMMUNICATION:
            self.sent[events.first[place]] += 1
            self.received[events.other[place]] += 1
        else:
            self.last[events.first[place]] = place
        self.moment += 1

    def undo(self, events: EntityEvents) -> None:
        """Takes the last event back. Raises IndexError when there is none."""
        place = self.moment - 1
        if place < 0:
            raise IndexError("nothing has happened yet")
        if events.kind[place] == Happening.COMMUNICATION:
            self.sent[events.first[place]] -= 1
            self.received[events.other[place]] -= 1
        else:
            self.last[events.first[place]] = events.before[place]
        self.moment = place

    def advance(self, events: EntityEvents, moment: int) -> None:
        """All events up to a later moment at once."""
        part = slice(self.moment, moment)
        kind, first, other = events.kind[part], events.first[part], events.other[part]
        talks = kind == Happening.COMMUNICATION
        size = len(self.last)
        self.sent += np.bincount(first[talks], minlength=size).astype(np.int32)
        self.received += np.bincount(other[talks], minlength=size).astype(np.int32)
        moves = np.flatnonzero(~talks)
        # Places grow, so that the largest is the last.
        np.maximum.at(self.last, first[moves], (moves + self.moment).astype(np.int32))
        self.moment = moment


class Fold:
    """States at any moment of some events."""

    _snapshots: list[State]

    def __init__(self, events: EntityEvents, before: Fold | None = None) -> None:
        """`before` is that of the same events as far as there were such before."""
        self.events = events
        self.every: int = before.every if before and 2 * before.every > events.entities else max(NEAR, events.entities)
        known = before._snapshots if before and before.every == self.every else []
        self._snapshots = list(known)
        state = known[-1].grown(events.entities) if known else State.empty(events.entities)
        for moment in range(len(known) * self.every, len(events), self.every):
            state.advance(events, moment)
            self._snapshots.append(state.copy())

    @property
    def bytes(self) -> int:
        """Of all snapshots."""
        return sum(one.last.nbytes + one.sent.nbytes + one.received.nbytes for one in self._snapshots)

    def at(self, moment: int) -> State:
        """After so many events; the nearest moment that there is."""
        moment = min(max(0, moment), len(self.events))
        if not self._snapshots:
            return State.empty(self.events.entities)
        state = self._snapshots[min(moment // self.every, len(self._snapshots) - 1)].grown(self.events.entities)
        state.advance(self.events, moment)
        return state
