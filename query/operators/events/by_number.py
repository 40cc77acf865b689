"""Select events by number: the roots of `run.slice(3, 4)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.model.graph import I64
from clew.query.plan import Condition, EventNode, Leaf

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class ByNumber(Leaf, EventNode):
    """Events by number, in the order given."""

    numbers: tuple[int, ...]

    def chosen(self) -> tuple[I64, bool]:
        return np.array(self.numbers, np.int64), False

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        return engine.filtered(engine.checked(np.array(self.numbers, np.int64)), conditions)

    def step(self) -> str:
        return f"slice({self.listed()})"

    def listed(self) -> str:
        """Return the numbers as the text of arguments."""
        return ", ".join(map(str, self.numbers))
