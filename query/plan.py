"""Define the base classes of query plans: frozen nodes, each of which computes its answer and writes its text.

A module in `clew.query.operators` holds one operator: its node, its answer for a whole run, its text, and its answer for a
partitioned run where the general one is too slow. To add an operator, write such a module and the fluent method that builds
the node.
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
"""A condition: field, comparison and value, or ("", "call", function) for a function of an event."""
Measure = tuple[str | float, ...]
"""A measure: ("count",), or its kind, the field and, for a quantile, the share; see `clew.query.operators.answers.group_by`."""


class Node(ABC):
    """One step of a plan. Subclasses are frozen dataclasses; mypy refuses one that lacks an abstract method."""

    noun: ClassVar[str] = "row"
    """The singular noun for the items of the answer; `size` uses it."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Node, ...]:
        """Return the plans that the step works on; a leaf has none."""

    @abstractmethod
    def open_run(self) -> OpenRun:
        """Return the run of the plan; for a comparison, the first run."""

    @abstractmethod
    def answer(self) -> Any:
        """Answer the plan on the graph of a whole run."""

    def answer_in_parts(self, engine: PartsEngine) -> Any:
        """Answer the plan for a partitioned run. By default, combine all parts into one graph first."""
        return self.gathered().execute()

    def execute(self) -> Any:
        """Answer the plan. The answers for a partitioned run have the same attributes as those for a whole run."""
        engine = self.open_run().engine
        return self.answer() if engine is None else engine.execute(self)

    def gathered(self) -> Self:
        """Return the same plan for a whole run that combines all parts."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # see the class
        changed = {name: value.gathered() for name, value in given.items() if isinstance(value, Node)}
        return replace(self, **changed)  # type: ignore[type-var]

    @abstractmethod
    def step(self) -> str:
        """Return the text of the step: a call in a chain of calls."""

    def spell(self) -> str:
        """Return the plan as the code that a user would write."""
        return f"{self.inputs[0].spell()}.{self.step()}"

    def explain(self, indent: str = "", *, counts: bool = False) -> str:
        """List the steps, one per line, the last step first. With `counts`, run each step and add the size of its answer."""
        suffix = f"  ({self.size()})" if counts else ""
        line = f"{indent}{self.step() if self.inputs else self.spell()}{suffix}"
        return "\n".join([line, *(below.explain(indent + "   ", counts=counts) for below in self.inputs)])

    def size(self) -> str:
        """Run the plan and describe the size of the answer, such as `3 events`."""
        return many(len(self.execute()), self.noun)


@dataclass(frozen=True)
class Leaf(Node):
    """A node without inputs, at the start of a plan."""

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
        """Return the chosen events of a whole run, and whether they must still be sorted by time.

        Sorting few events late is faster than sorting many early."""

    def events(self) -> I64:
        """Return the numbers of the events in the order of the plan, by default sorted by time."""
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
        """Return the events of a partitioned run for which the conditions hold, in the order of the plan."""
        return engine.filtered(self.gathered().events(), conditions)

    def count(self) -> int:
        """Count the events, without sorting them."""
        engine = self.open_run().engine
        return len(self.chosen()[0] if engine is None else engine.events(self))

    def origin(self) -> EventNode:
        """Return the node that produces the events, below all filters, sorts and limits."""
        return self

    def size(self) -> str:
        return many(len(self.chosen()[0]), self.noun)


@dataclass(frozen=True)
class Refinement(Step, EventNode):
    """A node that filters, sorts or limits the events of another node."""

    source: EventNode

    def origin(self) -> EventNode:
        return self.source.origin()


def many(count: int, noun: str) -> str:
    """Return a count with its noun: `1 event`, `3 categories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def name_of(value: Any) -> str:
    """Return the text of a value in a plan: the name of a function, or the `repr` of another value."""
    return getattr(value, "__name__", "…") if callable(value) else repr(value)
