"""Build queries on a run step by step; a query runs when its answer is read.

Invariants: a query is a frozen value, and building a query does not run it. The nodes of its plan (`clew.query.plan`) answer
it. An invalid step raises an error that says how to correct it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from clew.graph.errors import QueryError, check_whole
from clew.graph.model.event import Event
from clew.graph.model.gaps import touching
from clew.graph.model.graph import Gap
from clew.graph.model.levels import LabelFunction
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.aggregation.aggregate import Reduce
from clew.graph.ops.flows.flows import Flows, flows_of
from clew.graph.ops.slicing.dominators import Dominators
from clew.graph.ops.slicing.interval import EdgeFilter, Slice
from clew.graph.ops.slicing.two_way import Direction, Part
from clew.graph.ops.timing.cost_path import EdgeCost, VertexCost
from clew.graph.render.display import ROWS, slice_svg
from clew.graph.render.table import Table
from clew.graph.runtime.progress import Progress, no_progress
from clew.graph.store.store import open_graph
from clew.query.fields import FIELDS, check_condition, check_field
from clew.query.operators.answers.aggregate import Aggregate
from clew.query.operators.answers.categories import CategoriesOf
from clew.query.operators.answers.gaps import Gaps
from clew.query.operators.answers.machines import Machines
from clew.query.operators.answers.neighbours import NeighboursOf
from clew.query.operators.answers.select import Select
from clew.query.operators.answers.strands import Strands
from clew.query.operators.events.all_events import Events
from clew.query.operators.events.by_number import ByNumber
from clew.query.operators.events.limit import Limit
from clew.query.operators.events.order_by import OrderBy
from clew.query.operators.events.requests import Requests
from clew.query.operators.events.slice import SliceOf
from clew.query.operators.events.where import Where
from clew.query.plan import Condition, EventNode
from clew.query.results import (
    NEEDS_SLICE,
    AggregateQuery,
    CategoryQuery,
    CostPathQuery,
    GapQuery,
    Grouping,
    Groups,
    MachineQuery,
    Neighbours,
    PathQuery,
    Query,
    Rows,
    cost_path_of,
    path_of,
)
from clew.query.sql import SqlRows, ask
from clew.query.strands import StrandQuery
from clew.query.to_networkx import slice_to_networkx
from clew.records.format.event import EdgeKind
from clew.records.run.directory import load_run, workspace_of

if TYPE_CHECKING:
    import networkx
    import numpy as np
    import numpy.typing as npt
    import pandas
    import pyarrow

    from clew.compare.localize.ranking import Localization
    from clew.compare.requests.diff import Mutations


def open_run(
    path: str | PathLike[str] | None = None,
    *,
    workspace: str | PathLike[str] | None = None,
    engine: str | None = None,
    progress: Progress = no_progress,
    spare: bool = False,
) -> Run:
    """Open a recorded run, or import a trace that another tool wrote.

    `path` is the folder, id or name of a run; the default is the newest run. It may also be a trace (OTLP, Jaeger, Zipkin,
    Chrome, vector clocks), which is imported first; commas separate several files of one trace. `workspace` is the folder
    that contains `.clew`, by default the nearest folder upwards. The function builds the store when it is missing or old. It
    calls `progress` with the name of the current step, the amount done and the total; an exception from `progress` ends the
    function. `spare` suits processes that keep runs open for long: a large run takes memory only for the data that is read.
    Raises `ClewError` if the run does not exist or the trace is damaged.

    `path` may also be a partitioned run (`clew cluster partition`): a folder, or a URL of an object store. `engine` selects
    the engine that answers for its partitions: "local", the default, in this process; "ray", or the address of a Ray cluster,
    "ray://HOST:PORT"."""
    if engine is not None:
        from clew.query.engines.open import check_engine

        check_engine(engine)
    if path is not None:
        from clew.query.engines.partition_files import is_partitioned

        if is_partitioned(str(path)):
            from clew.query.engines.open import open_parts

            return open_parts(str(path), engine)
    if engine not in (None, "local"):
        named = path if path is not None else "the newest run"
        raise QueryError(
            f"{named}: not a partitioned run, which the engine {engine!r} needs; "
            "make one with `clew cluster partition RUN -o FOLDER`"
        )
    base = Path(workspace) if workspace is not None else workspace_of(Path.cwd())
    given = isinstance(path, Path) and path.is_dir()
    if given:
        folder = Path(str(path))
    else:
        from clew.graph.formats.import_run import run_folder

        folder = run_folder(base, None if path is None else str(path), progress)
    info = load_run(folder)
    graph, problems = open_graph(folder, progress, spare=spare)
    return Run(info, folder.resolve(), problems, graph)


class Run(OpenRun):
    """A recorded run, and the queries on it."""

    @property
    def events(self) -> EventQuery:
        """Return all recorded events."""
        return EventQuery(Events(self))

    @property
    def requests(self) -> RequestQuery:
        """Return the requests: calls that the spec marks as the root of a flow."""
        return RequestQuery(Requests(self))

    @property
    def gaps(self) -> GapQuery:
        """List the gaps, where events are missing: strand, events before and after, start, end, count and reason."""
        return GapQuery(Gaps(self))

    @property
    def machines(self) -> MachineQuery:
        """List the machines of the run, with the correction of each clock and its bounds."""
        return MachineQuery(Machines(self))

    @property
    def strands(self) -> StrandQuery:
        """Return the threads and tasks; `.patterns()` finds the call sequences that they repeat."""
        return StrandQuery(Strands(self))

    def slice(self, *events: int, direction: Direction = "backward", **options: Any) -> SliceQuery:
        """Return the slice of the events with these numbers."""
        remedy = "; give numbers of events, or write run.events.where(…).slice()"
        chosen = tuple(check_whole(event, "a slice starts at events of the run, not at", remedy) for event in events)
        return EventQuery(ByNumber(self, chosen)).slice(direction, **options)

    def aggregate(self, level: str | LabelFunction, reduce: Reduce | None = None) -> AggregateQuery:
        """Aggregate the whole run."""
        return AggregateQuery(Aggregate(Events(self), level, reduce))

    def sql(self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = (), /, **given: Any) -> SqlRows:
        """Run a SELECT with DuckDB on the tables of the run (`docs/store.md`) and on results passed by name.

        Example: `run.sql("select kind, count(*) from picked group by kind", picked=run.events.where(level="ERROR"))`.
        `parameters` fill the placeholders ? or $name in the statement. Raises `SqlError`."""
        return ask(self.graph, statement, parameters, given)


SHOWN = ("id", "ts", "process", "strand", "kind", "level", "function", "text")
"""The fields that an answer shows by default."""


@dataclass(frozen=True, repr=False)
class EventQuery(Query):
    """A query for events, sorted by time by default."""

    node: EventNode
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "critical_path": NEEDS_SLICE,
        "costliest_path": NEEDS_SLICE,
        "diff": "two runs are compared by their aggregates: write a.slice().aggregate(LEVEL).diff(b.slice().aggregate(LEVEL))",
        "categories": "only requests have categories: write run.requests.categories(), or .named(NAME).categories()",
        "named": "only requests have names: write run.requests.named(NAME), or run.events.where(function=NAME)",
        "aggregate": "events are aggregated with what they led to: write .slice().aggregate(LEVEL), or run.aggregate(LEVEL)",
    }

    def where(self, *tests: Callable[[Event], bool], **conditions: Any) -> EventQuery:
        """Keep the events that meet all conditions.

        A condition is FIELD=VALUE or FIELD__COMPARISON=VALUE, such as `level__ge="ERROR"` or `text__contains="failed"`. A test
        is a function of an `Event`. Raises `QueryError` for an unknown field.
        """
        return EventQuery(Where(self.node, _conditions(tests, conditions)))

    def order_by(self, field: str) -> EventQuery:
        """Sort by a field; "-" before its name sorts in descending order. The sort is stable."""
        name = str(field)
        return EventQuery(OrderBy(self.node, check_field(name.removeprefix("-")), name.startswith("-")))

    def limit(self, count: int) -> EventQuery:
        """Keep only the first events."""
        return EventQuery(Limit(self.node, check_whole(count, "a limit of", ": give 0 or more, a whole number")))

    def slice(
        self,
        direction: Direction = "backward",
        *,
        max_hops: int | None = None,
        max_network_hops: int | None = None,
        edge_kinds: Sequence[str] | None = None,
        edge_filter: EdgeFilter | None = None,
        until: EventQuery | Callable[[Event], bool] | None = None,
    ) -> SliceQuery:
        """Return the slice of these events: their causes ("backward"), their effects ("forward"), or both.

        `max_hops` limits the edges on a path, `max_network_hops` the edges between processes. The slice follows `edge_kinds`
        ("use", "sync" and "state"; by default all), limited to the edges that `edge_filter` admits (one truth value per edge,
        or a function of the edge number). `until`, events of this run or a function of an event, ends the slice: it includes
        these events and does not continue past them.
        """
        if direction not in ("forward", "backward", "both"):
            raise QueryError(f'a slice goes "forward" or "backward", or "both", not {direction!r}')
        for name, limit in (("max_hops", max_hops), ("max_network_hops", max_network_hops)):
            if limit is not None:
                check_whole(limit, f"{name} is", "; give 0 or more, or None for no limit")
        kinds = None if edge_kinds is None else _edge_kinds(edge_kinds)
        stop = _until(self.node, until)
        return SliceQuery(SliceOf(self.node, direction, max_hops, max_network_hops, edge_filter, kinds, stop))

    def select(self, *names: str) -> Rows:
        """Return some fields of each event, as rows."""
        return _select(self.node, names)

    @property
    def table(self) -> Table:
        return self.select(*FIELDS).result

    def _head(self) -> tuple[Table, int]:
        return EventQuery(Limit(self.node, ROWS)).select(*SHOWN).result, self.count()

    @cached_property
    def _rows(self) -> npt.NDArray[np.int64]:
        return self.node.events()

    def ids(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the events."""
        return self._rows

    def count(self) -> int:
        # A count does not need sorted events.
        return len(self._rows) if "_rows" in self.__dict__ else self.node.count()

    def first(self) -> Event | None:
        return next(iter(self), None)

    def __iter__(self) -> Iterator[Event]:
        run = self.node.open_run()
        if run.engine is not None:
            return iter(run.engine.records(self._rows))
        return (run.graph.event(row) for row in self._rows.tolist())

    def group_by(self, *names: str) -> Grouping:
        """Group by the values of some fields; `.agg(…)` selects the measures of each group."""
        if not names:
            raise QueryError(f"name the fields to group by, or write .agg(…) for all events: {', '.join(FIELDS)}")
        if len(set(names)) < len(names):
            raise QueryError("a field is named twice in group_by")
        return Grouping(self.node, tuple(check_field(name) for name in names))

    def agg(self, **measures: str | tuple[str | float, ...]) -> Groups:
        """Return measures of all these events, as one row; see `Grouping.agg`."""
        return Grouping(self.node, ()).agg(**measures)

    def neighbours(self) -> Neighbours:
        """Return the events one edge away, in both directions, with the edge: a row per event and neighbour."""
        return Neighbours(NeighboursOf(self.node))

    def to_arrow(self, *names: str) -> pyarrow.Table:
        """Return an Arrow table of some fields, by default all."""
        return self.select(*(names or FIELDS)).to_arrow()

    def to_pandas(self, *names: str) -> pandas.DataFrame:
        """Return a data frame of some fields, by default all; needs pandas."""
        return self.select(*(names or FIELDS)).to_pandas()


@dataclass(frozen=True, repr=False)
class RequestQuery(EventQuery):
    """A query for requests, as their REQUEST events; a slice of requests goes forward by default."""

    def named(self, name: str) -> RequestQuery:
        """Keep the requests with this name. The answer raises `QueryError` if no request of the run has the name."""
        if not isinstance(self.node, Requests):
            raise QueryError("name the requests first: write run.requests.named(NAME).where(…)")
        return RequestQuery(Requests(self.node.run, name))

    def categories(self, level: str | LabelFunction = "function") -> CategoryQuery:
        """Group the requests by the structure of their flows at a level.

        A level is function, class, module, component, a level of the spec, or a function of an event. The answer has a row per
        category, the largest first: its number of requests, its first request and its flow. The answer raises `ClewError` for
        an unknown level. See `clew.graph.ops.flows.categories`."""
        return CategoryQuery(CategoriesOf(self.node, level))

    def flows(self, level: str | LabelFunction = "function", *, coalesce: bool = False, ordered: bool = False) -> Flows:
        """Return the calls of each request, as columns; `coalesce` merges consecutive equal calls, and `ordered`
        distinguishes flows by the order and parallelism of calls. See
        `clew.graph.ops.flows.flows`."""
        return flows_of(self.node.open_run(), self.node.events(), level, coalesce=coalesce, ordered=ordered)

    def diff(
        self,
        after: RequestQuery,
        level: str | LabelFunction = "function",
        *,
        coalesce: bool = False,
        ordered: bool = True,
        **thresholds: float,
    ) -> Mutations:
        """Compare these requests with others: find the slower categories, and the new categories with their precursors.

        The answer has `sentence()`, `explain()`, `rows` (the most expensive first, times in ns), `differences(row)`,
        `union(row.category)`, `table()` and `to_json()`. `coalesce` merges consecutive equal calls, in any order; without
        `ordered`, the order and parallelism of calls do not distinguish flows. `thresholds` are alpha, slower, samples, more,
        share and precursor. Raises `QueryError` for an unknown threshold or an invalid value. See docs/compare.md and
        `clew.compare.requests.diff`."""
        if not isinstance(after, RequestQuery):
            raise QueryError("requests are compared with requests: write before.requests.diff(after.requests)")
        from clew.compare.requests.diff import compare  # imported by the first comparison

        before = self.flows(level, coalesce=coalesce, ordered=ordered)
        return compare(before, after.flows(level, coalesce=coalesce, ordered=ordered), None, **thresholds)

    def localize(self, reference: RequestQuery | None = None, **thresholds: float) -> Localization:
        """Rank the suspects for the difference between these requests and a reference.

        Without a reference, the anomalous requests are compared with the rest.

        The answer has `sentence()`, `explain()`, `suspects` (the likeliest first, each with its `score` in bits and its
        `evidence`), `table()` and `to_json()`. `thresholds` are time, half, floor, pieces, most and least; without a reference
        also alpha, variance and confidence. Raises `QueryError` for an unknown threshold or an invalid value. See
        docs/localize.md and `clew.compare.localize.ranking`."""
        if reference is not None and not isinstance(reference, RequestQuery):
            raise QueryError("requests are compared with requests: write suspect.requests.localize(healthy.requests)")
        of = None if reference is None else reference.flows()
        from clew.compare.localize.ranking import localize

        return localize(self.flows(), of, None, **thresholds)

    def where(self, *tests: Callable[[Event], bool], **conditions: Any) -> RequestQuery:
        return RequestQuery(Where(self.node, _conditions(tests, conditions)))

    def order_by(self, field: str) -> RequestQuery:
        return RequestQuery(super().order_by(field).node)

    def limit(self, count: int) -> RequestQuery:
        return RequestQuery(super().limit(count).node)

    def slice(
        self,
        direction: Direction = "forward",
        *,
        max_hops: int | None = None,
        max_network_hops: int | None = None,
        edge_kinds: Sequence[str] | None = None,
        edge_filter: EdgeFilter | None = None,
        until: EventQuery | Callable[[Event], bool] | None = None,
    ) -> SliceQuery:
        return super().slice(
            direction,
            max_hops=max_hops,
            max_network_hops=max_network_hops,
            edge_kinds=edge_kinds,
            edge_filter=edge_filter,
            until=until,
        )


@dataclass(frozen=True, repr=False)
class SliceQuery(EventQuery):
    """A query for a slice; its events are sorted by time."""

    node: SliceOf
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "diff": EventQuery._INSTEAD["diff"],
        "named": EventQuery._INSTEAD["named"],
        "categories": EventQuery._INSTEAD["categories"],
    }

    def slice(self, *_arguments: Any, **_options: Any) -> NoReturn:
        raise QueryError("this is a slice already: choose events of it first, .where(…).slice(…)")

    def aggregate(self, level: str | LabelFunction, reduce: Reduce | None = None) -> AggregateQuery:
        """Aggregate at a level: its name, or a function that labels an event."""
        return AggregateQuery(Aggregate(self.node, level, reduce))

    def critical_path(self, level: str | LabelFunction = "function", *, until: EventQuery | None = None) -> PathQuery:
        """Return the critical path of the slice.

        It ends at the last of the events `until`, else at the end of the request that the slice follows from, else at the
        slice's last event. Of several requests it is the path of the one that took longest. See docs/critical-path.md."""
        return path_of(self.node, level, until)

    def costliest_path(
        self,
        level: str | LabelFunction = "function",
        *,
        vertex_cost: VertexCost | None = None,
        edge_cost: EdgeCost | None = None,
        until: EventQuery | None = None,
    ) -> CostPathQuery:
        """Return the path of the slice with the largest sum of costs: `vertex_cost` of an event, `edge_cost` of a step between
        two events.

        It ends where the critical path ends. A function is called for each event or step of the slice up to there."""
        return cost_path_of(self.node, level, vertex_cost, edge_cost, until)

    @cached_property
    def result(self) -> Slice | Part:
        result: Slice | Part = self._answer()
        return result

    def gaps(self) -> list[Gap]:
        """List the gaps next to events of the slice; the true slice may be larger."""
        return touching(self.result.graph, self.result.holds)

    def edges(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the edges inside the slice."""
        return self.result.edges()

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a graph with a node per event and the edges between them, all with their fields; needs networkx."""
        return slice_to_networkx(self.result)

    def _repr_svg_(self) -> str:
        return slice_svg(self.result)

    def dominators(self) -> Dominators:
        """Return the dominators: the events on every path from the roots of the slice to one of its events."""
        cut = self.result
        if isinstance(cut, Part):
            raise QueryError('dominators need a slice in one direction: write .slice("forward"), without until=…')
        return cut.dominators()


EDGE_KINDS = tuple(kind.name.lower() for kind in EdgeKind)


def _edge_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    if isinstance(kinds, str):
        raise QueryError(f"edge_kinds={kinds!r}: give a list of kinds, for example edge_kinds=[{kinds!r}]")
    for kind in kinds:
        if kind not in EDGE_KINDS:
            raise QueryError(f"there are no edges of kind {kind!r}; kinds: {', '.join(EDGE_KINDS)}")
    return tuple(sorted(set(kinds), key=EDGE_KINDS.index))


def _until(node: EventNode, until: EventQuery | Callable[[Event], bool] | None) -> Any:
    if isinstance(until, EventQuery):
        if until.node.open_run() is not node.open_run():
            raise QueryError("until=… has to be events of the same run: write until=run.events.where(…)")
        return until.node
    if until is None or callable(until):
        return until
    raise QueryError(f"until={until!r}: give events, until=run.events.where(…), or a function of an event")


def _select(node: EventNode, names: tuple[str, ...]) -> Rows:
    if not names:
        raise QueryError(f"name the fields to select: {', '.join(FIELDS)}")
    return Rows(Select(node, tuple(check_field(name) for name in names)))


def _conditions(tests: tuple[Callable[[Event], bool], ...], conditions: dict[str, Any]) -> tuple[Condition, ...]:
    for test in tests:
        if not callable(test):
            raise QueryError(f"a condition is FIELD=VALUE or a function of an event, not {test!r}")
    parsed = [check_condition(name, value) for name, value in conditions.items()]
    if not parsed and not tests:
        raise QueryError('say what the events have to be, for example where(level="ERROR")')
    return (*parsed, *(("", "call", test) for test in tests))
