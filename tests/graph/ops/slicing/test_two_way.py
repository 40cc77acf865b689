"""Compare slices in both directions and with stops with networkx on the event graph without edges after the stops."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.model.event import Event
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.slicing.two_way import slice_parts
from clew.query.api import Run, open_run
from clew.records.errors import ClewError
from tests.support.examples import examples
from tests.support.graphs.bare_graphs import expanded
from tests.support.runs.query_run import store


def reached(graph, roots, direction, stops, allowed):
    found = set()
    for way in ("forward", "backward") if direction == "both" else (direction,):
        ways = expanded(graph, allowed) if way == "forward" else expanded(graph, allowed).reverse()
        ways.remove_edges_from([edge for edge in ways.edges if edge[0] in stops])
        for root in roots:
            found |= nx.descendants(ways, root) | {root}
    return sorted(found)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_two_way_slice_equals_networkx_without_edges_after_stops(graphs, direction):
    @settings(max_examples=examples(250), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        events = st.lists(st.integers(0, len(graph) - 1), max_size=3)
        roots, stops = data.draw(events), np.array(data.draw(events), np.int64)
        edges = len(graph.edge_src)
        allowed = data.draw(st.none() | st.lists(st.booleans(), min_size=edges, max_size=edges))
        part = slice_parts(graph, np.array(roots, np.int64), direction, stops=stops, edge_filter=allowed)
        expected = reached(graph, roots, direction, set(stops.tolist()), allowed)
        assert part.events().tolist() == expected
        assert part.count == len(expected)
        assert [event for event in range(len(graph)) if part.contains(event)] == expected
        inside = set(expected)
        assert part.edges().tolist() == [
            edge
            for edge, (a, b) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
            if a in inside and b in inside and (allowed is None or allowed[edge])
        ]

        def label(event: Event) -> str:
            return "abc"[event.id % 3 if event.id % 5 else 0]

        # Condensed, its nodes are the components connected by the slice's own edges between equal labels.
        same = expanded(graph, allowed).subgraph(expected)
        same = nx.Graph((a, b) for a, b in same.edges if label(Event(graph, a)) == label(Event(graph, b)))
        same.add_nodes_from(expected)
        condensed = aggregate(part, label)
        assert len(condensed) == nx.number_connected_components(same)
        for stretch in nx.connected_components(same):
            assert len({condensed.node_of(event) for event in stretch}) == 1

    check()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_two_way_slice_without_stops_equals_interval_slice(graphs, direction):
    @settings(max_examples=examples(60), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        root = data.draw(st.integers(0, len(graph) - 1))
        limits = {name: data.draw(st.none() | st.integers(0, 3)) for name in ("max_hops", "max_network_hops")}
        part = slice_parts(graph, np.array([root]), direction, stops=None, **limits)
        assert part.events().tolist() == slice_events(graph, [root], direction, **limits).events().tolist()

    check()


@pytest.fixture
def opened(run) -> Run:
    return store(run)


def test_two_way_slice_both_is_union_of_directions(opened):
    logs = opened.events.where(kind="log")
    both = set(logs.slice("both").ids().tolist())
    assert both == set(logs.slice("backward").ids().tolist()) | set(logs.slice("forward").ids().tolist())
    assert opened.requests.named("Read").slice("both").count() > 0


def test_two_way_slice_until_ends_at_those_events(opened):
    graph, errors = opened.graph, opened.events.where(level="ERROR")
    whole = errors.slice("backward")
    by_query = errors.slice("backward", until=opened.events.where(kind="receive"))
    by_function = errors.slice("backward", until=lambda event: event.kind == "receive")
    assert by_query.ids().tolist() == by_function.ids().tolist()
    assert {event.process for event in by_query} == {"server"}
    assert [event.kind for event in by_query][0] == "receive"
    assert set(by_query.ids().tolist()) < set(whole.ids().tolist())
    assert by_query.aggregate("process").count() == 1
    assert by_query.edges().tolist() == [] and len(graph.edge_src)
    # The slice does not continue after an event that it stops at.
    assert errors.slice("backward", until=errors).ids().tolist() == errors.ids().tolist()


def test_two_way_slice_follows_only_the_given_kinds_of_edges(run):
    process = run.process()
    main, other, third = process.thread(), process.thread("other"), process.thread("third")
    main.enter("f").send(1).define("x").release(1, "event")
    other.join(1).log("used")
    third.use("x").log("read")
    other.acquire(1, "event").log("woken")
    opened = open_run(run.write())

    def texts(**options):
        return {event.text for event in opened.events.where(kind="enter").slice("forward", **options) if event.level}

    assert texts() == {"used", "read", "woken"}
    assert texts(edge_kinds=["state"]) == {"read"}
    assert texts(edge_kinds=["sync"]) == {"woken"}
    assert texts(edge_kinds=("use", "state")) == {"used", "read", "woken"}
    assert texts(edge_kinds=["use"], edge_filter=[False] * len(opened.graph.edge_src)) == set()
    assert texts(edge_kinds=["use", "state"], edge_filter=lambda edge: opened.graph.edge_kind[edge] != 1) == {"read"}


def test_two_way_slice_repr_has_all_arguments(opened):
    query = opened.events.where(kind="log").slice(
        "both", max_hops=3, edge_kinds=["sync", "use"], until=opened.events.where(kind="send")
    )
    events = f"run({opened.info.id!r}).events"
    assert repr(query) == (
        f"{events}.where(kind='log').slice('both', max_hops=3, edge_kinds=('use', 'sync'), until={events}.where(kind='send'))"
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.events.slice("sideways"), 'a slice goes "forward" or "backward", or "both", not \'sideways\''),
        (lambda run: run.events.slice(max_hops=-1), "max_hops is -1; give 0 or more"),
        (lambda run: run.events.slice(edge_kinds="use"), "give a list of kinds, for example edge_kinds=['use']"),
        (
            lambda run: run.events.slice(edge_kinds=["call"]),
            "there are no edges of kind 'call'; kinds: use, sync, state",
        ),
        (
            lambda run: run.events.slice(until="log"),
            "give events, until=run.events.where(…), or a function of an event",
        ),
        (lambda run: run.events.slice("both").critical_path(), 'write .slice("backward") or .slice("forward")'),
        (
            lambda run: run.events.slice(until=run.events.where(kind="log")).aggregate("module").critical_path(),
            "a critical path needs a slice in one direction and to the end",
        ),
        (lambda run: run.events.slice("both").dominators(), "dominators need a slice in one direction"),
        (
            lambda run: run.events.slice(edge_kinds=["use"], edge_filter=[True] * 99).count(),
            "an edge filter has one truth value per edge",
        ),
    ],
)
def test_two_way_slice_with_wrong_arguments_is_refused_with_advice(opened, ask, message):
    with pytest.raises(ClewError) as refused:
        ask(opened)
    assert message in str(refused.value)


def test_two_way_slice_until_event_of_another_run_is_refused(new_run):
    one, other = store(new_run("one")), store(new_run("other"))
    with pytest.raises(ClewError, match="events of the same run"):
        one.events.slice(until=other.events.where(kind="log"))
