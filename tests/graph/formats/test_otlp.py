"""OTLP: resources, places in the code, lines, links, the protobuf framings, and what is odd about real exporters."""

import gzip
import json

import pyarrow as pa
import pytest

from clew.graph.formats.source import FormatError
from clew.records.format.event import Kind
from tests.support.graphs import span_writers as writers

TRACE, S = "5b8efff798038103d269b633813fc60c", 1_600_000_000_000_000_000


def span(name, id_, start=0, end=100, parent="", **more):
    return {
        "traceId": TRACE, "spanId": f"{id_:016x}", "parentSpanId": parent and f"{parent:016x}", "name": name,
        "startTimeUnixNano": str(S + start), "endTimeUnixNano": str(S + end), **more,
    }  # fmt: skip


def traces(*spans, **resource):
    attributes = writers.pairs(
        {"service.name": "shop", **{key.replace("_", "."): value for key, value in resource.items()}}
    )
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}]}


def lines(*records, service="shop"):
    attributes = writers.pairs({"service.name": service})
    scope = {"scope": {"name": "app.log"}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [scope]}]}


def test_resources_are_processes_and_machines(look):
    one, other = traces(span("a", 1), host_name="m1", process_pid="7"), traces(span("b", 2), host_name="m2")
    found = look(json.dumps(one) + "\n" + json.dumps(other))
    assert [(process.name, process.host, process.pid) for process in found.graph.processes] == [
        ("shop #1", "m1", 7), ("shop #2", "m2", 0),
    ]  # fmt: skip
    assert [machine.name for machine in found.graph.machines] == ["m1", "m2"]
    assert {site.component for site in found.graph.sites[1:]} == {"shop"}


def test_code_attributes_are_places(look):
    place = {
        "code.file.path": "/src/app.py",
        "code.line.number": "12",
        "code.function.name": "pay",
        "code.namespace": "app",
    }
    old = {"code.filepath": "/src/app.py", "code.lineno": "30", "code.function": "refund"}
    found = look(
        traces(span("pay", 1, attributes=writers.pairs(place)), span("POST /refund", 2, attributes=writers.pairs(old)))
    )
    sites = {(site.label, site.file, site.line) for site in found.graph.sites[1:]}
    # A span that is named after its function is in the function's module; another one keeps the name that it is known by.
    assert sites == {("app:pay", "/src/app.py", 12), ("shop:POST /refund", "/src/app.py", 30)}


def test_threads_are_strands_and_what_is_sequential_in_one_is_a_call(look):
    thread = {"attributes": writers.pairs({"thread.name": "worker"})}
    found = look(traces(span("a", 1, **thread), span("b", 2, 10, 20, 1, **thread), span("c", 3, 30, 40, 1)))
    assert [strand.name for strand in found.graph.strands] == ["worker"]
    assert found.edges() == []


def test_siblings_at_once_have_strands_of_their_own_and_are_joined(look):
    found = look(traces(span("a", 1), span("b", 2, 10, 50, 1), span("c", 3, 30, 70, 1)))
    assert len(found.graph.strands) == 3
    assert found.edges() == [
        ("span.end", S + 50, S + 50, "b", "a"), ("span.end", S + 70, S + 70, "c", "a"),
        ("span.start", S + 10, S + 10, "a", "b"), ("span.start", S + 30, S + 30, "a", "c"),
    ]  # fmt: skip


def test_client_and_server_exchange_messages(look):
    client, server = traces(span("GET", 1, kind=3)), traces(span("/x", 2, 10, 60, 1, kind=2))
    server["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] = "bank"
    found = look(client, server)
    assert found.edges() == [("request", S + 10, S + 10, "GET", "/x"), ("response", S + 60, S + 60, "/x", "GET")]
    assert found.graph.edge_crosses.all()


def test_lines_are_in_their_spans_with_level_text_logger_and_attributes(look):
    record = {
        "timeUnixNano": str(S + 50), "severityNumber": 17, "body": {"stringValue": "no money"}, "traceId": TRACE.upper(),
        "spanId": f"{1:016x}", "attributes": [{"key": "amount", "value": {"intValue": "7"}}],
    }  # fmt: skip
    found = look(traces(span("a", 1)), lines(record))
    assert found.logs() == [("no money", 40, S + 50, "a")]
    row = found.graph.rows_of([Kind.LOG])[0]
    assert found.graph.channel(row) == "app.log"
    assert (found.graph.channel(row + 1), found.graph.text(row + 1)) == ("attributes", '{"amount":7}')


def test_a_line_outside_of_its_span_keeps_its_time_and_follows_from_the_span(look):
    late = {"timeUnixNano": str(S + 500), "body": {"stringValue": "late"}, "traceId": TRACE, "spanId": f"{1:016x}"}
    found = look(traces(span("a", 1)), lines(late))
    assert [(text, time) for text, _, time, _ in found.logs()] == [("late", S + 500)]
    assert found.edges() == [("log", S + 100, S + 500, "a", "")]
    assert "1 log: outside of its span's time; shown beside it" in found.problems


def test_lines_of_no_span_do_not_follow_from_each_other(look):
    found = look(lines(*({"timeUnixNano": str(S + n), "body": {"stringValue": f"l{n}"}} for n in range(3))))
    rows = found.graph.rows_of([Kind.LOG])
    assert len(set(found.graph.region[rows].tolist())) == 3 and len(found.graph.strands) == 1


def test_exceptions_and_links(look):
    event = {"timeUnixNano": str(S + 5), "name": "exception",
             "attributes": writers.pairs({"exception.type": "ValueError", "exception.message": "no"})}  # fmt: skip
    linked = {"links": [{"traceId": TRACE, "spanId": f"{1:016x}"}, {"traceId": TRACE, "spanId": f"{99:016x}"}]}
    found = look(traces(span("a", 1, events=[event], status={"code": 2}), span("b", 2, 200, 300, **linked)))
    assert found.logs() == [("ValueError: no", 40, S + 5, "a")]
    assert found.edges() == [("link", S + 100, S + 200, "a", "b")]
    assert "1 link: its span is not in the file" in found.problems


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)], ids=["gzip", "zstd"]
)
@pytest.mark.parametrize(
    "write", [lambda spans: json.dumps(writers.otlp(spans)).encode(), writers.otlp_protobuf], ids=["json", "protobuf"]
)
def test_compressed(look, pack, write):
    spans = [writers.Span("a", 10, 20), writers.Span("b", 12, 14, 0)]
    assert look(pack(write(spans))).spans() == [("a", 10_000, 20_000), ("b", 12_000, 14_000)]


def test_protobuf_as_the_collector_writes_it_and_messages_that_follow_each_other(look):
    one, other = (writers.otlp_protobuf([writers.Span(name, 10, 20)]) for name in "ab")
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in (one, other))
    for data in (one + other, framed):
        assert [name for name, *_ in look(data).spans()] == ["a", "b"]


def test_protobuf_logs(look):
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=S, severity_number=13)
    record.body.string_value = "hm"
    assert look(data.SerializeToString()).logs() == [("hm", 30, S, "")]


def test_a_line_without_time_and_span_is_put_where_the_file_begins(look):
    untold, told = {"timeUnixNano": "0", "body": {"stringValue": "when?"}}, {"body": {"stringValue": "then"}}
    found = look(lines(untold, told | {"observedTimeUnixNano": str(S + 5)}))
    assert found.logs() == [("then", 20, S + 5, ""), ("when?", 20, S + 5, "")]
    assert found.problems == ["1 log: it has no time and no span; put at the file's beginning"]
    assert look(lines(untold)).logs() == [("when?", 20, 0, "")]


def test_protobuf_tells_what_json_tells(look):
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=S, dropped_attributes_count=2)
    record.event_name = "cart.emptied"
    record.attributes.add(key="raw").value.bytes_value = b"\x00\xff"
    written = {
        "timeUnixNano": str(S), "droppedAttributesCount": 2, "eventName": "cart.emptied",
        "attributes": [{"key": "raw", "value": {"bytesValue": "AP8="}}],
    }  # fmt: skip
    both = look(data.SerializeToString()), look(lines(written))
    for found in both:
        assert found.logs() == [("cart.emptied", 20, S, "")]
        assert found.problems == ["2 attributes: left out by who wrote the file"]
    texts = [[one.graph.text(row) for row in one.graph.rows_of([Kind.PAYLOAD]).tolist()] for one in both]
    assert texts[0] == texts[1] == ['{"raw":"AP8="}']


def test_metrics_are_no_spans(look):
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    data = MetricsData()
    metric = (
        data.resource_metrics.add().scope_metrics.add().metrics.add(name="of sixteen bytes", description="requests")
    )
    metric.sum.data_points.add(as_int=3, time_unix_nano=S)
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="cpu", description="used")
    metric.gauge.data_points.add(as_double=3.5, time_unix_nano=S)
    with pytest.raises(FormatError, match="no span and no log in it"):
        look(data.SerializeToString())
    found = look(data.SerializeToString() + writers.otlp_protobuf([writers.Span("a", 10, 20)]))
    assert [name for name, *_ in found.spans()] == ["a"]
    assert found.problems == ["2 fields: not known at the top, left out: resourceMetrics"]


def test_heads_that_come_after_what_they_are_about(look):
    resource = traces(span("a", 1))["resourceSpans"][0]
    late = {"scopeSpans": resource["scopeSpans"], "resource": resource["resource"]}
    assert look({"resourceSpans": [late]}).graph.processes[0].name == "shop"


def test_otlp_in_the_wrappings_of_other_servers_is_read(look):
    tempo = {"batches": traces(span("a", 1))["resourceSpans"]}
    jaeger = {"result": traces(span("a", 1))}
    for document in (tempo, jaeger, [traces(span("a", 1))]):
        assert [name for name, *_ in look(document).spans()] == ["a"]


def test_ids_in_base64_are_understood_and_told(look):
    odd = span("a", 1) | {"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXM="}
    found = look(traces(odd))
    assert "2 ids: written in base64, against the protocol; understood" in found.problems


def test_ids_of_64_and_128_bits_are_of_one_trace(look):
    short = span("b", 2, 10, 20, 1) | {"traceId": TRACE[16:]}
    found = look(traces(span("a", 1), short))
    assert found.parents() == {"a": None, "b": "a"}
    assert "1 trace id: 64 bits of an id of 128; taken as the same trace" in found.problems


@pytest.mark.parametrize("change, said", [
    ({"parentSpanId": f"{9:016x}"}, "1 span: its parent is not in the file; taken as a root"),
    ({"parentSpanId": f"{2:016x}"}, "1 circle of parents: cut at its earliest span"),
    ({"spanId": f"{1:016x}"}, "1 span: its id was there before; kept as a span of its own"),
    ({"spanId": "xyz"}, "1 span id: not 16 hexadecimal digits; taken as a name"),
    ({"traceId": "abc-1"}, "1 trace id: neither 16 nor 32 hexadecimal digits; taken as a name"),
    ({"traceId": ""}, "1 span: it has no trace id"),
    ({"endTimeUnixNano": str(S + 1)}, "1 span: its end is before its beginning; shown to take no time"),
    ({"endTimeUnixNano": str(S + 10)}, "1 span: it takes no time"),
    ({"endTimeUnixNano": "0"}, "1 span: it has no end; taken to end with the last that it has"),
    ({"startTimeUnixNano": None}, "1 span: it has no beginning; taken to begin with its parent"),
    ({"startTimeUnixNano": "soon"}, "1 time: not a number; left out"),
    ({"endTimeUnixNano": str(1 << 63)}, "1 time: before 1897 or after 2116; moved to that bound"),
    ({"startTimeUnixNano": "1000", "endTimeUnixNano": "2000"}, "1 span: it begins more than 400 days from most others"),
    ({"colour": "red"}, "1 field: not known in a span, left out: colour"),
    ({"droppedEventsCount": 3}, "3 logs: left out by who wrote the file"),
    ({"parentSpanId": f"{1:016x}", "startTimeUnixNano": str(S - 2_000_000)},
     "1 span: it begins before its parent, in the same process, by up to 2.000 ms"),
])  # fmt: skip
def test_otlp_with_odd_spans_opens_and_counts_them(look, change, said):
    found = look(traces(span("a", 1), span("c", 3), span("b", 2, 10, 20) | change))
    assert found.read.spans == 3
    assert said in found.problems


def test_machines_whose_clocks_differ_are_told(look):
    other = traces(span("b", 2, -5_000_000, 20, 1))
    other["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] = "bank"
    found = look(traces(span("a", 1)), other)
    assert found.spans()[1] == ("b", S - 5_000_000, S + 20)
    assert found.problems == [
        "1 span: it begins before the span that called it: clocks of machines differ, by up to 5.000 ms"
    ]


@pytest.mark.parametrize("data, said", [
    (b"", "empty"),
    (b"{}", "there is no trace in it"),
    (b"hello world", "of no format"),
    (b'{"a": [1, 2]}', "JSON, but of none of the formats"),
    (b'{"resourceSpans": [{"resource": {}', "it ends in the middle, at character"),
    (b'{"resourceSpans": [{"resource": nothing}]}', "no JSON at character 32"),
    (b'{"resourceSpans": [}', "no JSON at character 19"),
    (b'{"resourceSpans": []}', "no span and no log in it"),
    (b'{"resourceSpans": ' + b"[" * 100_000, "nested too deeply"),
    (gzip.compress(b'{"resourceSpans": []}' * 1000, mtime=0)[:40], "damaged or cut off"),
    (b'[{"traceId": "1", "id": "1", "binaryAnnotations": []}]', "version 1"),
])  # fmt: skip
def test_a_damaged_file_is_one_clear_error(look, data, said):
    with pytest.raises(FormatError, match=said) as caught:
        look(data)
    assert "trace0" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "write", [lambda spans: json.dumps(writers.otlp(spans)).encode(), writers.otlp_protobuf], ids=["json", "protobuf"]
)
def test_however_a_file_is_cut_or_bent_it_is_read_or_refused(look, write):
    whole = write([writers.Span(f"s{n}", n, n + 3, n - 1 if n else None, logs=[(n, "x")]) for n in range(5)])
    for at in range(1, len(whole), 7):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            try:
                look(data)
            except FormatError as error:
                assert "trace0" in str(error)
