"""Queries whose answers are graphs or tables: aggregates, critical paths, comparisons, rows.

Invariant: as in `clew.query.api`, a query is a frozen value and runs when its answer is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from clew.graph.errors import QueryError, check_whole
from clew.graph.model.gaps import gap_table
from clew.graph.model.graph import Gap
from clew.graph.model.levels import LabelFunction
from clew.graph.model.machines import Machine
from clew.graph.ops.aggregation.aggregate import AggregateEdge, AggregateGraph, AggregateNode
from clew.graph.ops.diff import Diff, DiffRow
from clew.graph.ops.flows.categories import Category, category_table
from clew.graph.ops.timing.cost_path import CostPath, CostSegment, EdgeCost, VertexCost
from clew.graph.ops.timing.critical_path import Branch, CriticalPath, Segment
from clew.graph.ops.timing.what_if import WhatIf
from clew.graph.render.display import ROWS, aggregate_svg, html_table, path_svg, rich_table
from clew.graph.render.table import Column, Table, table_of
from clew.query.operators.answers.aggregate import Aggregate
from clew.query.operators.answers.categories import CategoriesOf
from clew.query.operators.answers.compare import Compare
from clew.query.operators.answers.cost_path import CostPathOf
from clew.query.operators.answers.critical_path import PathOf
from clew.query.operators.answers.gaps import Gaps
from clew.query.operators.answers.group_by import GroupBy, check_measure
from clew.query.operators.answers.machines import Machines
from clew.query.operators.answers.neighbours import NeighboursOf
from clew.query.operators.answers.select import Select
from clew.query.operators.events.slice import SliceOf
from clew.query.plan import EventNode, Node
from clew.query.to_networkx import path_to_networkx, to_networkx

if TYPE_CHECKING:
    import networkx
    import pandas
    import pyarrow
    import rich.console


class StepRefused(QueryError, AttributeError):
    """Raised for a step that this kind of query lacks; `hasattr` treats it as a missing attribute."""


class Query(ABC):
    """The base class of all queries. `node` is the plan."""

    node: Node
    _INSTEAD: ClassVar[Mapping[str, str]] = {}

    def explain(self, *, counts: bool = False) -> str:
        """Return the plan as text: a step per line, the last step first. With `counts`, each step runs and the text shows the
        size of its answer."""
        return self.node.explain(counts=counts)

    def _head(self) -> tuple[Table, int]:
        """Return the first rows of the answer as a table, and the number of all rows."""
        table = self.table
        return table.head(ROWS), len(table)

    def __rich__(self) -> rich.console.Group:
        return rich_table(repr(self), *self._head())

    def _repr_html_(self) -> str:
        image: str = getattr(self, "_repr_svg_", str)()
        return image + html_table(repr(self), *self._head())

    def __repr__(self) -> str:
        return self.node.spell()

    if not TYPE_CHECKING:  # a type checker must still report unknown steps

        def __getattr__(self, name: str) -> NoReturn:
            if name in self._INSTEAD:
                raise StepRefused(self._INSTEAD[name])
            raise AttributeError(f"{type(self).__name__} has no {name!r}")

    @property
    @abstractmethod
    def table(self) -> Table:
        """Return the answer as a table."""

    def _answer(self) -> Any:
        return self.node.execute()


NO_PATH = (
    'a critical path needs a slice in one direction and to the end: write .slice("backward") or .slice("forward"), '
    "without until=…"
)
NEEDS_SLICE = "a critical path needs a slice: write run.events.where(…).slice().critical_path()"


NODE_FIELDS = (
    "id", "label", "kind", "events", "calls", "self_ns", "total_ns", "waiting_ns", "errors", "first_ns", "last_ns", "process",
    "processor_ns", "gil_ns", "blocked_ns",
)  # fmt: skip
SEGMENT_FIELDS = ("label", "start", "end", "self_ns", "wait_ns", "slack_ns", "first_event", "last_event")
COST_FIELDS = ("label", "cost", "start", "end", "first_event", "last_event")
ROW_FIELDS = (
    "label", "status", "calls_before", "calls_after", "self_before_ns", "self_after_ns", "delta_ns", "factor", "certain_ns",
)  # fmt: skip
"""The attributes of nodes, segments and compared labels that become columns of a table."""


@dataclass(frozen=True, repr=False)
class AggregateQuery(Query):
    """A query for an aggregate graph."""

    node: Aggregate
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "slice": "slice before you aggregate: write .slice(…).aggregate(LEVEL)",
        "where": "choose the events before you aggregate: write run.events.where(…).slice().aggregate(LEVEL)",
        "select": "an aggregate has nodes, not rows: iterate over .nodes, or write .slice().select(FIELD)",
    }

    def critical_path(self, *, until: Query | None = None) -> PathQuery:
        """Return the critical path of the aggregated slice, in the labels of this level; see `SliceQuery.critical_path`."""
        if not isinstance(self.node.source, SliceOf):
            raise QueryError(NEEDS_SLICE)
        return path_of(self.node.source, self.node.level, until)

    def costliest_path(
        self,
        *,
        vertex_cost: VertexCost | None = None,
        edge_cost: EdgeCost | None = None,
        until: Query | None = None,
    ) -> CostPathQuery:
        """Return the costliest path of the aggregated slice, in the labels of this level; see `SliceQuery.costliest_path`."""
        if not isinstance(self.node.source, SliceOf):
            raise QueryError(NEEDS_SLICE)
        return cost_path_of(self.node.source, self.node.level, vertex_cost, edge_cost, until)

    def diff(self, after: AggregateQuery) -> DiffQuery:
        """Compare this aggregate with another aggregate of the same level."""
        if not isinstance(after, AggregateQuery):
            raise QueryError(
                f"an aggregate is compared with another one: write .diff(other.slice().aggregate({self.node.level!r}))"
            )
        if after.node.level != self.node.level:
            raise QueryError(
                f"only aggregates of one level can be compared; these have {self.node.level!r} and {after.node.level!r}"
            )
        return DiffQuery(Compare(self.node, after.node))

    @cached_property
    def result(self) -> AggregateGraph:
        result: AggregateGraph = self._answer()
        return result

    @property
    def nodes(self) -> list[AggregateNode]:
        return self.result.nodes

    @property
    def edges(self) -> list[AggregateEdge]:
        return self.result.edges

    def by_label(self) -> AggregateGraph:
        return self.result.by_label()

    def count(self) -> int:
        return len(self.result)

    def __iter__(self) -> Iterator[AggregateNode]:
        return iter(self.nodes)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a graph of the nodes and edges, with their fields as attributes; needs networkx."""
        return to_networkx(self.result)

    def _repr_svg_(self) -> str:
        return aggregate_svg(self.result)

    @property
    def table(self) -> Table:
        """Return a table with a row per node."""
        return table_of(self.nodes, NODE_FIELDS)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


@dataclass(frozen=True, repr=False)
class PathQuery(Query):
    """A query for a critical path."""

    node: PathOf

    @cached_property
    def result(self) -> CriticalPath:
        result: CriticalPath = self._answer()
        return result

    @property
    def segments(self) -> list[Segment]:
        return self.result.segments

    @property
    def total_ns(self) -> int:
        return self.result.total_ns

    def project(self, level: str | LabelFunction) -> PathQuery:
        """Return the same path in the labels of another level."""
        return PathQuery(PathOf(self.node.source, level, self.node.until))

    def branches(self) -> list[Branch]:
        """Return the branches that the path also waited for, with their slack."""
        return self.result.branches()

    def what_if(self, label: str, percent: float) -> WhatIf:
        """Estimate the time saved if the work of a label were `percent` % faster: `.what_if("app:parse", 10).saved_ns`."""
        return self.result.what_if(label, percent)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a graph: a node per segment with its fields, and an edge to the next segment; needs networkx."""
        return path_to_networkx(self.result)

    def _repr_svg_(self) -> str:
        return path_svg(self.result)

    def count(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    @property
    def table(self) -> Table:
        """Return a table with a row per segment."""
        return table_of(self.segments, SEGMENT_FIELDS)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


@dataclass(frozen=True, repr=False)
class CostPathQuery(Query):
    """A query for the costliest path."""

    node: CostPathOf

    @cached_property
    def result(self) -> CostPath:
        result: CostPath = self._answer()
        return result

    @property
    def segments(self) -> list[CostSegment]:
        return self.result.segments

    @property
    def total(self) -> float:
        return self.result.total

    def count(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[CostSegment]:
        return iter(self.segments)

    @property
    def table(self) -> Table:
        """Return a table with a row per segment."""
        return table_of(self.segments, COST_FIELDS)


def path_of(cut: SliceOf, level: str | LabelFunction, until: Query | None) -> PathQuery:
    """Return the critical path of a slice. Raises `QueryError` for a slice in both directions or with an early stop, and for an
    `until` that is no events of the same run.
    """
    return PathQuery(PathOf(_one_way(cut), level, _end_of(cut, until)))


def cost_path_of(
    cut: SliceOf,
    level: str | LabelFunction,
    vertex_cost: VertexCost | None,
    edge_cost: EdgeCost | None,
    until: Query | None,
) -> CostPathQuery:
    """Return the costliest path of a slice. Raises `QueryError` as `path_of` does, and without a function."""
    given = [cost for cost in (vertex_cost, edge_cost) if cost is not None]
    if not given or not all(callable(cost) for cost in given):
        raise QueryError(
            "give vertex_cost=…, a function of an event, or edge_cost=…, a function of two events, or both"
        )
    return CostPathQuery(CostPathOf(_one_way(cut), level, vertex_cost, edge_cost, _end_of(cut, until)))


def _one_way(cut: SliceOf) -> SliceOf:
    if not cut.goes_one_way:
        raise QueryError(NO_PATH)
    return cut


def _end_of(cut: SliceOf, until: Query | None) -> EventNode | None:
    if until is None:
        return None
    node = until.node if isinstance(until, Query) else None
    if not isinstance(node, EventNode) or node.open_run() is not cut.open_run():
        raise QueryError("until=… has to be events of the same run: write until=run.events.where(…)")
    return node


@dataclass(frozen=True, repr=False)
class DiffQuery(Query):
    """A query for the differences between two aggregates."""

    node: Compare

    @cached_property
    def result(self) -> Diff:
        result: Diff = self._answer()
        return result

    @property
    def rows(self) -> list[DiffRow]:
        return self.result.rows

    def sentence(self) -> str:
        return self.result.sentence()

    def count(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[DiffRow]:
        return iter(self.rows)

    @property
    def table(self) -> Table:
        """Return a table with a row per label."""
        return table_of(self.rows, ROW_FIELDS)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


@dataclass(frozen=True, repr=False)
class TableQuery(Query):
    """A query whose answer is a table. An operator with steps or hints of its own has a subclass."""

    node: Node

    @property
    def table(self) -> Table:
        return self.result

    @cached_property
    def result(self) -> Table:
        result: Table = self._answer()
        return result

    def count(self) -> int:
        return len(self.result)

    def first(self) -> Any:
        """Return the first row; None if the answer is empty."""
        return next(iter(self.result.head(1).rows), None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.result.rows)

    def to_arrow(self) -> pyarrow.Table:
        return self.result.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.result.to_pandas()


@dataclass(frozen=True, repr=False)
class Rows(TableQuery):
    """Some fields of events: a named tuple per event."""

    node: Select
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        name: f"fields are selected last: write .{name}(…) before .select(…)"
        for name in ("where", "order_by", "limit", "slice", "aggregate", "group_by", "agg")
    }


@dataclass(frozen=True, repr=False)
class Neighbours(TableQuery):
    """A row per event and neighbour: `event`, `role` ("cause" or "effect"), `kind`, `channel`, `edge`, `neighbour`."""

    node: NeighboursOf
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        name: f"neighbours are rows: write .{name}(…) before .neighbours(), or continue with "
        "run.slice(*(row.neighbour for row in …))"
        for name in ("where", "order_by", "limit", "slice", "select", "group_by")
    }


@dataclass(frozen=True, repr=False)
class CategoryQuery(Query):
    """Categories of requests, the largest first."""

    node: CategoriesOf
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        name: f"choose the requests first: write run.requests.{name}(…).categories()"
        for name in ("where", "named", "limit")
    }

    @cached_property
    def result(self) -> list[Category]:
        result: list[Category] = self._answer()
        return result

    def count(self) -> int:
        return len(self.result)

    def __iter__(self) -> Iterator[Category]:
        return iter(self.result)

    @property
    def table(self) -> Table:
        """Return a table with a row per category: `category`, `name`, `requests`, `first`, `flow`."""
        return category_table(self.result)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


@dataclass(frozen=True, repr=False)
class GapQuery(Query):
    """A query for gaps, where events are missing, by strand and event."""

    node: Gaps
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "where": 'gaps are rows: write [gap for gap in run.gaps if …], or run.sql("select * from gaps where …")',
        "slice": "a slice begins at events: write run.slice(gap.after), or run.slice(gap.before)",
    }

    @cached_property
    def result(self) -> list[Gap]:
        result: list[Gap] = self._answer()
        return result

    def count(self) -> int:
        return len(self.result)

    def __iter__(self) -> Iterator[Gap]:
        return iter(self.result)

    @property
    def table(self) -> Table:
        """Return a table with a row per gap: place, time, reason, and the number `lost` of events.

        If only calls of `function` are missing, `lost` counts these calls.
        """
        return gap_table(self.node.run.graph)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


def machine_table(machines: Sequence[Machine]) -> Table:
    """Return the table of machines; unknown bounds are None."""
    table = table_of(machines, ("name", "boot_id", "offset_ns", "rate", "messages", "clock"))
    for name in ("below_ns", "above_ns"):
        bounds = (getattr(machine, name) for machine in machines)
        # The last value gives the column its type.
        known = [*(bound if isfinite(bound) else None for bound in bounds), 0.0]
        table.columns[name] = Column(np.arange(len(machines)), known)
    return table


@dataclass(frozen=True, repr=False)
class MachineQuery(Query):
    """A query for the machines of the run and their clock corrections."""

    node: Machines

    @cached_property
    def result(self) -> list[Machine]:
        result: list[Machine] = self._answer()
        return result

    def count(self) -> int:
        return len(self.result)

    def __iter__(self) -> Iterator[Machine]:
        return iter(self.result)

    @property
    def table(self) -> Table:
        """Return a table with a row per machine; unknown bounds are None."""
        return machine_table(self.result)

    def to_arrow(self) -> pyarrow.Table:
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        return self.table.to_pandas()


@dataclass(frozen=True, repr=False)
class Groups(TableQuery):
    """A row per group of events: the fields they are grouped by, and the measures."""

    node: GroupBy
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "where": "events are chosen before they are grouped: write .where(…).group_by(FIELD)",
        "select": "a group has its fields and measures already: name the ones you want in .group_by(…).agg(…)",
        "slice": "a slice begins at events: write .slice(…).group_by(FIELD)",
        "aggregate": "groups are rows; for a graph write .slice().aggregate(LEVEL)",
    }

    def order_by(self, name: str) -> Groups:
        """Sort by a field or measure; "-" before its name sorts in descending order. Groups without a value come last."""
        node = self.node
        known = (*node.by, *(measure for measure, _ in node.measures))
        if name.removeprefix("-") not in known:
            raise QueryError(f"these groups have no {name.removeprefix('-')!r}; they have {', '.join(known)}")
        if node.most is not None:
            raise QueryError("sort before you limit: write .order_by(…).limit(…)")
        return Groups(replace(node, order=((name.removeprefix("-"), name.startswith("-")), *node.order)))

    def limit(self, count: int) -> Groups:
        """Keep only the first groups."""
        first = check_whole(count, "a limit of", ": give 0 or more, a whole number")
        least = first if self.node.most is None else min(first, self.node.most)
        return Groups(replace(self.node, most=least))


@dataclass(frozen=True)
class Grouping:
    """A grouping of events; `agg` selects the measures of each group."""

    source: EventNode
    by: tuple[str, ...]

    def agg(self, **measures: str | tuple[str | float, ...]) -> Groups:
        """Return a row per group. A measure is "count", or ("sum", FIELD), with min, max, mean or distinct in place of sum, or
        ("quantile", FIELD, 0.95). Raises `QueryError` for an invalid measure."""
        if not measures:
            raise QueryError('name a measure of each group: write .group_by(FIELD).agg(count="count")')
        twice = set(self.by) & set(measures)
        if twice:
            raise QueryError(f"{min(twice)!r} is a field of these groups: give the measure another name")
        checked = tuple((name, check_measure(name, measure)) for name, measure in measures.items())
        return Groups(GroupBy(self.source, self.by, checked))

    def count(self) -> Groups:
        """Return a row per group with its `count`."""
        return self.agg(count="count")
