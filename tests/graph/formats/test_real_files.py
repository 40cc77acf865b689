"""Real traces of other tools have as many spans and lines as an independent count, and every operator accepts them."""

import gzip
import json
import re
from collections import Counter

import numpy as np
import pytest

from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.causes.why import why
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import Kind

TRAINTICKET = [
    f"{name}{part}" for name in ("healthy-0129", "healthy-0130", "fault-a", "fault-d") for part in ("", "-logs")
]


def use(found):
    """Apply the operators to the graph and check that the critical path adds up."""
    graph = found.graph
    last = int(np.argmax(graph.ts))
    cut = slice_events(graph, [last], "backward")
    path = critical_path(graph, cut)
    assert path.total_ns == sum(segment.self_ns + segment.wait_ns for segment in path.segments)
    nodes = aggregate(cut, "component").by_label().nodes
    assert sum(node.events for node in nodes) == len(cut.events())
    assert why(graph, last)[0].event == last
    for request in graph.rows_of([Kind.REQUEST]).tolist()[:20]:
        slice_events(graph, [request], "forward").events()


@pytest.mark.parametrize("name", ["chord.log", "tsviz_fslock_24t_4sp.log"])
def test_real_vector_clock_logs_have_all_events(import_trace, shared_file, name):
    file = shared_file("shiviz", name)
    text = file.read_text()
    clocks = re.findall(r"^\S+ \{.*\}$", text, re.M)
    found = import_trace(file)
    kinds = Counter(found.graph.kind.tolist())
    calls = len(re.findall(r"(?:Entering|Exiting) ", text))
    assert kinds[Kind.ENTER] + kinds[Kind.EXIT] == calls
    assert kinds[Kind.LOG] == len(clocks) - calls
    assert len(found.graph.strands) == len({clock.split()[0] for clock in clocks})


@pytest.mark.parametrize("name", ["async_simple.json", "multithread.json"])
def test_real_chrome_files_have_all_slices(import_trace, shared_file, name):
    file = shared_file("chrome", name)
    events = json.loads(file.read_text())["traceEvents"]
    found = import_trace(file)
    slices = [event for event in events if event["ph"] == "X"]
    assert found.read.spans == len(slices) and found.problems == []
    assert len(found.graph.strands) == len({(event["pid"], event["tid"]) for event in slices})
    total = sum(end - start for _, start, end in found.spans())
    assert total == pytest.approx(sum(event["dur"] for event in slices) * 1000, abs=len(slices))
    use(found)


def test_real_jaeger_files_have_all_spans(import_trace, shared_file):
    found = import_trace(shared_file("jaeger", "flamegraph.json"))
    assert found.read.spans == 4 and len(found.requests()) == 1
    use(found)
    one, other = (import_trace(shared_file("jaeger", f"otlp2jaeger-{end}.json")) for end in ("in", "out"))
    # Both files have the same trace in two formats, one of them without nanoseconds; its only span is there twice.
    assert [name for name, *_ in one.spans()] == [name for name, *_ in other.spans()] == ["okey-dokey-0"] * 2
    assert [(start // 1000, end // 1000) for _, start, end in one.spans()] == [
        (start // 1000, end // 1000) for _, start, end in other.spans()
    ]
    assert any("its id is not unique" in problem for problem in one.problems)


@pytest.mark.parametrize("name", ["messaging-kafka.json", "smartthings-mobile-web-install.json"])
def test_real_zipkin_files_have_all_spans(import_trace, shared_file, name):
    file = shared_file("zipkin", name)
    spans = json.loads(file.read_text())
    found = import_trace(file)
    assert found.read.spans == len(spans)
    assert found.read.logs == sum(len(span.get("annotations", [])) for span in spans)
    named = Counter(span.get("name", "") for span in spans)
    assert Counter(call for call, *_ in found.spans()) == named
    places = {(s["localEndpoint"]["serviceName"], s["localEndpoint"].get("ipv4"), s["localEndpoint"].get("port"))
              for s in spans if s.get("localEndpoint")}  # fmt: skip
    assert len(found.graph.processes) == len(places)
    use(found)


def test_real_otlp_examples_are_read(import_trace, shared_file):
    found = import_trace(shared_file("otlp", "trace.json"), shared_file("otlp", "logs.json"))
    assert found.spans() == [("I'm a server span", 1544712660000000000, 1544712661000000000)]
    # The log line has the span's ids and a time inside the span.
    assert found.logs() == [("Example log record", 20, 1544712660300000000, "I'm a server span")]


@pytest.mark.parametrize("name", TRAINTICKET)
def test_real_trainticket_files_have_all_spans_and_logs(import_trace, shared_file, name):
    file = shared_file("trainticket", f"{name}.jsonl.gz")
    spans = logs = 0
    with gzip.open(file, "rt") as lines:
        for line in lines:
            document = json.loads(line)
            for resource in document.get("resourceSpans", []):
                spans += sum(len(scope["spans"]) for scope in resource["scopeSpans"])
            for resource in document.get("resourceLogs", []):
                logs += sum(len(scope["logRecords"]) for scope in resource["scopeLogs"])
    found = import_trace(file)
    assert (found.read.spans, found.read.logs) == (spans, logs)
    use(found)


def test_real_log_lines_are_placed_in_spans_of_another_file(import_trace, shared_file):
    found = import_trace(*(shared_file("trainticket", f"healthy-0129{part}.jsonl.gz") for part in ("", "-logs")))
    graph = found.graph
    inside = sum(1 for _, _, _, span in found.logs() if span)
    beside = next(int(problem.split()[0].replace(",", "")) for problem in found.problems if "outside" in problem)
    assert inside + beside <= found.read.logs and inside > 0.7 * found.read.logs
    caused = np.isin(np.flatnonzero(graph.kind == Kind.RECEIVE), graph.edge_dst)
    assert caused.mean() > 0.9
