"""Questions to a run, built step by step and answered when the answer is looked at.

Invariants: a query is a frozen value and building one does nothing; `clew.graph.execute` alone answers; a step that makes no
sense is refused with a sentence that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from clew.graph.answers import (
    NEEDS_SLICE,
    AggregateQuery,
    CategoryQuery,
    GapQuery,
    Grouping,
    Groups,
    MachineQuery,
    Neighbours,
    PathQuery,
    Query,
    Rows,
    path_of,
)
from clew.graph.columns import Table
from clew.graph.comparing import comparison
from clew.graph.display import ROWS, slice_svg
from clew.graph.event import Event
from clew.graph.execute import count_events, execute_events, slice_to_networkx
from clew.graph.fields import FIELDS, check_condition, check_field
from clew.graph.gaps import touching
from clew.graph.imports import run_folder
from clew.graph.levels import LabelFunction
from clew.graph.model import Gap
from clew.graph.nodes import (
    Aggregate,
    Beside,
    Chosen,
    Columns,
    Condition,
    Cut,
    EventNode,
    Events,
    Gaps,
    Kinds,
    Limit,
    Machines,
    OpenRun,
    OrderBy,
    QueryError,
    Requests,
    Strands,
    Where,
    check_whole,
    run_of,
)
from clew.graph.ops.aggregate import Reduce
from clew.graph.ops.dominators import Dominators
from clew.graph.ops.flows import Flows, flows_of
from clew.graph.ops.parts import Direction, Part
from clew.graph.ops.slice import EdgeFilter, Slice
from clew.graph.progress import Progress, nobody
from clew.graph.sql import SqlRows, ask
from clew.graph.store import open_graph
from clew.graph.strand_answers import StrandQuery
from clew.records.event import EdgeKind
from clew.records.run import load_run, workspace_of

if TYPE_CHECKING:
    import networkx
    import numpy as np
    import numpy.typing as npt
    import pandas
    import pyarrow


def open_run(
    path: str | PathLike[str] | None = None,
    *,
    workspace: str | PathLike[str] | None = None,
    engine: str | None = None,
    progress: Progress = nobody,
    spare: bool = False,
) -> Run:
    """A recorded run: by its folder, id or name, or the newest; or a trace that others wrote (OTLP, Jaeger, Zipkin, Chrome,
    vector clocks; several files of one with commas between), which is imported first. `workspace` is where its `.clew`
    folder is, by default the nearest one upwards. Builds the store when it is missing or old: `progress` is called with what
    is read or made, how much of it is done and how much there is; what it raises ends it. `spare` is for who keeps runs for
    long: large ones take memory only as far as they are looked at. Raises `ClewError` when there is no such run, or the
    trace is damaged.

    `path` may also be a run in parts (`clew cluster partition`): a folder, or a URL of an object store. `engine` says who
    answers for its parts: "local", the default, in this process; "ray", or a Ray cluster's address, "ray://HOST:PORT"."""
    from clew.graph.engines.folder import is_partitioned
    from clew.graph.engines.opened import check_engine, open_parts

    check_engine(engine)
    if path is not None and is_partitioned(str(path)):
        return open_parts(str(path), engine)
    if engine not in (None, "local"):
        named = path if path is not None else "the newest run"
        raise QueryError(
            f"{named}: not a run in parts, which the engine {engine!r} needs; make one: `clew cluster partition RUN -o FOLDER`"
        )
    base = Path(workspace) if workspace is not None else workspace_of(Path.cwd())
    given = isinstance(path, Path) and path.is_dir()
    folder = Path(str(path)) if given else run_folder(base, None if path is None else str(path), progress)
    info = load_run(folder)
    graph, problems = open_graph(folder, progress, spare=spare)
    return Run(info, folder.resolve(), problems, graph)


class Run(OpenRun):
    """One recorded run and the questions that can be put to it."""

    @property
    def events(self) -> EventQuery:
        """Everything that was recorded."""
        return EventQuery(Events(self))

    @property
    def requests(self) -> RequestQuery:
        """The requests: calls that the spec marks as the root of a flow."""
        return RequestQuery(Requests(self))

    @property
    def gaps(self) -> GapQuery:
        """Where events are missing: which strand, between which events, from when to when, how many, why."""
        return GapQuery(Gaps(self))

    @property
    def machines(self) -> MachineQuery:
        """The machines that it ran on: what their clocks were corrected by, and within which bounds."""
        return MachineQuery(Machines(self))

    @property
    def strands(self) -> StrandQuery:
        """Its threads and tasks: what each did again and again is `.patterns()`."""
        return StrandQuery(Strands(self))

    def slice(self, *events: int, direction: Direction = "backward", **options: Any) -> SliceQuery:
        """The slice of events given by number."""
        remedy = "; give numbers of events, or write run.events.where(…).slice()"
        chosen = tuple(check_whole(event, "a slice starts at events of the run, not at", remedy) for event in events)
        return EventQuery(Chosen(self, chosen)).slice(direction, **options)

    def aggregate(self, level: str | LabelFunction, reduce: Reduce | None = None) -> AggregateQuery:
        """The whole run, condensed."""
        return AggregateQuery(Aggregate(Events(self), level, reduce))

    def sql(self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = (), /, **given: Any) -> SqlRows:
        """The answer of a SELECT over the run's tables (`docs/store.md`) by DuckDB, and over results handed in by name:
        `run.sql("select kind, count(*) from picked group by kind", picked=run.events.where(level="ERROR"))`. `parameters` stand
        for ? or $name in the statement. Raises `SqlError`."""
        return ask(self.graph, statement, parameters, given)


SHOWN = ("id", "ts", "process", "strand", "kind", "level", "function", "text")
"""What is shown of events unless other fields are selected."""


@dataclass(frozen=True, repr=False)
class EventQuery(Query):
    """Events, in the order of time unless ordered otherwise."""

    node: EventNode
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "critical_path": NEEDS_SLICE,
        "diff": "two runs are compared by their aggregates: write a.slice().aggregate(LEVEL).diff(b.slice().aggregate(LEVEL))",
        "categories": "only requests have categories: write run.requests.categories(), or .named(NAME).categories()",
        "named": "only requests have names: write run.requests.named(NAME), or run.events.where(function=NAME)",
        "aggregate": "events are aggregated with what they led to: write .slice().aggregate(LEVEL), or run.aggregate(LEVEL)",
    }

    def where(self, *tests: Callable[[Event], bool], **conditions: Any) -> EventQuery:
        """Those for which everything holds. A condition is FIELD=VALUE or FIELD__COMPARISON=VALUE, say `level__ge="ERROR"`,
        `text__contains="failed"`; a test is a function of an `Event`. Raises `QueryError` for an unknown field."""
        return EventQuery(Where(self.node, _conditions(tests, conditions)))

    def order_by(self, field: str) -> EventQuery:
        """Sorted by a field; with "-" before its name, the largest first. Events that are equal stay as they were."""
        name = str(field)
        return EventQuery(OrderBy(self.node, check_field(name.removeprefix("-")), name.startswith("-")))

    def limit(self, count: int) -> EventQuery:
        """The first ones."""
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
        """All that led to these events ("backward"), followed from them ("forward"), or both.

        `max_hops` bounds the edges on a path, `max_network_hops` those between processes. `edge_kinds`, of "use", "sync" and
        "state", are followed, by default all; of those, the ones that `edge_filter` lets through (one truth value per edge, or
        a function of its number). `until`, events of this run or a function of an event, says where to stop: those are in, and
        nothing behind them.
        """
        if direction not in ("forward", "backward", "both"):
            raise QueryError(f'a slice goes "forward" or "backward", or "both", not {direction!r}')
        for name, limit in (("max_hops", max_hops), ("max_network_hops", max_network_hops)):
            if limit is not None:
                check_whole(limit, f"{name} is", "; give 0 or more, or None for no limit")
        kinds = None if edge_kinds is None else _edge_kinds(edge_kinds)
        stop = _until(self.node, until)
        return SliceQuery(Cut(self.node, direction, max_hops, max_network_hops, edge_filter, kinds, stop))

    def select(self, *names: str) -> Rows:
        """Some fields of each event, as rows."""
        return _select(self.node, names)

    @property
    def table(self) -> Table:
        return self.select(*FIELDS).result

    def _head(self) -> tuple[Table, int]:
        return EventQuery(Limit(self.node, ROWS)).select(*SHOWN).result, self.count()

    @cached_property
    def _rows(self) -> npt.NDArray[np.int64]:
        return execute_events(self.node)

    def ids(self) -> npt.NDArray[np.int64]:
        """The events' numbers."""
        return self._rows

    def count(self) -> int:
        # Sorted they need not be for that.
        return len(self._rows) if "_rows" in self.__dict__ else count_events(self.node)

    def first(self) -> Event | None:
        return next(iter(self), None)

    def __iter__(self) -> Iterator[Event]:
        run = run_of(self.node)
        if run.engine is not None:
            return iter(run.engine.records(self._rows))
        return (run.graph.event(row) for row in self._rows.tolist())

    def group_by(self, *names: str) -> Grouping:
        """Grouped by the values of some fields; `.agg(…)` says what of each group."""
        if not names:
            raise QueryError(f"name the fields to group by, or write .agg(…) for all events: {', '.join(FIELDS)}")
        if len(set(names)) < len(names):
            raise QueryError("a field is named twice in group_by")
        return Grouping(self.node, tuple(check_field(name) for name in names))

    def agg(self, **measures: str | tuple[str | float, ...]) -> Groups:
        """Measures of all these events, as one row; see `Grouping.agg`."""
        return Grouping(self.node, ()).agg(**measures)

    def neighbours(self) -> Neighbours:
        """What is one edge away from these events, both ways, with the edge: a row per event and neighbour."""
        return Neighbours(Beside(self.node))

    def to_arrow(self, *names: str) -> pyarrow.Table:
        """A table of some fields, by default of all."""
        return self.select(*(names or FIELDS)).to_arrow()

    def to_pandas(self, *names: str) -> pandas.DataFrame:
        """A data frame of some fields, by default of all; needs pandas."""
        return self.select(*(names or FIELDS)).to_pandas()


@dataclass(frozen=True, repr=False)
class RequestQuery(EventQuery):
    """Requests, as their REQUEST events; a slice of them goes forward unless told otherwise."""

    def named(self, name: str) -> RequestQuery:
        """Those of one name. Raises `QueryError`, when answered, if the run has none of that name."""
        if not isinstance(self.node, Requests):
            raise QueryError("name the requests first: write run.requests.named(NAME).where(…)")
        return RequestQuery(Requests(self.node.run, name))

    def categories(self, level: str | LabelFunction = "function") -> CategoryQuery:
        """Grouped by the structure of their flows at a level (function, class, module, component, a spec's, or a function of an
        event): a row per category, the largest first, with how many requests it has, its first one and its flow. Raises
        `ClewError` for a level that there is not, when it is answered. See `clew.graph.ops.categories`."""
        return CategoryQuery(Kinds(self.node, level))

    def flows(self, level: str | LabelFunction = "function", *, coalesce: bool = False) -> Flows:
        """What each of them called, as columns; with `coalesce` equal calls in a row are one. See `clew.graph.ops.flows`."""
        return flows_of(run_of(self.node), execute_events(self.node), level, coalesce=coalesce)

    def diff(
        self,
        after: RequestQuery,
        level: str | LabelFunction = "function",
        *,
        coalesce: bool = False,
        **thresholds: float,
    ) -> Any:
        """What changed from these requests to others: which categories got slower, which are new and from what.

        The answer has `sentence()`, `explain()`, `rows` (what costs most first, times in ns), `differences(row)`,
        `union(row.category)`, `table()` and `to_json()`; with `coalesce` equal calls in a row are one. `thresholds` are alpha,
        slower, samples, more, share and precursor. Raises `QueryError` for one that there is not, or a value that is none. See
        docs/compare.md and `clew.compare.mutations`."""
        if not isinstance(after, RequestQuery):
            raise QueryError("requests are compared with requests: write before.requests.diff(after.requests)")
        of = (query.flows(level, coalesce=coalesce) for query in (self, after))
        return comparison("diff")(*of, **thresholds)

    def localize(self, reference: RequestQuery | None = None, **thresholds: float) -> Any:
        """Where to look for what is different in these requests from a reference. Without one, what is anomalous among them is
        compared with the rest.

        The answer has `sentence()`, `explain()`, `suspects` (the likeliest first, each with its `score` in bits and its
        `evidence`), `table()` and `to_json()`. `thresholds` are time, half, floor, pieces, most and least; without a reference
        also alpha, variance and confidence. Raises `QueryError` for one that there is not, or a value that is none. See
        docs/localize.md and `clew.compare.suspects`."""
        if reference is not None and not isinstance(reference, RequestQuery):
            raise QueryError("requests are compared with requests: write suspect.requests.localize(healthy.requests)")
        of = None if reference is None else reference.flows()
        return comparison("localize")(self.flows(), of, **thresholds)

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
    """A slice; as a question for its events, those in the order of time."""

    node: Cut
    _INSTEAD: ClassVar[Mapping[str, str]] = {
        "diff": EventQuery._INSTEAD["diff"],
        "named": EventQuery._INSTEAD["named"],
        "categories": EventQuery._INSTEAD["categories"],
    }

    def slice(self, *_arguments: Any, **_options: Any) -> NoReturn:
        raise QueryError("this is a slice already: choose events of it first, .where(…).slice(…)")

    def aggregate(self, level: str | LabelFunction, reduce: Reduce | None = None) -> AggregateQuery:
        """Condensed at a level: its name, or a function that labels an event."""
        return AggregateQuery(Aggregate(self.node, level, reduce))

    def critical_path(self, level: str | LabelFunction = "function") -> PathQuery:
        return path_of(self.node, level)

    @cached_property
    def result(self) -> Slice | Part:
        result: Slice | Part = self._answer()
        return result

    def gaps(self) -> list[Gap]:
        """Where events are missing beside events of the slice, which therefore may be larger."""
        return touching(self.result.graph, self.result.holds)

    def edges(self) -> npt.NDArray[np.int64]:
        """The numbers of the edges inside."""
        return self.result.edges()

    def to_networkx(self) -> networkx.MultiDiGraph:
        """A node per event with its fields, the edges among them with theirs; needs networkx."""
        return slice_to_networkx(self.result)

    def _repr_svg_(self) -> str:
        return slice_svg(self.result)

    def dominators(self) -> Dominators:
        """What every path from the slice's roots to one of its events passes through."""
        cut = self.result
        if isinstance(cut, Part):
            raise QueryError('dominators are of a slice that goes one way: write .slice("forward"), without until=…')
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
        if run_of(until.node) is not run_of(node):
            raise QueryError("until=… has to be events of the same run: write until=run.events.where(…)")
        return until.node
    if until is None or callable(until):
        return until
    raise QueryError(f"until={until!r}: give events, until=run.events.where(…), or a function of an event")


def _select(node: EventNode, names: tuple[str, ...]) -> Rows:
    if not names:
        raise QueryError(f"name the fields to select: {', '.join(FIELDS)}")
    return Rows(Columns(node, tuple(check_field(name) for name in names)))


def _conditions(tests: tuple[Callable[[Event], bool], ...], conditions: dict[str, Any]) -> tuple[Condition, ...]:
    for test in tests:
        if not callable(test):
            raise QueryError(f"a condition is FIELD=VALUE or a function of an event, not {test!r}")
    parsed = [check_condition(name, value) for name, value in conditions.items()]
    if not parsed and not tests:
        raise QueryError('say what the events have to be, for example where(level="ERROR")')
    return (*parsed, *(("", "call", test) for test in tests))
