"""Select fields of events, as rows: `.select("text")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.render.table import Column, Table
from clew.query.fields import column
from clew.query.plan import EventNode, Step

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Select(Step):
    """Some fields of each event."""

    source: EventNode
    names: tuple[str, ...]

    def answer(self) -> Table:
        graph, rows = self.open_run().graph, self.source.events()
        return Table({name: column(graph, rows, name) for name in self.names})

    def answer_in_parts(self, engine: PartsEngine) -> Table:
        ids = self.source.events_in_parts(engine, ())
        places, values = np.arange(len(ids)), engine.values(ids, self.names)
        return Table({name: Column(places, column) for name, column in zip(self.names, values, strict=True)})

    def step(self) -> str:
        return f"select({', '.join(map(repr, self.names))})"
