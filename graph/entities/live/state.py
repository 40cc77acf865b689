"""Maintain the entities of a live run: batches of events, and the state after the last batch.

Every batch, read from records or from a journal, is applied by `LiveState.apply`.
Invariant: numbers of entities, channels and sites are never reused. Memory is bounded: the entities deleted longest ago are
forgotten, and get another number if they reappear.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.entities.events import Happening, bounded

MOST_DELETED = 20_000
"""The maximum number of deleted entities that are remembered."""
NOWHERE, OUTSIDE = -2, -1
"""Values in place of a container: no position (yet, or any longer); in no container."""

COLUMNS: tuple[tuple[str, str], ...] = (
    ("ns", "<i8"),
    ("first", "<i4"),
    ("other", "<i4"),
    ("channel", "<u4"),
    ("site", "<u4"),
    ("kind", "u1"),
)
"""The columns of a batch and their types in bytes; see `EntityEvents`."""


Row = tuple[int, int, int, int, int, int]
"""An event, with the values of `COLUMNS`."""
Table = npt.NDArray[np.int64]
"""Rows in time order."""


def table_of(rows: Sequence[Row]) -> Table:
    """Sort rows by time."""
    table = np.array(rows, np.int64).reshape(-1, len(COLUMNS))
    return table[np.argsort(table[:, 0], kind="stable")]


class Entity(NamedTuple):
    number: int
    identity: str
    """A text that identifies it within the run."""
    name: str
    kind: str
    """Its class, or "machine", "process", "thread" or "task"; "" if unknown."""


class Place(NamedTuple):
    """The source place of a site."""

    file: str
    line: int
    label: str


@dataclass
class Batch:
    """Events that were read together, and the entities, channels and sites that are new or renamed."""

    begin: int
    """The number of events before the batch."""
    columns: dict[str, npt.NDArray[Any]]
    entities: list[Entity] = field(default_factory=list)
    channels: dict[int, str] = field(default_factory=dict)
    sites: dict[int, Place] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["kind"])

    @property
    def end(self) -> int:
        return self.begin + len(self)

    @property
    def has_content(self) -> bool:
        return bool(len(self) or self.entities or self.channels or self.sites)


@dataclass(slots=True)
class Standing:
    """The position and the message counts of an entity."""

    container: int = NOWHERE
    sent: int = 0
    received: int = 0


@dataclass
class LiveState:
    """The state after `moment` events."""

    moment: int = 0
    entities: dict[int, Entity] = field(default_factory=dict)
    standing: dict[int, Standing] = field(default_factory=dict)
    channels: dict[int, str] = field(default_factory=dict)
    sites: dict[int, Place] = field(default_factory=dict)
    deleted: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def apply(self, batch: Batch) -> list[Entity]:
        """Apply a batch and return the entities that are forgotten."""
        for entity in batch.entities:
            self.entities[entity.number] = entity
            self.standing.setdefault(entity.number, Standing())
        self.channels |= batch.channels
        self.sites |= batch.sites
        kind, first, other = (batch.columns[name] for name in ("kind", "first", "other"))
        is_message = kind == Happening.COMMUNICATION
        for number, count in _counted(first[is_message]):
            self._of(number).sent += count
        for number, count in _counted(other[is_message]):
            self._of(number).received += count
        moves = np.flatnonzero(~is_message)
        for what, number, container in zip(
            kind[moves].tolist(), first[moves].tolist(), other[moves].tolist(), strict=True
        ):
            is_there = what == Happening.POSITION
            self._of(number).container = container if is_there else NOWHERE
            self.deleted.pop(number, None)
            if not is_there:
                self.deleted[number] = None
        self.moment = batch.end
        forgotten = []
        while len(self.deleted) > MOST_DELETED:
            number, _ = self.deleted.popitem(last=False)
            self.standing.pop(number, None)
            if number in self.entities:
                forgotten.append(self.entities.pop(number))
        return forgotten

    def _of(self, number: int) -> Standing:
        found = self.standing.get(number)
        if found is None:
            found = self.standing[number] = Standing()
        return found

    def is_placed(self, number: int) -> bool:
        standing = self.standing.get(number)
        return standing is not None and standing.container != NOWHERE


def _counted(numbers: npt.NDArray[Any]) -> list[tuple[int, int]]:
    found, counts = np.unique(numbers, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


class Naming:
    """Numbers entities, channels and sites, and collects the new ones for the next batch."""

    def __init__(self, state: LiveState, next_number: int = 0) -> None:
        self.numbers = {entity.identity: entity.number for entity in state.entities.values()}
        self.next_number = max(next_number, 1 + max(state.entities, default=-1))
        self._entities = dict(state.entities)
        self._channels = {text: number for number, text in state.channels.items()}
        self._sites = {place: number for number, place in state.sites.items()}
        self._new = Batch(0, {})

    def entity(self, identity: str, name: str, kind: str) -> int:
        """Return the number of an entity; report it again if its name or kind changed."""
        number = self.numbers.get(identity)
        if number is None:
            number = self.numbers[identity] = self.next_number
            self.next_number += 1
        self.update(Entity(number, identity, bounded(name), bounded(kind)))
        return number

    def update(self, entity: Entity) -> None:
        if self._entities.get(entity.number) != entity:
            self._entities[entity.number] = entity
            self._new.entities.append(entity)

    def known(self, number: int) -> Entity | None:
        return self._entities.get(number)

    def rename(self, old: str, new: str) -> None:
        """Change the identity of an entity."""
        self.numbers[new] = self.numbers.pop(old)

    def channel(self, text: str) -> int:
        if not text:
            return 0
        number = self._channels.get(text)
        if number is None:
            number = self._channels[text] = len(self._channels) + 1
            self._new.channels[number] = text
        return number

    def site(self, place: Place | None) -> int:
        if place is None:
            return 0
        number = self._sites.get(place)
        if number is None:
            number = self._sites[place] = len(self._sites) + 1
            self._new.sites[number] = place
        return number

    def forget(self, entities: list[Entity]) -> None:
        for entity in entities:
            self._entities.pop(entity.number, None)
            if self.numbers.get(entity.identity) == entity.number:
                del self.numbers[entity.identity]

    def next_batch(self, begin: int, table: Table) -> Batch:
        """Return a batch of events with everything that is new since the last batch."""
        columns = {name: table[:, place].astype(kind) for place, (name, kind) in enumerate(COLUMNS)}
        new, self._new = self._new, Batch(0, {})
        return Batch(begin, columns, new.entities, new.channels, new.sites)
