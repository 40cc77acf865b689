"""Limit a query to its first events: `.limit(10)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model.graph import I64
from clew.query.operators.events.order_by import OrderBy, smallest
from clew.query.plan import Condition, Refinement

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Limit(Refinement):
    """The first `most` events."""

    most: int

    def chosen(self) -> tuple[I64, bool]:
        if isinstance(self.source, OrderBy):
            return self.source.first(self.most), False
        rows, by_time = self.source.chosen()
        if not by_time:
            return rows[: self.most], False
        keys = self.open_run().graph.ts[rows]
        among = smallest(keys, self.most)
        return rows[among[np.argsort(keys[among], kind="stable")[: self.most]]], False

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        return engine.filtered(self.source.events_in_parts(engine, ())[: self.most], conditions)

    def step(self) -> str:
        return f"limit({self.most})"
