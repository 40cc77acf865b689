"""What a query's plan is made of: frozen values, which `execute` answers and `spelling` writes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any, Protocol, SupportsIndex

from clew.graph.event import Event
from clew.graph.levels import LabelFunction
from clew.graph.model import I64, ExecutionGraph
from clew.graph.ops.aggregate import Reduce
from clew.graph.ops.parts import Direction
from clew.graph.ops.slice import EdgeFilter
from clew.records.errors import ClewError, Problem
from clew.records.run import RunInfo

Condition = tuple[str, str, Any]
"""Field, comparison, value; ("", "call", function) for a function of an event."""


Measure = tuple[str | float, ...]
"""("count",), or what, the field, and for a quantile which one; see `clew.graph.grouping`."""


class QueryError(ClewError):
    """A query that makes no sense; the text says what to write instead."""


def check_whole(value: object, what: str, remedy: str) -> int:
    """Raises `QueryError` unless it is a whole number, 0 or more."""
    number = index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else -1
    if number < 0:
        raise QueryError(f"{what} {value!r}{remedy}")
    return number


class Engine(Protocol):
    """Answers plans, as `execute` does."""

    def execute(self, node: Node) -> Any: ...
    def events(self, node: EventNode) -> I64:
        """As `execute_events`."""

    def records(self, ids: I64) -> Sequence[Any]:
        """Some events by number, each with the attributes of an `Event`."""

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A recorded run whose graph is at hand."""

    info: RunInfo
    folder: Path
    problems: list[Problem]
    graph: ExecutionGraph
    engine: Engine | None = None
    """What answers questions to the run; None: `execute`, on the graph."""

    def __repr__(self) -> str:
        return f"run({self.info.id!r})"


@dataclass(frozen=True)
class Events:
    run: OpenRun


@dataclass(frozen=True)
class Chosen:
    run: OpenRun
    events: tuple[int, ...]


@dataclass(frozen=True)
class Requests:
    run: OpenRun
    name: str | None = None


@dataclass(frozen=True)
class Gaps:
    """Where events are missing."""

    run: OpenRun


@dataclass(frozen=True)
class Machines:
    run: OpenRun


@dataclass(frozen=True)
class Strands:
    """Threads and tasks; with `name` those whose `process / strand` has that in it."""

    run: OpenRun
    name: str = ""


@dataclass(frozen=True)
class Where:
    source: EventNode
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class OrderBy:
    source: EventNode
    field: str
    descending: bool


@dataclass(frozen=True)
class Limit:
    source: EventNode
    count: int


@dataclass(frozen=True)
class Cut:
    """A slice."""

    source: EventNode
    direction: Direction
    max_hops: int | None = None
    max_network_hops: int | None = None
    edge_filter: EdgeFilter | None = field(default=None, compare=False)
    edge_kinds: tuple[str, ...] | None = None
    """The kinds of edges that are followed; None: all."""
    until: EventNode | Callable[[Event], bool] | None = None
    """The events that nothing is followed behind."""


@dataclass(frozen=True)
class Columns:
    source: EventNode
    names: tuple[str, ...]


@dataclass(frozen=True)
class Grouped:
    """Rows of groups: the fields `by`, then the measures, by their names."""

    source: EventNode
    by: tuple[str, ...]
    measures: tuple[tuple[str, Measure], ...]
    order: tuple[tuple[str, bool], ...] = ()
    """What the rows are sorted by, and whether downwards; the last first."""
    count: int | None = None
    """How many rows there are at most."""


@dataclass(frozen=True)
class Beside:
    """What is one edge away from each event."""

    source: EventNode


@dataclass(frozen=True)
class Kinds:
    """Requests by the structure of their flows."""

    source: EventNode
    level: str | LabelFunction


@dataclass(frozen=True)
class Aggregate:
    source: Cut | Events
    level: str | LabelFunction
    reduce: Reduce | None = None


@dataclass(frozen=True)
class PathNode:
    source: Cut
    level: str | LabelFunction


@dataclass(frozen=True)
class Compare:
    before: Aggregate
    after: Aggregate


EventNode = Events | Chosen | Requests | Where | OrderBy | Limit | Cut
Node = EventNode | Gaps | Machines | Strands | Columns | Grouped | Beside | Kinds | Aggregate | PathNode | Compare


def run_of(node: Node) -> OpenRun:
    """The run that a plan asks (of a comparison the first one)."""
    while not isinstance(node, Events | Chosen | Requests | Gaps | Machines | Strands):
        node = node.before if isinstance(node, Compare) else node.source
    return node.run
