"""Resources that strands held, as columns and as objects: from HOLD records, or as a wait describes its holders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.ops.facts.columns.records import Records, Resource
from clew.graph.ops.facts.columns.views import I64, Column, Mask, View
from clew.records.format.facts import Frame, Wait, Wake

_OPEN = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Holding:
    """A resource that a strand held: from a HOLD record, or as another strand's WAIT describes its holder."""

    resource: Resource
    strand: int
    """-1 when the holder's strand was not recorded."""
    since_ns: int
    until_ns: int | None
    """None if it was never given back, or if that was not recorded."""
    at: tuple[Frame, ...]
    rows: tuple[int, ...]
    """The rows that show it: the HOLD and the RETURN, or the WAIT that names the holder."""
    item: int = 0
    """The key of the slot, 0 when slots are alike: then the one who took it has to give it back."""
    before_fork: int = 0
    """The uid of the process that took it before this process was forked, else 0."""


class HoldTable:
    """All HOLD records of a run by time, each with the RETURN that ends it. Each place is a holding."""

    def __init__(
        self,
        holds: Records[Wait],
        returns: Records[Wake],
        acts_for: Mapping[int, int],
        served: Mapping[int, tuple[int, tuple[Frame, ...]]],
    ) -> None:
        """`acts_for` has the strands for which others take resources, by these others. `served` has those for which threads
        take single ones, with the stacks where they asked for it, by the places of the HOLD records."""
        self._holds, self._returns, self._served = holds, returns, served
        self._hold = np.argsort(holds.ns, kind="stable")
        holder = holds.strand.copy()
        for at in np.flatnonzero(np.isin(holder, list(acts_for))).tolist() if acts_for else ():
            holder[at] = acts_for[int(holder[at])]
        for at, (strand, _frames) in served.items():
            holder[at] = strand
        named = holds.contains('"item":')
        ended = _return_of_each(holds, returns, holder)
        if named.any():
            _match_items(holds, returns, named, ended)
        self._return = ended[self._hold]
        self.is_named: Mask = named[self._hold]
        given = self._return >= 0
        self.since_ns: I64 = holds.ns[self._hold]
        self.strand: I64 = holder[self._hold]
        self.owner: I64 = holds.owner[self._hold]
        self.key: npt.NDArray[np.uint64] = holds.key[self._hold]
        self.until_ns: I64 = np.full(len(self._hold), _OPEN)
        self.until_ns[given] = returns.ns[self._return[given]]
        self.giver: I64 = np.full(len(self._hold), -1)
        self.giver[given] = returns.strand[self._return[given]]
        self._made: dict[int, Holding] = {}

    def holding(self, place: int) -> Holding:
        """Return a holding as an object, the same one each time."""
        found = self._made.get(place)
        if found is None:
            hold, end = int(self._hold[place]), int(self._return[place])
            row, until = int(self._holds.row[hold]), int(self.until_ns[place])
            found = self._made[place] = Holding(
                (int(self.owner[place]), int(self.key[place])),
                int(self.strand[place]),
                int(self.since_ns[place]),
                None if until == _OPEN else until,
                self._served[hold][1] if hold in self._served else self._holds.text(hold).at,
                (row, int(self._returns.row[end])) if end >= 0 else (row,),
                self._holds.text(hold).item,
            )
        return found

    def all(self) -> Holdings:
        return Holdings(self, np.arange(len(self._hold)))


class Holdings(View[Holding]):
    """Some holdings that HOLD records show."""

    def __init__(self, table: HoldTable, places: I64) -> None:
        super().__init__(table.holding, places)
        self._table = table

    strand = Column[I64]()
    owner = Column[I64]()
    key = Column[npt.NDArray[np.uint64]]()

    @property
    def is_open(self) -> Mask:
        """Whether each was never given back."""
        is_open: Mask = self._table.until_ns[self.places] == _OPEN
        return is_open

    @property
    def is_given_by_another(self) -> Mask:
        """Whether another strand than the holder gave each back, although slots are alike."""
        giver = self._table.giver[self.places]
        by_another: Mask = (giver >= 0) & (giver != self.strand) & ~self._table.is_named[self.places]
        return by_another

    def at(self, ns: int) -> Holdings:
        """Return those that lasted at a time. What was given back at that time did not."""
        count = int(np.searchsorted(self._table.since_ns[self.places], ns, "right"))
        return self.take(np.flatnonzero(self._table.until_ns[self.places[:count]] > ns))


def _match_items(holds: Records[Wait], returns: Records[Wake], named: Mask, found: I64) -> None:
    """Set the places of RETURN records for HOLD records that name their slot: the next one that names it, by any strand."""
    order: list[tuple[int, int, int, Resource, int]] = []
    for kind, records, chosen in ((0, holds, named), (1, returns, returns.contains('"item":'))):
        items = records.number("item")
        for at in np.flatnonzero(chosen).tolist():
            item = int(items[at])
            order.append((int(records.row[at]), kind, at, (int(records.owner[at]), int(records.key[at])), item))
    order.sort(key=lambda each: (int((returns if each[1] else holds).ns[each[2]]), each[0]))
    found[named] = -1
    held: dict[tuple[Resource, int], int] = {}
    for _row, kind, at, resource, item in order:
        if not kind:
            held[resource, item] = at
        elif (resource, item) in held:
            found[held.pop((resource, item))] = at


def _return_of_each(holds: Records[Wait], returns: Records[Wake], holder: I64) -> I64:
    """Return the place of the RETURN that ends each HOLD: its own strand's next one, else another strand's; -1 for none."""
    count = len(holds)
    owner = np.concatenate((holds.owner, returns.owner))
    key = np.concatenate((holds.key, returns.key))
    strand = np.concatenate((holder, returns.strand))
    row, ns = np.concatenate((holds.row, returns.row)), np.concatenate((holds.ns, returns.ns))
    order = np.lexsort((row, ns, strand, key, owner))
    found = np.full(count, -1, np.int64)
    if not count:
        return found
    strands = strand
    owner, key, strand = owner[order], key[order], strand[order]
    is_hold = order < count
    new_resource = np.concatenate(([True], (owner[1:] != owner[:-1]) | (key[1:] != key[:-1])))
    new_strand = new_resource | np.concatenate(([True], strand[1:] != strand[:-1]))
    # Where each strand takes and gives in turn, every HOLD ends with the next record.
    turns = np.concatenate(([True], is_hold[1:] != is_hold[:-1]))
    is_odd = np.where(new_strand, ~is_hold, ~turns)
    resource = np.cumsum(new_resource) - 1
    odd = np.zeros(int(resource[-1]) + 1, bool)
    odd[resource[is_odd]] = True
    ended = np.flatnonzero(is_hold[:-1] & ~new_strand[1:] & ~odd[resource[:-1]])
    found[order[ended]] = order[ended + 1] - count
    mixed = order[odd[resource]]
    mixed = mixed[np.lexsort((row[mixed], ns[mixed]))]
    _match_one_by_one(mixed, holds, returns, strands, found)
    return found


def _match_one_by_one(order: I64, holds: Records[Wait], returns: Records[Wake], strands: I64, found: I64) -> None:
    """Set the places of RETURN records for resources that strands also give back for others, by time."""
    count = len(holds)
    open_: dict[Resource, dict[int, list[int]]] = defaultdict(dict)
    for place in order.tolist():
        records, at = (holds, place) if place < count else (returns, place - count)
        strand = int(strands[place])
        held = open_[int(records.owner[at]), int(records.key[at])]
        if place < count:
            held.setdefault(strand, []).append(place)
        elif held:
            strand = strand if strand in held else next(iter(held))
            found[held[strand].pop(0)] = at
            if not held[strand]:
                del held[strand]
