"""Query a run in SQL: an in-memory DuckDB has its tables as views.

Invariant: a statement reads only the tables of the run and the results passed by name. It cannot read other files or change
the run.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.graph.errors import QueryError
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.gaps import gap_table
from clew.graph.model.graph import Calls, ExecutionGraph, RegionKind
from clew.graph.store.lazy_graph import StoredGraph
from clew.graph.store.parquet_read import file_name
from clew.graph.store.parquet_write import write_tables
from clew.query.results import machine_table
from clew.records.format.event import EdgeKind, Kind

if TYPE_CHECKING:
    import pandas
    import pyarrow

VIEWS: Mapping[str, str] = {
    "locations": "select * from {locations}",
    "processes": "select * from {processes}",
    "strands": "select * from {strands}",
    "regions": "select file_row_number as region, * exclude (kind, file_row_number), {region_kind} as kind"
    " from read_parquet({regions}, file_row_number = true)",
    "events": "select file_row_number as id, ts, {kind} as kind, location, strand, region, idle"
    " from read_parquet({events}, file_row_number = true)",
    "edges": "select file_row_number as edge, source, target, {edge_kind} as kind, n.name as channel"
    " from read_parquet({edges}, file_row_number = true) e"
    " join (select file_row_number as number, name from read_parquet({names}, file_row_number = true)) n"
    " on n.number = e.channel",
    "payloads": "select p.event, p.key, n.name as channel, p.flags, {text} as text"
    " from {payloads} p"
    " join (select file_row_number as number, name from read_parquet({names}, file_row_number = true)) n"
    " on n.number = p.channel"
    " join (select file_row_number as number, string_split(template, chr(0)) as pieces"
    " from read_parquet({templates}, file_row_number = true)) t on t.number = p.template",
    "logs": "select event, ts, {level} as level, channel as logger, location, strand, text"
    " from payloads join events on payloads.event = events.id where events.kind = 'log'",
    # The texts of other events are no JSON, and they may be evaluated before they are filtered out.
    "exceptions": "select event, ts, type, fact ->> '$.message' as message,"
    " coalesce(fact ->> '$.role', 'raised') as role, key, (fact ->> '$.cause')::ubigint as cause,"
    " (fact ->> '$.context')::ubigint as context, location, strand from"
    " (select *, channel as type, case when json_valid(text) then text::json end as fact"
    " from payloads join events on payloads.event = events.id where events.kind = 'exception')",
    "outputs": "select event, ts, key as descriptor, location, strand, text"
    " from payloads join events on payloads.event = events.id where events.kind = 'output'",
    "calls": "",
    "gaps": "",
    "machines": "",
}
"""The tables that a statement sees, by name, with the SQL of their views (see docs/store.md). The tables without SQL are
computed when a statement names them."""
_TEXT = (
    "case when len(t.pieces) = 1 then t.pieces[1] else array_to_string("
    "list_transform(t.pieces, lambda piece, i: piece || coalesce(p.parameters[i], '')), '') end"
)
_HINT = "DuckDB is not installed; `pip install duckdb` to query a run in SQL"


class SqlError(QueryError):
    """Raised for an invalid statement; the message is one sentence."""


@dataclass(frozen=True, eq=False)
class SqlRows:
    """The result of a statement: a table."""

    table: pyarrow.Table

    @property
    def columns(self) -> list[str]:
        return list(self.table.column_names)

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def count(self) -> int:
        return len(self)

    def to_arrow(self) -> pyarrow.Table:
        return self.table

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas."""
        frame: pandas.DataFrame = self.table.to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"SqlRows({len(self)} rows of {', '.join(self.columns)})"


def ask(graph: ExecutionGraph, statement: str, parameters: Any, given: Mapping[str, Any]) -> SqlRows:
    """Run one read-only statement and return its result. Raises `SqlError`."""
    database: Database | None = graph.answers.get("sql")
    if database is None:
        database = graph.answers["sql"] = Database(graph)
    return database.ask(statement, parameters, given)


class Database:
    """A DuckDB connection with the tables of a run. Raises `SqlError` if DuckDB is not installed."""

    def __init__(self, graph: ExecutionGraph) -> None:
        try:
            import duckdb
        except ImportError:
            raise SqlError(_HINT) from None
        self._graph = graph
        if isinstance(graph, StoredGraph):
            # DuckDB reads the files directly, so verify their checksums first.
            for name in graph.tables.names:
                graph.tables.get(name, lambda table: table.verify())
            folder = graph.tables.folder
        else:
            # A live run has no store.
            folder = Path(tempfile.mkdtemp(prefix="clew-sql-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            write_tables(folder, graph)
        self._connection = duckdb.connect()
        self._make_views(folder)

    def _make_views(self, folder: Path) -> None:
        run = self._connection.execute
        names = ("locations", "processes", "strands", "regions", "events", "edges", "names", "payloads", "templates")
        files = {name: _quoted(str(folder / file_name(name))) for name in names}
        parts = {
            "kind": _named("kind", {int(kind): kind.name.lower() for kind in Kind}),
            "region_kind": _named("kind", {int(kind): kind.name.lower() for kind in RegionKind}),
            "edge_kind": _named("e.kind", {int(kind): kind.name.lower() for kind in EdgeKind}),
            "level": _named("key", LEVEL_NAMES, "'Level ' || key"),
            "text": _TEXT,
        }
        run(f"set allowed_paths = [{', '.join(files.values())}]")
        run("set enable_external_access = false")
        for name, made_of in VIEWS.items():
            if made_of:
                run(f"create view {name} as {made_of.format(**files, **parts)}")

    def ask(self, statement: str, parameters: Any, given: Mapping[str, Any]) -> SqlRows:
        """Run one read-only statement and return its result. Raises `SqlError`."""
        import duckdb

        self._check(statement)
        for name, value in given.items():
            if not name.isidentifier() or name in VIEWS:
                reason = "the run has a table of that name" if name in VIEWS else "it is not an identifier"
                raise SqlError(f"{name!r} cannot be the name of a table: {reason}")
            self._connection.register(name, _arrow(name, value))
        try:
            for made, make in _MADE.items():
                if re.search(rf"\b{made}\b", statement, re.IGNORECASE):
                    self._connection.register(made, make(self._graph))
            found = self._connection.sql(statement, params=parameters or None)
            return SqlRows(found.to_arrow_table())
        except duckdb.Error as error:
            raise SqlError(_sentence(error)) from None
        finally:
            for name in given:
                self._connection.unregister(name)

    def _check(self, statement: str) -> None:
        import duckdb

        try:
            parsed = self._connection.extract_statements(statement)
        except duckdb.Error as error:
            raise SqlError(_sentence(error)) from None
        if len(parsed) != 1:
            raise SqlError(f"expected one statement, got {len(parsed)}")
        if parsed[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise SqlError(f"a run is read-only: write SELECT …, not {parsed[0].type.name}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _named(column: str, names: Mapping[int, str], otherwise: str | None = None) -> str:
    whens = " ".join(f"when {number} then {_quoted(name)}" for number, name in names.items())
    return f"case {column} {whens} else {otherwise or f'{column}::varchar'} end"


def _arrow(name: str, value: Any) -> Any:
    """Convert an object with rows to a table."""
    import pyarrow

    if isinstance(value, pyarrow.Table):
        return value
    if hasattr(value, "to_arrow"):
        return value.to_arrow()
    raise SqlError(f"{name} is {type(value).__name__}; pass a query for events, rows, or an Arrow table")


def _calls(graph: ExecutionGraph) -> Any:
    import pyarrow

    return pyarrow.table({field.name: getattr(graph.calls, field.name) for field in fields(Calls)})


_MADE: Mapping[str, Callable[[ExecutionGraph], Any]] = {
    "calls": _calls,
    "gaps": lambda graph: gap_table(graph).to_arrow(),
    "machines": lambda graph: machine_table(graph.machines).to_arrow(),
}


def _sentence(error: Exception) -> str:
    """Return a DuckDB message as one sentence, without its excerpt of the statement; list the tables if one is unknown."""
    text = str(error)
    lines = [line.strip() for line in text.split("\n\n", maxsplit=1)[0].splitlines() if line.strip()]
    message = " ".join(lines).split(" LINE 1:")[0]
    near = re.search(r"Candidate (?:bindings|tables)[^:]*: ([^\n]+)", text)
    hint = f"; did you mean {near[1].strip()}?" if near and near[1] not in message else ""
    if "does not exist" not in message or "Table" not in message:
        return f"{message}{hint}"
    what, _, guess = message.partition(" Did you mean ")
    # DuckDB may suggest its internal tables, too.
    return f"{message if guess.strip('?').strip(chr(34)) in VIEWS else what}; tables: {', '.join(VIEWS)}"
