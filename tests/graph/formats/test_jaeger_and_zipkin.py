"""Read what only Jaeger's or Zipkin's JSON has: references, processes after spans, two span halves with one id."""

import json

import numpy as np
import pytest

from clew.graph.formats.source import FormatError


def jaeger_span(name, id_, start=0, duration=100, *references, process="p1", **more):
    return {
        "traceID": "a1", "spanID": f"{id_:x}", "operationName": name, "startTime": 1_000 + start, "duration": duration,
        "references": [{"refType": kind, "traceID": "a1", "spanID": f"{parent:x}"} for kind, parent in references],
        "processID": process, **more,
    }  # fmt: skip


def jaeger(*spans, **processes):
    told = {name: {"serviceName": service} for name, service in (processes or {"p1": "shop"}).items()}
    return {"data": [{"traceID": "a1", "spans": list(spans), "processes": told}]}


def test_jaeger_spans_in_every_known_shape_are_read(import_trace):
    answer = jaeger(jaeger_span("a", 1))
    [trace] = answer["data"]
    stored = {key: value for key, value in jaeger_span("a", 1).items() if key != "processID"} | {
        "process": {"serviceName": "shop", "tags": [{"key": "hostname", "value": "m1"}]}, "tag": {"span@kind": "x"},
    }  # fmt: skip
    shapes = (
        answer,
        trace,
        [trace],
        {"data": trace},
        stored,
        json.dumps(stored) + "\n" + json.dumps(stored | {"spanID": "2"}),
    )
    for shape in shapes:
        found = import_trace(shape)
        assert {name for name, *_ in found.spans()} == {"a"}
        assert [process.name for process in found.graph.processes] == ["shop"]


def test_jaeger_process_ids_are_local_to_their_trace(import_trace):
    one, other = jaeger(jaeger_span("a", 1), p1="shop")["data"], jaeger(jaeger_span("b", 2), p1="bank")["data"]
    found = import_trace({"data": one + other})
    assert sorted(site.label for site in found.graph.sites[1:]) == ["bank:b", "shop:a"]


def test_jaeger_undescribed_process_is_named_by_its_id(import_trace):
    found = import_trace(jaeger(jaeger_span("a", 1, process="p9")))
    assert [process.name for process in found.graph.processes] == ["p9"]
    assert "1 process: named by spans, but not described" in found.problems


def test_jaeger_span_that_follows_from_another_is_not_waited_for(import_trace):
    found = import_trace(jaeger(jaeger_span("a", 1), jaeger_span("b", 2, 10, 20, ("FOLLOWS_FROM", 1))))
    assert [edge[:1] + edge[3:] for edge in found.edges()] == [("span.start", "a", "b")]


def test_jaeger_further_references_are_edges(import_trace):
    first, second = jaeger_span("a", 1), jaeger_span("b", 2, 0, 5, ("CHILD_OF", 1))
    found = import_trace(jaeger(first, second, jaeger_span("c", 3, 50, 5, ("FOLLOWS_FROM", 2), ("CHILD_OF", 1))))
    assert found.parents() == {"a": None, "b": "a", "c": "a"}
    assert found.edges() == [("link", 1_005_000, 1_050_000, "b", "c")]


def test_jaeger_trace_in_several_files_is_joined(import_trace):
    found = import_trace(jaeger(jaeger_span("a", 1)), jaeger(jaeger_span("b", 2, 10, 20, ("CHILD_OF", 1)), p1="bank"))
    assert found.parents() == {"a": None, "b": "a"} and found.problems == []


def zipkin_span(name, id_, service, parent=None, start=1_000, duration=100, **more):
    made = {"traceId": "a1", "id": f"{id_:016x}", "name": name, "timestamp": start, "duration": duration,
            "localEndpoint": {"serviceName": service}, **more}  # fmt: skip
    return made | ({"parentId": f"{parent:016x}"} if parent else {})


def test_zipkin_halves_with_one_id_are_caller_and_callee(import_trace):
    found = import_trace([
        zipkin_span("get", 1, "shop", kind="CLIENT"),
        zipkin_span("/x", 1, "bank", kind="SERVER", shared=True, start=1_010, duration=50),
        # The parent of a span is the half in its own service.
        zipkin_span("select", 2, "bank", 1, start=1_020, duration=10),
        zipkin_span("log", 3, "shop", 1, start=1_070, duration=10),
    ])  # fmt: skip
    assert found.parents() == {"get": None, "/x": "get", "select": "/x", "log": "get"}
    assert found.problems == []


def test_zipkin_message_is_not_waited_for(import_trace):
    found = import_trace([
        zipkin_span("send", 1, "shop", kind="PRODUCER"),
        zipkin_span("take", 2, "bank", 1, start=1_010, duration=20, kind="CONSUMER"),
    ])  # fmt: skip
    assert [edge[:1] + edge[3:] for edge in found.edges()] == [("message", "send", "take")]


def test_zipkin_span_without_times_begins_with_its_parent(import_trace):
    bare = {"traceId": "a1", "id": "0000000000000002", "parentId": "0000000000000001", "name": "bare"}
    found = import_trace([zipkin_span("a", 1, "shop", annotations=[{"timestamp": 1_050, "value": "half"}]), bare])
    assert found.spans()[1] == ("bare", 1_000_000, 1_000_000)
    assert found.logs() == [("half", 20, 1_050_000, "a")]


def test_zipkin_traces_in_lists_or_lines_are_read(import_trace):
    spans = [zipkin_span("a", 1, "shop"), zipkin_span("b", 2, "shop")]
    for content in ([[spans[0]], [spans[1]]], "\n".join(map(json.dumps, spans))):
        assert [name for name, *_ in import_trace(content).spans()] == ["a", "b"]


def test_zipkin_version_1_is_refused_with_advice(import_trace):
    with pytest.raises(FormatError, match="api/v2/trace"):
        import_trace([{"traceId": "1", "id": "1", "name": "x", "binaryAnnotations": []}])


def test_zipkin_spans_that_never_overlap_share_a_strand(import_trace):
    spans = [zipkin_span(f"s{n}", n, "shop", start=1_000 + 200 * n) for n in range(1, 50)]
    found = import_trace(spans)
    # Each is a separate region, because their order is coincidental.
    assert len(found.graph.strands) == 1
    assert len(np.unique(found.graph.region[found.graph.calls.enter])) == 49
