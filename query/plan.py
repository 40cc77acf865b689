"""The base of query plans: frozen nodes, each of which knows its answer and its text.

A module in `clew.query.operators` holds one operator: its node, its answer on a whole run, its text, and its answer on a run
in parts where the general one is too slow. To add an operator, write such a module, and the fluent method that builds the node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from clew.graph.model.graph import I64
from clew.graph.model.open_run import OpenRun

if TYPE_CHECKING:
    from clew.query.engines.engine import PartsEngine

Condition = tuple[str, str, Any]
"""Field, comparison, value; ("", "call", function) for a function of an event."""
Measure = tuple[str | float, ...]
"""("count",), or what, the field, and for a quantile which one; see `clew.query.operators.group_by`."""


class Node(ABC):
    """One step of a plan. Subclasses are frozen dataclasses; mypy refuses one that lacks an abstract method."""

    noun: ClassVar[str] = "row"
    """The singular of the things that the answer has, for `size`."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Node, ...]:
        """The plans that the step works on; empty where the plan begins."""

    @abstractmethod
    def open_run(self) -> OpenRun:
        """Return the run that the plan is for; for a comparison, the first run."""

    @abstractmethod
    def answer(self) -> Any:
        """Answer the plan on the graph of a whole run."""

    def answer_in_parts(self, engine: PartsEngine) -> Any:
        """Answer the plan for a run in parts; by default on the run put together from all its parts."""
        return self.gathered().execute()

    def execute(self) -> Any:
        """Answer the plan. The answers for a run in parts have the same attributes as those for a whole run."""
        engine = self.open_run().engine
        return self.answer() if engine is None else engine.execute(self)

    def gathered(self) -> Self:
        """Return the same plan for the run put together from all its parts."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # see the class
        changed = {name: value.gathered() for name, value in given.items() if isinstance(value, Node)}
        return replace(self, **changed)  # type: ignore[type-var]

    @abstractmethod
    def step(self) -> str:
        """Write the step as a call in a chain of calls."""

    def spell(self) -> str:
        """Write the plan as a user would."""
        return f"{self.inputs[0].spell()}.{self.step()}"

    def explain(self, indent: str = "", *, counts: bool = False) -> str:
        """List the steps, one per line, the last one first; with `counts`, answer each step and add its size."""
        suffix = f"  ({self.size()})" if counts else ""
        line = f"{indent}{self.step() if self.inputs else self.spell()}{suffix}"
        return "\n".join([line, *(below.explain(indent + "   ", counts=counts) for below in self.inputs)])

    def size(self) -> str:
        """Answer the plan, and describe the size of the answer."""
        return many(len(self.execute()), self.noun)


@dataclass(frozen=True)
class Leaf(Node):
    """A node that a plan begins with."""

    run: OpenRun

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def open_run(self) -> OpenRun:
        return self.run

    def gathered(self) -> Self:
        run = self.run
        return replace(self, run=OpenRun(run.info, run.folder, run.problems, run.graph))

    def spell(self) -> str:
        return f"{self.run!r}.{self.step()}"


@dataclass(frozen=True)
class Step(Node):
    """A node that works on one other node."""

    source: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.source,)

    def open_run(self) -> OpenRun:
        return self.source.open_run()


class EventNode(Node):
    """A plan whose answer is events of the run."""

    noun = "event"

    @abstractmethod
    def chosen(self) -> tuple[I64, bool]:
        """Choose events of a whole run. The flag says that they still have to be put in the order of time: sorting few events
        late is faster than sorting many early."""

    def events(self) -> I64:
        """Return the numbers of the events in the order of the plan, by default that of time."""
        engine = self.open_run().engine
        if engine is not None:
            return engine.events(self)
        rows, by_time = self.chosen()
        return rows[np.argsort(self.open_run().graph.ts[rows], kind="stable")] if by_time else rows

    def answer(self) -> Any:
        return self.events()

    def answer_in_parts(self, engine: PartsEngine) -> Any:
        return self.events_in_parts(engine, ())

    def events_in_parts(self, engine: PartsEngine, conditions: tuple[Condition, ...]) -> I64:
        """Return the events of a run in parts for which the conditions hold, in the order of the plan."""
        return engine.held(self.gathered().events(), conditions)

    def count(self) -> int:
        """Count the events, without sorting them."""
        engine = self.open_run().engine
        return len(self.chosen()[0] if engine is None else engine.events(self))

    def origin(self) -> EventNode:
        """Return the node that the events come from, before they were filtered and sorted."""
        return self

    def size(self) -> str:
        return many(len(self.chosen()[0]), self.noun)


@dataclass(frozen=True)
class Refinement(Step, EventNode):
    """A node that filters, sorts or limits the events of another."""

    source: EventNode

    def origin(self) -> EventNode:
        return self.source.origin()


def many(count: int, noun: str) -> str:
    """Write a count with its noun: `1 event`, `3 categories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def name_of(value: Any) -> str:
    """Write a value in a plan's text; a function by its name."""
    return getattr(value, "__name__", "…") if callable(value) else repr(value)
