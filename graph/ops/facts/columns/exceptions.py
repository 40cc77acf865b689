"""The recorded exceptions of a run as columns.

Invariant: a handled exception that was recorded before is recorded without its message and stack; its object has them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from clew.graph.ops.facts.columns.records import Fact, Records, Resource
from clew.graph.ops.facts.columns.views import I64, Groups, Mask, View
from clew.records.format.facts import Exception_

_AGAIN = Exception_(role="handled")
_DEFAULT_ROLE = Exception_().role


class ExceptionTable:
    """All records of exceptions, by row. Each place is one."""

    def __init__(self, records: Records[Exception_]) -> None:
        self.records = records
        self._made: dict[int, Fact[Exception_]] = {}
        by_time = View(int, np.lexsort((records.row, records.ns)))
        self._by_key: Groups[Resource, View[int]] = Groups(
            by_time, records.process[by_time.places], records.key[by_time.places]
        )

    def fact(self, place: int) -> Fact[Exception_]:
        """Return a record as an object, the same one each time."""
        found = self._made.get(place)
        if found is None:
            found = self.records.fact(place)
            if found.text == _AGAIN:
                found = replace(found, text=self._full(place))
            self._made[place] = found
        return found

    def _full(self, place: int) -> Exception_:
        """Return the latest text of a handled exception that has a message or a stack, up to a record of it."""
        records = self.records
        same = self.places_of(int(records.process[place]), int(records.key[place]))
        for before in same[: int(np.flatnonzero(same == place)[0])][::-1].tolist():
            if records.channel[before] == records.channel[place] and records.text(before) != _AGAIN:
                return records.text(before)._replace(role="handled")
        return _AGAIN

    def places_of(self, process: int, key: int) -> I64:
        """Return the records of one exception by time."""
        return self._by_key.of(process, key).places


class Exceptions(View[Fact[Exception_]]):
    """Some records of exceptions."""

    def __init__(self, table: ExceptionTable, places: I64) -> None:
        super().__init__(table.fact, places)
        self._table = table

    @property
    def row(self) -> I64:
        return self._table.records.row[self.places]

    @property
    def ns(self) -> I64:
        return self._table.records.ns[self.places]

    @property
    def strand(self) -> I64:
        return self._table.records.strand[self.places]

    def of(self, process: int, key: int) -> Exceptions:
        """Return all records of one exception by time, whichever records this view has."""
        return Exceptions(self._table, self._table.places_of(process, key))

    def at_row(self, row: int) -> Fact[Exception_] | None:
        """Return the record at a row of the graph, whichever records this view has; None if there is none."""
        place = int(np.searchsorted(self._table.records.row, row))
        rows = self._table.records.row
        return self._table.fact(place) if place < len(rows) and rows[place] == row else None

    def between(self, first: int, last: int) -> Exceptions:
        """Return the records in rows from `first` to `last`."""
        low, high = np.searchsorted(self.row, [first, last + 1]).tolist()
        return self[low:high]

    def of_roles(self, *roles: str) -> Mask:
        """Return for each record whether the exception has one of some roles in it."""
        records = self._table.records
        passes = np.zeros(len(records), bool)
        for role in roles:
            passes |= records.contains(f'"role":"{role}"')
        if _DEFAULT_ROLE in roles:
            passes |= ~records.contains('"role":"')
        return passes[self.places]

    def of_types(self, test: Callable[[str], bool]) -> Mask:
        """Return for each record whether the name of the exception's type passes a test."""
        return self._table.records.channels(test)[self.places]

    def mention(self, pattern: str) -> Mask:
        """Return for each record whether a regular expression matches in its text, which includes its message and its stack."""
        return self._table.records.contains(pattern, regex=True)[self.places]

    def may_say(self, part: str) -> Mask:
        """Return for each record whether its message may have a part; the first record of an exception has the message."""
        if part.isascii() and part.isprintable() and not set(part) & set('"\\/'):
            return self.mention(re.escape(part))
        return np.ones(len(self), bool)  # JSON may escape it

    @property
    def types(self) -> set[str]:
        """The names of the exceptions' types."""
        return self._table.records.channel_names(self.places)
