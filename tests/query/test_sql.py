"""Compare SQL over a run's tables with the graph."""

import sys

import numpy as np
import pyarrow as pa
import pytest

import clew
from clew.query.sql import SqlError
from clew.records.run.directory import save_run


@pytest.fixture
def folder(new_run):
    run = new_run()
    client, server = run.process("client").thread(), run.process("server").thread("worker")
    client.enter("client:ask").request("ask").send(1).log("asked 3 of 17 hosts").exit("client:ask")
    server.enter("server:handle").receive(1).log("chunk-0040 is deleted", level=40, logger="server")
    server.log("it's 100 %", level=25).log("").exit("server:handle")
    return run.write()


@pytest.fixture
def opened(folder):
    return clew.open(folder)


def test_sql_views_equal_the_graph(opened):
    graph = opened.graph
    events = opened.sql("select id, ts, kind, location, strand, region from events order by id")
    assert events.columns == ["id", "ts", "kind", "location", "strand", "region"]
    for row, (number, ts, kind, location, strand, region) in enumerate(events):
        assert (number, ts, kind) == (row, graph.ts[row], graph.event(row).kind)
        assert (location, strand, region) == (graph.site[row], graph.strand[row], graph.region[row])
    assert len(events) == len(graph)
    logs = opened.sql("select event, level, logger, text from logs order by event")
    assert list(logs) == [
        (row, graph.event(row).level, graph.channel(row), graph.text(row))
        for row in range(len(graph))
        if graph.event(row).kind == "log"
    ]
    assert [text for *_, text in logs] == ["asked 3 of 17 hosts", "chunk-0040 is deleted", "it's 100 %", ""]
    edges = opened.sql("select source, target, kind, channel from edges")
    assert list(edges) == [(int(graph.edge_src[0]), int(graph.edge_dst[0]), "use", "message")]
    assert opened.sql("select qualname from locations where location > 0").table.column(0).to_pylist() == [
        "ask",
        "handle",
    ]
    assert list(opened.sql("select name, start, stop from strands")) == [("MainThread", 0, 5), ("worker", 5, 11)]
    assert [name for (name,) in opened.sql("select name from processes")] == [p.name for p in graph.processes]
    calls = opened.sql("select enter, exit, total_ns from calls")
    assert list(calls) == list(zip(graph.calls.enter, graph.calls.exit, graph.calls.total_ns, strict=True))
    regions = opened.sql("select region, strand, kind, first, last from regions order by region")
    assert [row[3:] for row in regions] == list(zip(graph.regions.first, graph.regions.last, strict=True))
    assert [row[2] for row in regions] == ["root", "request", "root", "receive"]


def test_sql_joins_query_results_by_name_and_binds_values(opened):
    picked = opened.events.where(level__ge="WARNING")
    assert list(
        opened.sql("select text from picked join events using (id) where events.kind = ?", ["log"], picked=picked)
    ) == [("chunk-0040 is deleted",)]
    assert list(opened.sql("select count(*) from logs where text = $text", {"text": "it's 100 %"})) == [(1,)]
    assert list(opened.sql("select sum(n) from t", t=pa.table({"n": np.arange(5)}))) == [(10,)]
    assert list(opened.sql("select kind from rows", rows=picked.select("kind"))) == [("log",)]
    with pytest.raises(SqlError, match="picked"):
        opened.sql("select * from picked")


def test_sql_of_live_run_returns_rows(run):
    run.process().thread().log("so far 1")
    folder = run.write()
    save_run(folder, run.info)
    assert list(clew.open(folder).sql("select text from logs")) == [("so far 1",)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("selec 1", "syntax error"),
        ("select * from nope", "Table with name nope does not exist!; tables: "),
        ("select * from event", "Table with name event does not exist"),
        ("select nonsense from events", 'column "nonsense" not found'),
        ("create table t (a int)", "a run is read-only: write SELECT …, not CREATE"),
        ("drop view events", "a run is read-only"),
        ("copy events to 'x.csv'", "a run is read-only"),
        ("attach 'x.duckdb'", "a run is read-only"),
        ("set enable_external_access = true", "a run is read-only"),
        ("select 1; select 2", "expected one statement, got 2"),
        ("", "expected one statement, got 0"),
        ("select ?", "parameter"),
        ("select * from read_csv('/etc/passwd')", "Permission"),
    ],
)
def test_sql_invalid_statement_raises_one_sentence(opened, statement, message):
    with pytest.raises(SqlError) as caught:
        opened.sql(statement)
    assert message.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_sql_table_argument_needs_rows_and_a_free_name(opened):
    with pytest.raises(SqlError, match="x is int; pass a query"):
        opened.sql("select 1 from x", x=3)
    with pytest.raises(SqlError, match="'events' cannot be the name of a table"):
        opened.sql("select 1 from events", events=opened.events)


def test_sql_without_duckdb_raises_install_advice(opened, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SqlError, match="pip install duckdb"):
        opened.sql("select 1")


def test_sql_rows_convert_to_arrow_and_have_count_and_repr(opened):
    rows = opened.sql("select kind, count(*) as n from events group by kind order by n desc, kind")
    assert rows.to_arrow().column_names == ["kind", "n"]
    assert repr(rows) == "SqlRows(6 rows of kind, n)"
    assert rows.count() == len(rows) == 6
