"""Test the query language: the three examples of the design, `repr` and `explain`, and refusals."""

import re

import pytest

from clew import Run
from clew import open as open_run
from clew.query.api import EventQuery, QueryError
from clew.records.errors import ClewError, RunError
from clew.records.format.event import Kind
from tests.support.runs.query_run import store


@pytest.fixture
def opened(run) -> Run:
    return store(run)


def test_query_slice_of_error_selects_its_causes(opened):
    query = opened.events.where(level="ERROR", text__contains="Write request").slice("backward").select("text")
    assert [row.text for row in query if row.text and not row.text.isdigit()] == [
        "handling 2",
        "Write request failed: chunk 7",
    ]
    # The slice excludes events of other requests' handlers on the same threads.
    assert {row.text for row in query} == {
        "",
        "0",
        "1",
        "2",
        "handling 2",
        "Write request failed: chunk 7",
        "reply 0",
        "reply 1",
    } - {"0", "1", "reply 0", "reply 1"}


def test_query_critical_path_of_request_by_machine(opened):
    path = opened.requests.named("SubmitWrite").slice().aggregate("machine").critical_path()
    assert [segment.label for segment in path] == ["host"]
    assert path.total_ns > 1_000_000
    assert [segment.label for segment in path.project("function")] == [
        "client:Client.call",
        "server:Server.handle",
        "server:Index.lookup",
        "server:Server.handle",
        "client:Client.call",
    ]


def test_query_critical_path_of_request_ends_with_the_request(run):
    """The program of Figure 4b, with a background job that the request leaves behind."""
    process = run.process()
    main, job = process.thread(), process.thread("job")
    main.enter("app:submit", at=0).request("SubmitWrite", at=5).send("write", at=100).exit("app:submit", at=200)
    job.join("write", at=110).enter("disk:write", at=120).log("half", at=400).exit("disk:write", at=9000)
    graph = run.graph()
    opened = Run(graph.info, run.folder, [], graph)
    cut = opened.requests.named("SubmitWrite").slice()
    path = cut.aggregate("component").critical_path()
    assert ([segment.label for segment in path], path.total_ns) == (["app"], 200)
    assert opened.requests.flows().response_ns.tolist() == [200]
    written = cut.aggregate("component").critical_path(until=opened.events.where(kind="log"))
    assert [(segment.label, segment.start, segment.end) for segment in written] == [("app", 0, 100), ("disk", 100, 400)]
    assert [segment.label for segment in written.project("function")] == ["app:submit", "disk:write"]
    assert repr(written).endswith(
        ".critical_path('component', until=run('RUN').events.where(kind='log'))".replace("RUN", graph.info.id)
    )


def test_query_costliest_path_of_request_by_component(opened):
    cut = opened.requests.named("SubmitWrite").slice()
    path = cut.aggregate("component").costliest_path(vertex_cost=lambda event: event.kind == "log")
    logs = [event for event in path.result.events if opened.graph.event(event).kind == "log"]
    assert path.total == len(logs) == 2
    assert [segment.label for segment in path] == ["client", "server", "client"]
    assert len(path.table) == path.count() == 3
    critical = cut.costliest_path(edge_cost=lambda source, target: target.ts - source.ts)
    assert critical.total == cut.critical_path().total_ns
    until = cut.costliest_path(vertex_cost=lambda _event: 1, until=opened.events.where(kind="log"))
    assert "until=" in repr(until) and opened.graph.event(until.result.events[-1]).kind == "log"
    with pytest.raises(QueryError, match="give vertex_cost=…, a function of an event, or edge_cost=…"):
        cut.costliest_path()
    with pytest.raises(QueryError, match="a critical path needs a slice"):
        opened.aggregate("module").costliest_path(vertex_cost=lambda _event: 1)


@pytest.mark.parametrize(
    ("until", "message"),
    [
        (lambda run: run.events.where(kind="log", text="nowhere"), "so no path of it can end there"),
        (lambda _run: 7, "write until=run.events.where(…)"),
        (lambda run: run.requests.slice().aggregate("module"), "write until=run.events.where(…)"),
    ],
)
def test_query_critical_path_until_nothing_is_refused_with_advice(opened, until, message):
    with pytest.raises(QueryError) as refused:
        _ = opened.requests.slice().critical_path(until=until(opened)).result
    assert message in str(refused.value)


def test_query_diff_of_two_runs_by_component(new_run):
    before, after = store(new_run("before")), store(new_run("after"), factor=5)
    diff = before.requests.slice().aggregate("component").diff(after.requests.slice().aggregate("component"))
    assert diff.rows[0].label == "server"
    assert diff.sentence().startswith("server got ")
    assert [row.label for row in diff] == [row.label for row in diff.rows]


@pytest.mark.parametrize(
    ("build", "text", "plan"),
    [
        (
            lambda run: (
                run.events.where(level="ERROR", text__contains="Write request failed").slice("backward").select("text")
            ),
            "run('ID').events.where(level='ERROR', text__contains='Write request failed').slice('backward').select('text')",
            [
                "select('text')",
                "   slice('backward')",
                "      where(level='ERROR', text__contains='Write request failed')",
                "         run('ID').events",
            ],
        ),
        (
            lambda run: run.requests.named("SubmitWrite").slice().aggregate("machine").critical_path(),
            "run('ID').requests.named('SubmitWrite').slice('forward').critical_path('machine')",
            ["critical_path('machine')", "   slice('forward')", "      run('ID').requests.named('SubmitWrite')"],
        ),
        (
            lambda run: run.requests.slice().aggregate("component").diff(run.aggregate("component")),
            "run('ID').requests.slice('forward').aggregate('component').diff(run('ID').aggregate('component'))",
            [
                "diff",
                "   aggregate('component')",
                "      slice('forward')",
                "         run('ID').requests",
                "   aggregate('component')",
                "      run('ID').events",
            ],
        ),
        (
            lambda run: run.events.where(kind__in=["log", "send"], level__ge="WARNING").order_by("-ts").limit(3),
            "run('ID').events.where(kind__in=('log', 'send'), level__ge='WARNING').order_by('-ts').limit(3)",
            [
                "limit(3)",
                "   order_by('-ts')",
                "      where(kind__in=('log', 'send'), level__ge='WARNING')",
                "         run('ID').events",
            ],
        ),
        (
            lambda run: run.slice(3, 4, direction="forward", max_hops=2).where(bool),
            "run('ID').slice(3, 4, direction='forward', max_hops=2).where(bool)",
            ["where(bool)", "   run('ID').slice(3, 4, direction='forward', max_hops=2)"],
        ),
    ],
)
def test_query_repr_and_explain_are_as_written(opened, build, text, plan):
    query = build(opened)
    assert repr(query).replace(opened.info.id, "ID") == text
    assert query.explain().replace(opened.info.id, "ID").split("\n") == plan


def test_queries_are_immutable_values(opened):
    one = opened.events.where(kind="log").slice().aggregate("function")
    assert one == opened.events.where(kind="log").slice().aggregate("function")
    assert one != opened.events.where(kind="log").slice().aggregate("class")
    assert hash(one) == hash(opened.events.where(kind="log").slice().aggregate("function"))
    with pytest.raises(AttributeError):
        one.node.level = "class"


def test_query_runs_only_when_its_answer_is_read(opened, monkeypatch):
    monkeypatch.setattr("clew.query.plan.EventNode.events", lambda node: pytest.fail("it ran"))
    query = opened.events.where(text__contains="x").order_by("ts").limit(2)
    repr(query), query.explain()
    assert isinstance(query, EventQuery)


@pytest.mark.parametrize(
    ("conditions", "count"),
    [
        ({"kind": "log"}, 4),
        ({"kind__in": ["log", "request"]}, 7),
        ({"level": "ERROR"}, 1),
        ({"level": 40}, 1),
        ({"level__ge": "INFO"}, 4),
        ({"level__lt": "ERROR"}, 3),
        ({"text__startswith": "handling"}, 3),
        ({"text__matches": r"handling [12]"}, 2),
        ({"function": "server:Index.lookup"}, 6),
        ({"function__endswith": ".lookup", "kind": "enter"}, 3),
        ({"module": "client"}, 15),
        ({"process": "client", "kind": "send"}, 3),
        ({"channel": "SubmitWrite"}, 2),
        ({"key": "1"}, 2),
        ({"line": 7}, 3),
        ({"file__endswith": "server.py", "kind": "log"}, 4),
        ({"strand": "MainThread", "kind": "request"}, 3),
        ({"ts__lt": 35}, 3),
        ({"kind__ne": "log", "component": "server"}, 18),
    ],
)
def test_where_each_condition_selects_its_events(opened, conditions, count):
    query = opened.events.where(**conditions)
    assert query.count() == count
    fields = {name.partition("__")[0] for name in conditions}
    for event in query:
        assert event.id < len(opened.graph)
        assert fields


def test_where_condition_may_be_a_function(opened):
    assert [event.text for event in opened.events.where(lambda event: event.text.endswith("7"))] == [
        "Write request failed: chunk 7"
    ]


def test_events_order_by_and_limit(opened):
    times = [event.ts for event in opened.events]
    assert times == sorted(times)
    assert [event.ts for event in opened.events.order_by("-ts").limit(3)] == times[::-1][:3]
    by_kind = [event.kind for event in opened.events.order_by("kind")]
    assert by_kind == sorted(by_kind)
    assert opened.events.limit(0).count() == 0
    assert opened.events.where(kind="log").first().text == "handling 0"
    assert opened.events.where(text="nowhere").first() is None


def test_request_slice_begins_with_call_of_the_request(opened):
    nodes = {node.label: node for node in opened.requests.named("Read").slice().aggregate("function")}
    assert (nodes["client:Client.call"].calls, nodes["server:Index.lookup"].calls) == (1, 1)
    assert opened.requests.named("Read").slice("backward").where(kind="exit").count() == 2


def test_query_results_convert_to_arrow_and_networkx(opened):
    table = opened.events.where(kind="log").to_arrow("level", "text", "line")
    assert table.column("level").to_pylist() == ["INFO", "INFO", "INFO", "ERROR"]
    assert table.column_names == ["level", "text", "line"]
    graph = opened.requests.slice().aggregate("process").to_networkx()
    assert {data["label"] for _, data in graph.nodes(data=True)} == {"client", "server"}
    assert {data["kind"] for _, _, data in graph.edges(data=True)} == {"use"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda run: run.events.critical_path(),
            "a critical path needs a slice: write run.events.where(…).slice().critical_path()",
        ),
        (lambda run: run.aggregate("module").critical_path(), "a critical path needs a slice"),
        (lambda run: run.events.aggregate("function"), "write .slice().aggregate(LEVEL), or run.aggregate(LEVEL)"),
        (lambda run: run.events.slice().diff(None), "two runs are compared by their aggregates"),
        (lambda run: run.events.slice().slice(), "this is a slice already"),
        (lambda run: run.events.named("x"), "only requests have names: write run.requests.named(NAME)"),
        (
            lambda run: run.events.select("text").where(kind="log"),
            "fields are selected last: write .where(…) before .select(…)",
        ),
        (lambda run: run.events.select(), "name the fields to select: id, ts, kind"),
        (lambda run: run.events.select("txt"), "events have no field 'txt'; did you mean 'text'?"),
        (lambda run: run.events.where(), 'for example where(level="ERROR")'),
        (lambda run: run.events.where(levl="ERROR"), "events have no field 'levl'; did you mean 'level'?"),
        (lambda run: run.events.where(text__has="x"), "unknown comparison 'has'; comparisons: eq, ne"),
        (lambda run: run.events.where(level="LOUD"), "unknown level; levels: DEBUG, INFO"),
        (lambda run: run.events.where(line="7"), "line is a number"),
        (lambda run: run.events.where(line__contains=7), "line is a number; compare it with"),
        (lambda run: run.events.where(kind__in="log"), "give a list of values, or write kind__contains"),
        (lambda run: run.events.where(text__matches="("), "not a regular expression"),
        (lambda run: run.events.where("ERROR"), "a condition is FIELD=VALUE or a function of an event, not 'ERROR'"),
        (lambda run: run.events.slice("sideways"), 'a slice goes "forward" or "backward"'),
        (lambda run: run.events.limit(-1), "a limit of -1: give 0 or more"),
        (lambda run: run.events.limit("3"), "a limit of '3': give 0 or more, a whole number"),
        (lambda run: run.events.limit(2.5), "a limit of 2.5: give 0 or more, a whole number"),
        (lambda run: run.events.group_by("kind").count().limit(2.5), "a limit of 2.5: give 0 or more"),
        (lambda run: run.events.order_by(5), "events have no field '5'"),
        (lambda run: run.events.slice(max_hops="3"), "max_hops is '3'; give 0 or more"),
        (lambda run: run.events.slice(max_network_hops=1.5), "max_network_hops is 1.5; give 0 or more"),
        (lambda run: run.slice("a"), "a slice starts at events of the run, not at 'a'; give numbers of events"),
        (
            lambda run: run.requests.named("Wite").count(),
            "has no request named 'Wite'; its requests: Read, SubmitWrite",
        ),
        (lambda run: run.requests.where(kind="request").named("Read"), "name the requests first"),
        (
            lambda run: run.aggregate("module").diff(run.aggregate("function")),
            "only aggregates of one level can be compared",
        ),
        (lambda run: run.aggregate("module").diff(3), "write .diff(other.slice().aggregate('module'))"),
        (lambda run: run.aggregate("module").slice(), "write .slice(…).aggregate(LEVEL)"),
        (lambda run: run.aggregate("modul").nodes, "unknown level 'modul'; did you mean 'module'?"),
    ],
)
def test_query_invalid_call_is_refused_with_advice(opened, ask, message):
    with pytest.raises(ClewError, match=re.escape(message)):
        ask(opened)


def test_query_unknown_attribute_raises_attribute_error(opened):
    assert not hasattr(opened.events, "frobnicate")
    with pytest.raises(AttributeError, match="EventQuery has no 'frobnicate'"):
        getattr(opened.events, "frobnicate")


def test_open_run_by_name_or_error_lists_runs(new_run, tmp_path):
    store(new_run("first"))
    store(new_run("second"))
    assert open_run("first", workspace=tmp_path).info.name == "first"
    assert open_run(workspace=tmp_path).info.name == "second"
    with pytest.raises(RunError, match=r"no run named 'third'.*second, first"):
        open_run("third", workspace=tmp_path)
    with pytest.raises(RunError, match="not a run"):
        open_run(tmp_path / "nowhere")


def test_clew_open_accepts_a_run_folder(new_run):
    import clew

    folder = store(new_run("named")).folder
    assert clew.open(folder).events.where(kind="request").count() == 3


def test_requests_named_in_run_without_requests_raises_with_advice(run):
    run.process().thread().enter("f").put(Kind.MARK, channel="x")
    opened = open_run(run.write())
    assert opened.requests.count() == 0
    with pytest.raises(QueryError, match="mark one in the spec: request FUNCTION as NAME"):
        opened.requests.named("x").count()
