"""Runs exported as OTLP and Chrome trace events are accepted by other readers and imported unchanged."""

import io
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.formats.writers.chrome import write_chrome
from clew.graph.formats.writers.otlp import write_json, write_protobuf
from clew.graph.model.gaps import gaps
from clew.graph.model.graph import Gap
from clew.records.format.event import FLAG_OVER, Kind
from tests.support.examples import examples

WRITERS = {"otlp": write_json, "otlp-proto": write_protobuf, "chrome": write_chrome}
ACTIONS = (
    "enter",
    "exit",
    "unwind",
    "send",
    "receive",
    "join",
    "log",
    "mark",
    "define",
    "use",
    "release",
    "acquire",
    "begin",
)


def written(graph, format_):
    file = io.BytesIO()
    WRITERS[format_](graph, file)
    return file.getvalue()


def scopes(graph):
    """Return for every call its function, both times, how it ended, its caller's beginning, its process and strand."""
    rows = zip(graph.calls.enter.tolist(), graph.calls.exit.tolist(), graph.calls.caller.tolist(), strict=True)
    return Counter(
        (
            graph.function(enter),
            graph.wall_ns(enter),
            graph.wall_ns(exit_),
            int(graph.kind[exit_]),
            graph.wall_ns(caller) if caller >= 0 else None,
            graph.process_of(enter).name,
            graph.strand_of(enter).name,
        )
        for enter, exit_, caller in rows
    )


def edges(graph):
    rows = zip(
        graph.edge_src.tolist(),
        graph.edge_dst.tolist(),
        graph.edge_kind.tolist(),
        graph.edge_channel.tolist(),
        strict=True,
    )
    return Counter(
        (
            graph.wall_ns(source),
            graph.wall_ns(target),
            kind,
            graph.strings[channel],
            int(graph.kind[source]),
            int(graph.kind[target]),
        )
        for source, target, kind, channel in rows
    )


def lines(graph):
    found = []
    for row in graph.rows_of([Kind.LOG, Kind.MARK]).tolist():
        level = graph.key(row) if graph.kind[row] == Kind.LOG else 0
        found.append(
            (graph.wall_ns(row), int(graph.kind[row]), graph.text(row), level, graph.channel(row), graph.location(row))
        )
    return sorted(found, key=repr)


def record(run, actions):
    """Record actions of threads of two processes; calls that are open at the end exit."""
    threads = []
    for name in ("client", "server"):
        process = run.process(name)
        threads += [process.thread("main"), process.thread("worker")]
    open_ = [[] for _ in threads]
    for number, what, value in actions:
        thread, stack = threads[number], open_[number]
        if what == "enter":
            stack.append(f"app.{value}:f{value}")
            thread.enter(stack[-1])
        elif what in ("exit", "unwind"):
            if stack:
                getattr(thread, what)(stack.pop())
        elif what == "log":
            thread.log(f"line {value} ü", level=(10, 20, 40)[value % 3], function="app:f" if value % 2 else "", line=7)
        elif what == "mark":
            thread.put(Kind.MARK, channel=f"mark {value}", text=str(value))
        elif what == "begin":
            thread.begin(value, "handle").end() if value % 2 else thread.begin()
        else:
            getattr(thread, what)(value)
    for thread, stack in zip(threads, open_, strict=True):
        while stack:
            thread.exit(stack.pop())
    return run.graph()


@pytest.mark.parametrize("format_", list(WRITERS))
def test_export_import_round_trip_keeps_calls_edges_and_lines(new_run, import_trace, format_):
    @settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(ACTIONS), st.integers(0, 4)), min_size=1, max_size=40))
    def check(actions):
        graph = record(new_run(), actions)
        if not len(graph.calls.enter) and not len(graph.edge_src) and not len(graph.rows_of([Kind.LOG, Kind.MARK])):
            return
        back = import_trace(written(graph, format_)).graph
        assert scopes(back) == scopes(graph)
        assert edges(back) == edges(graph)
        assert lines(back) == lines(graph)

    check()


@pytest.fixture
def graph(run):
    server, client = run.process("server").thread(), run.process("client").thread()
    client.enter("app:call").send("m").log("calling")
    server.enter("app:serve").receive("m").enter("app:read").unwind("app:read").send("r").exit("app:serve")
    client.join("r").exit("app:call")
    return run.graph()


def test_export_otlp_protobuf_is_read_by_opentelemetry(graph):
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    data = TracesData.FromString(written(graph, "otlp-proto"))
    spans = [span for resource in data.resource_spans for scope in resource.scope_spans for span in scope.spans]
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans) and all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans)
    named = {span.name: span for span in spans}
    assert by_id[named["read"].parent_span_id].name == "serve"
    # The parent of a span in another process is the span that sent the message.
    assert by_id[named["serve"].parent_span_id].name == "call"
    assert named["read"].status.code == 2
    assert {link.span_id for link in named["call"].links} == {named["serve"].span_id}
    assert {resource.resource.attributes[0].value.string_value for resource in data.resource_spans} == {
        "server",
        "client",
    }


def test_export_otlp_json_and_protobuf_have_equal_spans(graph):
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    document = json.loads(written(graph, "otlp"))
    data = TracesData.FromString(written(graph, "otlp-proto"))
    told = [
        (span["spanId"], span["name"], int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]), len(span["links"]))
        for resource in document["resourceSpans"]
        for span in resource["scopeSpans"][0]["spans"]
    ]
    assert told == [
        (span.span_id.hex(), span.name, span.start_time_unix_nano, span.end_time_unix_nano, len(span.links))
        for resource in data.resource_spans
        for span in resource.scope_spans[0].spans
    ]


def test_export_otlp_ids_are_the_same_in_every_export(graph):
    assert written(graph, "otlp") == written(graph, "otlp")


def check_trace_events(events):
    """Check what Perfetto's importer requires: slices of a thread nest, flows and asynchronous slices have both ends."""
    named = {(event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    stacks, flows, pairs = {}, {}, Counter()
    for event in sorted(
        (event for event in events if event["ph"] == "X"), key=lambda event: (event["ts"], -event["dur"])
    ):
        stack = stacks.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        assert not stack or event["ts"] + event["dur"] <= stack[-1] + 1e-6
        stack.append(event["ts"] + event["dur"])
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        assert event["ph"] == "M" or (event["pid"], event["tid"]) in named
        if event["ph"] in "sf":
            flows.setdefault((event["cat"], event["name"], event["id"]), []).append(event["ph"])
        elif event["ph"] in "be":
            pairs[event["id"]] += 1 if event["ph"] == "b" else -1
    assert all(ends == ["s", "f"] for ends in flows.values()) and not any(pairs.values())


def test_export_chrome_meets_rules_of_perfetto(graph):
    document = json.loads(written(graph, "chrome"))
    check_trace_events(document["traceEvents"])
    assert Counter(event["ph"] for event in document["traceEvents"]) == {"M": 4, "X": 3, "s": 2, "f": 2, "i": 1}


def test_export_chrome_calls_that_do_not_nest_are_asynchronous(run, import_trace):
    thread = run.process().thread()
    # A generator is resumed inside another call and ends there.
    thread.enter("app:main").enter("app:gen").suspend("app:gen").enter("app:other")
    thread.resume("app:gen").exit("app:gen").exit("app:other").exit("app:main")
    graph = run.graph()
    document = json.loads(written(graph, "chrome"))
    check_trace_events(document["traceEvents"])
    assert [event["name"] for event in document["traceEvents"] if event["ph"] == "b" and event["cat"] == "call"] == [
        "app:other"
    ]
    for format_ in ("otlp", "chrome"):
        back = import_trace(written(graph, format_))
        assert sorted(name for name, *_ in back.spans()) == ["gen", "main", "other"]
        assert back.parents()["other"] == "main" or format_ == "chrome"


@pytest.fixture
def torn(run):
    """Return the graph of a thread that lost records and later only counted some calls."""
    process = run.process()
    hot = process.site("app:hot")
    thread = process.thread()
    thread.enter("app:main", at=1000).put(Kind.MARK, at=2000).enter("app:cold").exit("app:cold")
    thread.put(Kind.GAP, hot, key=0, text="too dear", at=3000).put(Kind.GAP, hot, key=41, flags=FLAG_OVER, at=5000)
    thread.exit("app:main", at=6000)
    process.counters["app:hot"] = 41
    return replace(run.graph(), lost=(Gap(0, 0, 1, None, "they were dropped"),))


def test_export_of_missing_events_writes_lost_records_that_import_reads(torn, import_trace):
    assert [(gap.lost, gap.why) for gap in gaps(torn)] == [(None, "they were dropped"), (41, "app:hot: too dear")]
    events = json.loads(written(torn, "chrome"))["traceEvents"]
    check_trace_events(events)
    lost = [(event["ph"], event["ts"], event["args"]) for event in events if event["name"] == "lost records"]
    begun, counted = torn.ts[0] / 1000, {"why": "app:hot: too dear", "lost": 41}
    assert lost == [
        ("b", begun, {"why": "they were dropped"}),
        ("e", begun + 1, {"why": "they were dropped"}),
        ("b", begun + 2, counted),
        ("e", begun + 4, counted),
    ]
    for format_ in WRITERS:
        back = import_trace(written(torn, format_)).graph
        assert scopes(back) == scopes(torn), format_
        assert sorted((gap.lost or 0, gap.why) for gap in gaps(back)) == [
            (0, "they were dropped"),
            (41, "app:hot: too dear"),
        ]
        assert {back.wall_ns(gap.before) - torn.wall_ns(0) for gap in gaps(back)} == {1000, 4000}


def test_export_chrome_counted_calls_are_imported_again(torn, import_trace):
    assert json.loads(written(torn, "chrome"))["otherData"]["clew.counted"] == {"app:hot": 41}
    back = import_trace(written(torn, "chrome")).graph
    assert {back.sites[site].label: calls for site, calls in back.counted.items()} == {"app:hot": 41}


def test_export_chrome_suspensions_are_slices_but_not_calls(run, import_trace):
    thread = run.process().thread()
    thread.enter("app:main", at=0).enter("app:gen", at=1000).suspend("app:gen", at=2000).resume("app:gen", at=5000)
    thread.exit("app:gen", at=6000).exit("app:main", at=7000)
    graph = run.graph()
    events = json.loads(written(graph, "chrome"))["traceEvents"]
    check_trace_events(events)
    begun = graph.ts[0] / 1000
    slept = [(event["ph"], event["ts"] - begun, event["name"]) for event in events if event.get("cat") == "suspended"]
    assert slept == [("b", 2, "app:gen"), ("e", 5, "app:gen")]
    assert scopes(import_trace(written(graph, "chrome")).graph) == scopes(graph)


def test_import_chrome_foreign_slice_of_category_gap_is_a_span(import_trace):
    events = [
        {"ph": phase, "cat": "gap", "name": "pause", "id": 1, "pid": 1, "tid": 1, "ts": ts}
        for phase, ts in (("b", 1), ("e", 5))
    ]
    assert [name for name, *_ in import_trace({"traceEvents": events}).spans()] == ["pause"]


def test_export_of_imported_trace_keeps_calls_and_edges(import_trace):
    place = {"localEndpoint": {"serviceName": "x"}, "traceId": "1"}
    spans = [place | {"id": f"{n}", "name": f"s{n}", "timestamp": 1000 + n, "duration": 9 - n} for n in range(1, 5)]
    for number, span in enumerate(spans[1:], 1):
        span["parentId"] = f"{number}"
    graph = import_trace(spans).graph
    for format_ in WRITERS:
        back = import_trace(written(graph, format_)).graph
        assert scopes(back) == scopes(graph) and edges(back) == edges(graph)


def test_export_leaves_out_empty_strand(run, import_trace):
    process = run.process()
    process.thread("idle")
    process.thread("busy").enter("app:f").exit("app:f")
    back = import_trace(written(run.graph(), "otlp")).graph
    assert [strand.name for strand in back.strands] == ["busy"] and np.all(back.strand == 0)
