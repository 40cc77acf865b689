"""Sort events by a field: `.order_by("-ts")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model.graph import I64
from clew.query.fields import FIELDS, numbers, ranks
from clew.query.plan import Condition, Refinement

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine

SAMPLE = 1 << 16
"""The approximate size of the sample of keys whose bound excludes keys that are too large."""


@dataclass(frozen=True)
class OrderBy(Refinement):
    """Events sorted by a field; events with equal values keep their order."""

    field: str
    descending: bool

    def chosen(self) -> tuple[I64, bool]:
        return self.first(None), False

    def first(self, count: int | None) -> I64:
        """Return the first `count` events of the order; None means all."""
        graph = self.open_run().graph
        rows, by_time = self.source.chosen()
        keys = numbers(graph, rows, self.field) if FIELDS[self.field].is_number else ranks(graph, rows, self.field)[0]
        if self.descending:
            keys = -keys
        if count is not None:
            among = smallest(keys, count)
            rows, keys = rows[among], keys[among]
        if by_time:
            order = np.argsort(graph.ts[rows], kind="stable")
            rows, keys = rows[order], keys[order]
        return rows[np.argsort(keys, kind="stable")][:count]

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        ids = self.source.events_in_parts(engine, conditions)
        values = engine.values(ids, (self.field,))[0]
        distinct = sorted(set(values))
        place = {value: number for number, value in enumerate(distinct)}
        rank = np.array([place[value] for value in values], np.int64)
        return ids[np.argsort(-rank if self.descending else rank, kind="stable")]

    def step(self) -> str:
        return f"order_by({('-' if self.descending else '') + self.field!r})"


def smallest(keys: I64, count: int) -> I64:
    """Return the places of the `count` smallest keys and of all that equal the largest of them, ascending."""
    if count >= len(keys):
        return np.arange(len(keys), dtype=np.int64)
    if not count:
        return np.zeros(0, np.int64)
    sample = keys[:: max(1, len(keys) // SAMPLE)]
    if count < len(sample) < len(keys):
        # This bound admits at least `count` keys of the sample, so it admits the `count` smallest keys of all.
        among = np.flatnonzero(keys <= np.partition(sample, count - 1)[count - 1])
        return among[_within(keys[among], count)]
    return _within(keys, count)


def _within(keys: I64, count: int) -> I64:
    return np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
