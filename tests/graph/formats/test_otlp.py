"""Read OTLP: resources, source locations, log lines, links, protobuf framings, and oddities of real exporters."""

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


def test_otlp_resources_are_processes_and_machines(import_trace):
    one, other = traces(span("a", 1), host_name="m1", process_pid="7"), traces(span("b", 2), host_name="m2")
    found = import_trace(json.dumps(one) + "\n" + json.dumps(other))
    assert [(process.name, process.host, process.pid) for process in found.graph.processes] == [
        ("shop #1", "m1", 7), ("shop #2", "m2", 0),
    ]  # fmt: skip
    assert [machine.name for machine in found.graph.machines] == ["m1", "m2"]
    assert {site.component for site in found.graph.sites[1:]} == {"shop"}


def test_otlp_code_attributes_are_source_locations(import_trace):
    place = {
        "code.file.path": "/src/app.py",
        "code.line.number": "12",
        "code.function.name": "pay",
        "code.namespace": "app",
    }
    old = {"code.filepath": "/src/app.py", "code.lineno": "30", "code.function": "refund"}
    found = import_trace(
        traces(span("pay", 1, attributes=writers.pairs(place)), span("POST /refund", 2, attributes=writers.pairs(old)))
    )
    sites = {(site.label, site.file, site.line) for site in found.graph.sites[1:]}
    # A span named after its function is in the function's module; any other span keeps its own name.
    assert sites == {("app:pay", "/src/app.py", 12), ("shop:POST /refund", "/src/app.py", 30)}


def test_otlp_sequential_spans_of_a_thread_are_calls_of_one_strand(import_trace):
    thread = {"attributes": writers.pairs({"thread.name": "worker"})}
    found = import_trace(traces(span("a", 1, **thread), span("b", 2, 10, 20, 1, **thread), span("c", 3, 30, 40, 1)))
    assert [strand.name for strand in found.graph.strands] == ["worker"]
    assert found.edges() == []


def test_otlp_concurrent_siblings_have_separate_joined_strands(import_trace):
    found = import_trace(traces(span("a", 1), span("b", 2, 10, 50, 1), span("c", 3, 30, 70, 1)))
    assert len(found.graph.strands) == 3
    assert found.edges() == [
        ("span.end", S + 50, S + 50, "b", "a"), ("span.end", S + 70, S + 70, "c", "a"),
        ("span.start", S + 10, S + 10, "a", "b"), ("span.start", S + 30, S + 30, "a", "c"),
    ]  # fmt: skip


def test_otlp_client_and_server_spans_have_request_and_response(import_trace):
    client, server = traces(span("GET", 1, kind=3)), traces(span("/x", 2, 10, 60, 1, kind=2))
    server["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] = "bank"
    found = import_trace(client, server)
    assert found.edges() == [("request", S + 10, S + 10, "GET", "/x"), ("response", S + 60, S + 60, "/x", "GET")]
    assert found.graph.edge_crosses.all()


def test_otlp_log_in_span_has_level_text_logger_and_attributes(import_trace):
    record = {
        "timeUnixNano": str(S + 50), "severityNumber": 17, "body": {"stringValue": "no money"}, "traceId": TRACE.upper(),
        "spanId": f"{1:016x}", "attributes": [{"key": "amount", "value": {"intValue": "7"}}],
    }  # fmt: skip
    found = import_trace(traces(span("a", 1)), lines(record))
    assert found.logs() == [("no money", 40, S + 50, "a")]
    row = found.graph.rows_of([Kind.LOG])[0]
    assert found.graph.channel(row) == "app.log"
    assert (found.graph.channel(row + 1), found.graph.text(row + 1)) == ("attributes", '{"amount":7}')


def test_otlp_log_outside_its_span_keeps_time_and_follows_from_it(import_trace):
    late = {"timeUnixNano": str(S + 500), "body": {"stringValue": "late"}, "traceId": TRACE, "spanId": f"{1:016x}"}
    found = import_trace(traces(span("a", 1)), lines(late))
    assert [(text, time) for text, _, time, _ in found.logs()] == [("late", S + 500)]
    assert found.edges() == [("log", S + 100, S + 500, "a", "")]
    assert "1 log: outside of its span's time; shown in the strand of logs" in found.problems


def test_otlp_logs_without_span_are_independent(import_trace):
    found = import_trace(lines(*({"timeUnixNano": str(S + n), "body": {"stringValue": f"l{n}"}} for n in range(3))))
    rows = found.graph.rows_of([Kind.LOG])
    assert len(set(found.graph.region[rows].tolist())) == 3 and len(found.graph.strands) == 1


def test_otlp_exceptions_are_logs_and_links_are_edges(import_trace):
    event = {"timeUnixNano": str(S + 5), "name": "exception",
             "attributes": writers.pairs({"exception.type": "ValueError", "exception.message": "no"})}  # fmt: skip
    linked = {"links": [{"traceId": TRACE, "spanId": f"{1:016x}"}, {"traceId": TRACE, "spanId": f"{99:016x}"}]}
    found = import_trace(traces(span("a", 1, events=[event], status={"code": 2}), span("b", 2, 200, 300, **linked)))
    assert found.logs() == [("ValueError: no", 40, S + 5, "a")]
    assert found.edges() == [("link", S + 100, S + 200, "a", "b")]
    assert "1 link: its span is not in the file" in found.problems


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)], ids=["gzip", "zstd"]
)
@pytest.mark.parametrize(
    "write", [lambda spans: json.dumps(writers.otlp(spans)).encode(), writers.otlp_protobuf], ids=["json", "protobuf"]
)
def test_otlp_compressed_file_is_read(import_trace, pack, write):
    spans = [writers.Span("a", 10, 20), writers.Span("b", 12, 14, 0)]
    assert import_trace(pack(write(spans))).spans() == [("a", 10_000, 20_000), ("b", 12_000, 14_000)]


def test_otlp_protobuf_framed_or_concatenated_is_read(import_trace):
    one, other = (writers.otlp_protobuf([writers.Span(name, 10, 20)]) for name in "ab")
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in (one, other))
    for data in (one + other, framed):
        assert [name for name, *_ in import_trace(data).spans()] == ["a", "b"]


def test_otlp_protobuf_logs_are_read(import_trace):
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=S, severity_number=13)
    record.body.string_value = "hm"
    assert import_trace(data.SerializeToString()).logs() == [("hm", 30, S, "")]


def test_otlp_log_without_time_and_span_is_put_at_file_start(import_trace):
    untold, told = {"timeUnixNano": "0", "body": {"stringValue": "when?"}}, {"body": {"stringValue": "then"}}
    found = import_trace(lines(untold, told | {"observedTimeUnixNano": str(S + 5)}))
    assert found.logs() == [("then", 20, S + 5, ""), ("when?", 20, S + 5, "")]
    assert found.problems == ["1 log: it has no time and no span; placed at the start of the file"]
    assert import_trace(lines(untold)).logs() == [("when?", 20, 0, "")]


def test_otlp_protobuf_reads_the_same_as_json(import_trace):
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=S, dropped_attributes_count=2)
    record.event_name = "cart.emptied"
    record.attributes.add(key="raw").value.bytes_value = b"\x00\xff"
    written = {
        "timeUnixNano": str(S), "droppedAttributesCount": 2, "eventName": "cart.emptied",
        "attributes": [{"key": "raw", "value": {"bytesValue": "AP8="}}],
    }  # fmt: skip
    both = import_trace(data.SerializeToString()), import_trace(lines(written))
    for found in both:
        assert found.logs() == [("cart.emptied", 20, S, "")]
        assert found.problems == ["2 attributes: dropped by the writer of the file"]
    texts = [[one.graph.text(row) for row in one.graph.rows_of([Kind.PAYLOAD]).tolist()] for one in both]
    assert texts[0] == texts[1] == ['{"raw":"AP8="}']


def test_otlp_metrics_are_not_read_as_spans(import_trace):
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    data = MetricsData()
    metric = (
        data.resource_metrics.add().scope_metrics.add().metrics.add(name="of sixteen bytes", description="requests")
    )
    metric.sum.data_points.add(as_int=3, time_unix_nano=S)
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="cpu", description="used")
    metric.gauge.data_points.add(as_double=3.5, time_unix_nano=S)
    with pytest.raises(FormatError, match="the trace contains no spans and no logs"):
        import_trace(data.SerializeToString())
    found = import_trace(data.SerializeToString() + writers.otlp_protobuf([writers.Span("a", 10, 20)]))
    assert [name for name, *_ in found.spans()] == ["a"]
    assert found.problems == ["2 fields: unknown at the top, left out: resourceMetrics"]


def test_otlp_resource_after_its_spans_is_read(import_trace):
    resource = traces(span("a", 1))["resourceSpans"][0]
    late = {"scopeSpans": resource["scopeSpans"], "resource": resource["resource"]}
    assert import_trace({"resourceSpans": [late]}).graph.processes[0].name == "shop"


def test_otlp_wrapped_by_other_servers_is_read(import_trace):
    tempo = {"batches": traces(span("a", 1))["resourceSpans"]}
    jaeger = {"result": traces(span("a", 1))}
    for document in (tempo, jaeger, [traces(span("a", 1))]):
        assert [name for name, *_ in import_trace(document).spans()] == ["a"]


def test_otlp_ids_in_base64_are_read_and_reported(import_trace):
    odd = span("a", 1) | {"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXM="}
    found = import_trace(traces(odd))
    assert "2 ids: base64 instead of hexadecimal; decoded" in found.problems


def test_otlp_ids_of_64_and_128_bits_are_of_one_trace(import_trace):
    short = span("b", 2, 10, 20, 1) | {"traceId": TRACE[16:]}
    found = import_trace(traces(span("a", 1), short))
    assert found.parents() == {"a": None, "b": "a"}
    assert "1 trace id: 64 bits of an id of 128; taken as the same trace" in found.problems


@pytest.mark.parametrize("change, said", [
    ({"parentSpanId": f"{9:016x}"}, "1 span: its parent is not in the file; taken as a root"),
    ({"parentSpanId": f"{2:016x}"}, "1 cycle of parents: cut at its earliest span"),
    ({"spanId": f"{1:016x}"}, "1 span: its id is not unique; taken as a separate span"),
    ({"spanId": "xyz"}, "1 span id: not 16 hexadecimal digits; taken as a name"),
    ({"traceId": "abc-1"}, "1 trace id: neither 16 nor 32 hexadecimal digits; taken as a name"),
    ({"traceId": ""}, "1 span: it has no trace id"),
    ({"endTimeUnixNano": str(S + 1)}, "1 span: its end is before its start; shown with no duration"),
    ({"endTimeUnixNano": str(S + 10)}, "1 span: it has no duration"),
    ({"endTimeUnixNano": "0"}, "1 span: it has no end; taken to end with its last event"),
    ({"startTimeUnixNano": None}, "1 span: it has no start; taken to start with its parent"),
    ({"startTimeUnixNano": "soon"}, "1 time: not a number; left out"),
    ({"endTimeUnixNano": str(1 << 63)}, "1 time: before 1897 or after 2116; moved to that bound"),
    ({"startTimeUnixNano": "1000", "endTimeUnixNano": "2000"}, "1 span: it starts more than 400 days from most others"),
    ({"colour": "red"}, "1 field: unknown in a span, left out: colour"),
    ({"droppedEventsCount": 3}, "3 logs: dropped by the writer of the file"),
    ({"parentSpanId": f"{1:016x}", "startTimeUnixNano": str(S - 2_000_000)},
     "1 span: it starts before its parent, in the same process, by up to 2.000 ms"),
])  # fmt: skip
def test_otlp_odd_spans_are_read_and_counted(import_trace, change, said):
    found = import_trace(traces(span("a", 1), span("c", 3), span("b", 2, 10, 20) | change))
    assert found.read.spans == 3
    assert said in found.problems


def test_otlp_clock_difference_between_machines_is_reported(import_trace):
    other = traces(span("b", 2, -5_000_000, 20, 1))
    other["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] = "bank"
    found = import_trace(traces(span("a", 1)), other)
    assert found.spans()[1] == ("b", S - 5_000_000, S + 20)
    assert found.problems == [
        "1 span: it starts before its caller, because the clocks of machines differ, by up to 5.000 ms"
    ]


@pytest.mark.parametrize("data, said", [
    (b"", "empty"),
    (b"{}", "it contains no trace"),
    (b"hello world", "not in a format"),
    (b'{"a": [1, 2]}', "JSON, but not in a format"),
    (b'{"resourceSpans": [{"resource": {}', "the file is cut off at character"),
    (b'{"resourceSpans": [{"resource": nothing}]}', "invalid JSON at character 32"),
    (b'{"resourceSpans": [}', "invalid JSON at character 19"),
    (b'{"resourceSpans": []}', "the trace contains no spans and no logs"),
    (b'{"resourceSpans": ' + b"[" * 100_000, "nested too deeply"),
    (gzip.compress(b'{"resourceSpans": []}' * 1000, mtime=0)[:40], "damaged or cut off"),
    (b'[{"traceId": "1", "id": "1", "binaryAnnotations": []}]', "version 1"),
])  # fmt: skip
def test_otlp_damaged_file_raises_one_error(import_trace, data, said):
    with pytest.raises(FormatError, match=said) as caught:
        import_trace(data)
    assert "trace0" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "write", [lambda spans: json.dumps(writers.otlp(spans)).encode(), writers.otlp_protobuf], ids=["json", "protobuf"]
)
def test_otlp_truncated_or_corrupted_file_is_read_or_refused(import_trace, write):
    whole = write([writers.Span(f"s{n}", n, n + 3, n - 1 if n else None, logs=[(n, "x")]) for n in range(5)])
    for at in range(1, len(whole), 7):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            try:
                import_trace(data)
            except FormatError as error:
                assert "trace0" in str(error)
