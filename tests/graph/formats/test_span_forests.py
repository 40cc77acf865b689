"""Random span forests written in each format and read back keep their spans, parents, times and lines."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.records.format.event import Kind
from tests.support.examples import examples
from tests.support.graphs import span_writers as writers

BASE = 1_600_000_000_000_000
QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def forests(draw, *, nested):
    """Return spans; with `nested`, children lie inside their parents."""
    spans = []
    for number in range(draw(st.integers(1, 9))):
        parent = draw(st.one_of(st.none(), st.integers(0, number - 1))) if number else None
        if nested and parent is not None:
            low, high = spans[parent].start - BASE, spans[parent].end - BASE
        else:
            low, high = 1, 40
        start = draw(st.integers(low, high))
        end = draw(st.integers(start, high))
        time = draw(st.integers(start, end))
        spans.append(
            writers.Span(
                f"s{number}",
                BASE + start,
                BASE + end,
                parent,
                draw(st.sampled_from(("shop", "bank"))),
                draw(st.sampled_from(writers.KINDS)),
                draw(st.booleans()),
                logs=[(BASE + time, f"line {number}")] if draw(st.booleans()) else [],
            )
        )
    return spans


@pytest.mark.parametrize("format_", list(writers.ALL))
@pytest.mark.parametrize("nested", [True, False], ids=["nested", "anywhere"])
def test_span_forest_round_trip_keeps_parents_times_and_logs(import_trace, format_, nested):
    @QUICK
    @given(forests(nested=nested))
    def check(spans):
        found = import_trace(writers.ALL[format_](spans))
        assert found.spans() == sorted((span.name, span.start * 1000, span.end * 1000) for span in spans)
        expected = {span.name: None if span.parent is None else spans[span.parent].name for span in spans}
        assert found.parents() == expected
        assert found.requests() == sorted(span.name for span in spans if span.parent is None)
        lines = [(text, 20, time * 1000, span.name) for span in spans for time, text in span.logs]
        assert found.logs() == sorted(lines)
        failed = {found.name(row) for row in found.graph.rows_of([Kind.UNWIND]).tolist()}
        assert failed == {span.name for span in spans if span.failed}

    check()


def test_jaeger_span_inside_an_abandoned_one_keeps_its_times(import_trace):
    """`s0` ends at 2 and abandons `s1` and all spans below it; `s2` begins only after that."""

    def span(name, start, end, parent, service):
        return writers.Span(name, BASE + start, BASE + end, parent, service, "internal", False, logs=[])

    spans = [
        span("s0", 1, 2, None, "shop"),
        span("s1", 1, 3, 0, "bank"),
        span("s2", 3, 3, 1, "shop"),
        span("s3", 1, 3, 2, "shop"),
    ]
    found = import_trace(writers.jaeger(spans))
    assert found.spans() == sorted((span.name, span.start * 1000, span.end * 1000) for span in spans)


@QUICK
@given(forests(nested=True))
def test_span_forest_span_waits_for_every_child_that_it_outlives(import_trace, spans):
    """If children lie inside their parents, all of a child is between its parent's beginning and end."""
    for span in spans:
        # Avoid overlaps of a single microsecond, which count as sequential.
        span.start, span.end = 2 * span.start - BASE, 2 * span.end - BASE
        span.logs = [(2 * time - BASE, text) for time, text in span.logs]
    found = import_trace(writers.jaeger(spans))
    graph = found.graph
    order = nx.DiGraph()
    order.add_nodes_from(range(len(graph)))
    for row in range(1, len(graph)):
        if graph.region[row] == graph.region[row - 1] and graph.strand[row] == graph.strand[row - 1]:
            order.add_edge(row - 1, row)
    order.add_edges_from(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
    assert nx.is_directed_acyclic_graph(order)
    enter = {found.name(row): row for row in found.calls}
    exit_ = {found.name(row): graph.exit_of(row) for row in found.calls}
    # The answer is sent immediately before the end.
    last = {name: row - (graph.kind[row - 1] == Kind.SEND) for name, row in exit_.items()}
    for span in spans:
        if span.parent is None:
            continue
        above = spans[span.parent]
        assert nx.has_path(order, enter[above.name], exit_[span.name])
        message = above.kind == "producer" and span.kind == "consumer"
        assert message or nx.has_path(order, last[span.name], exit_[above.name])


@QUICK
@given(forests(nested=False), st.data())
def test_span_forest_with_odd_values_opens(import_trace, spans, data):
    """Use duplicate ids, circular or missing parents, and absurd times."""
    document = writers.zipkin(spans)
    for one in document:
        change = data.draw(st.sampled_from(("", "id", "parent", "self", "time", "duration", "none")))
        if change == "id":
            one["id"] = writers.span_id(0)
        elif change == "parent":
            one["parentId"] = writers.span_id(data.draw(st.integers(0, 12)))
        elif change == "self":
            one["parentId"] = one["id"]
        elif change == "time":
            one["timestamp"] = data.draw(st.sampled_from((0, -5, 10**18, 10**30, "soon", 1.5, None, True)))
        elif change == "duration":
            one["duration"] = data.draw(st.sampled_from((0, -7, 10**17, "long", float("inf"), [])))
        elif change == "none":
            for name in ("timestamp", "duration", "kind", "parentId", "localEndpoint"):
                one.pop(name, None)
    found = import_trace(document)
    assert found.read.spans == len(spans)
