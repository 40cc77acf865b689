"""Filter events by conditions: `.where(level="ERROR")`.

Invariant: cheap conditions are tried first, so that a text is decoded only for events that every other condition admits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.graph import I64, ExecutionGraph
from clew.query.fields import FIELDS, OF_TEXT, filter_rows
from clew.query.operators.events.all_events import Events
from clew.query.plan import Condition, Refinement, name_of
from clew.query.scan import choose

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine


@dataclass(frozen=True)
class Where(Refinement):
    """Events for which all conditions hold."""

    conditions: tuple[Condition, ...]

    def chosen(self) -> tuple[I64, bool]:
        graph = self.open_run().graph
        if isinstance(self.source, Events):
            rows, rest = choose(graph, self.conditions)
            return matching(graph, rows, tuple(rest)), True
        rows, by_time = self.source.chosen()
        return matching(graph, rows, self.conditions), by_time

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        return self.source.events_in_parts(engine, (*self.conditions, *conditions))

    def step(self) -> str:
        return f"where({', '.join(_condition(*condition) for condition in self.conditions)})"


def matching(graph: ExecutionGraph, rows: I64, conditions: tuple[Condition, ...]) -> I64:
    """Return the given events for which all conditions hold."""
    costs = {name: field.cost for name, field in FIELDS.items()} | {"": 10}
    for field, comparison, operand in sorted(conditions, key=lambda condition: costs[condition[0]]):
        if comparison == "call":
            rows = rows[np.array([bool(operand(graph.event(row))) for row in rows.tolist()], bool)]
            continue
        rows = filter_rows(graph, rows, field, comparison, operand)
    return rows


def _condition(field: str, comparison: str, value: Any) -> str:
    if comparison == "call":
        return name_of(value)
    if field == "level" and comparison not in OF_TEXT:
        value = tuple(map(_level, value)) if comparison == "in" else _level(value)
    return f"{field}{'' if comparison == 'eq' else '__' + comparison}={value!r}"


def _level(number: int) -> str | int:
    return LEVEL_NAMES.get(number, number)
