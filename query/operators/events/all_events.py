"""Select all events of a run: `run.events`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model.graph import I64
from clew.query.plan import Condition, EventNode, Leaf

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Events(Leaf, EventNode):
    """All events."""

    def chosen(self) -> tuple[I64, bool]:
        return np.arange(len(self.run.graph), dtype=np.int64), True

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        from clew.query.engines.worker import EVERYTHING

        return engine.by_time(EVERYTHING, conditions)

    def step(self) -> str:
        return "events"
