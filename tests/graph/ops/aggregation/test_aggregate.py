"""Compare condensing with networkx, and the numbers of nodes and edges with hand-computed values."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.model.array_utils import components
from clew.graph.model.levels import level_names
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.slicing.interval import slice_events
from clew.records.errors import ClewError
from clew.records.plan.plan import Level, Plan, Target
from tests.support.examples import examples


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
    )
)
def test_components_equal_networkx(case):
    count, pairs = case
    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(count))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    found = components(count, ends[:, 0], ends[:, 1])
    expected = sorted(sorted(part) for part in nx.connected_components(graph))
    assert [np.flatnonzero(found == number).tolist() for number in range(found.max() + 1)] == expected


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_aggregate_each_connected_part_of_a_label_is_one_node(graph_of, data):
    sizes = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    regions = [[number] * size for number, size in enumerate(sizes)]
    total = sum(sizes)
    event = st.integers(0, total - 1)
    edges = data.draw(st.lists(st.tuples(event, event), max_size=15))
    graph = graph_of(regions, edges)
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=total, max_size=total))
    root = data.draw(event)
    cut = slice_events(graph, [root], data.draw(st.sampled_from(["forward", "backward"])))
    result = aggregate(cut, lambda event: names[event.id])

    inside = set(cut.events().tolist())
    causal = [(a, b) for a, b in zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True) if {a, b} <= inside]
    falls = [(a, a + 1) for a in inside if a + 1 in inside and graph.region[a] == graph.region[a + 1]]
    same = nx.Graph((a, b) for a, b in causal + falls if names[a] == names[b])
    same.add_nodes_from(inside)
    expected = {frozenset(part) for part in nx.connected_components(same)}
    assert {frozenset(result.events_of(node.id).tolist()) for node in result.nodes} == expected
    assert all({names[row] for row in result.events_of(node.id)} == {node.label} for node in result.nodes)
    assert sum(node.events for node in result.nodes) == len(inside)

    wanted = Counter(
        (result.node_of(a), result.node_of(b)) for a, b in causal if result.node_of(a) != result.node_of(b)
    )
    assert {(e.source, e.target): e.count for e in result.edges if e.kind == "use"} == dict(wanted)
    merged = result.by_label()
    by_label = Counter((names[a], names[b]) for a, b in causal if names[a] != names[b])
    assert {(merged.label(e.source), merged.label(e.target)): e.count for e in merged.edges if e.kind == "use"} == dict(
        by_label
    )
    assert Counter({node.label: node.events for node in merged.nodes}) == Counter(names[row] for row in inside)


@pytest.fixture
def shop(new_run):
    """Return the graph of a client that asks a server, which looks into two shelves."""
    plan = Plan(levels=(Level("team", (("front", Target("client", "*")), ("back", Target("server", "**")))),))
    run = new_run(plan=plan)
    client, server = run.process("client").thread(), run.process("server").thread("worker_1")
    client.enter("client:ask", at=0).request("ask", at=10).send(1, at=100)
    server.enter("server:Shop.handle", at=150).receive(1, at=160)
    server.enter("server:Shelf.look", at=200).exit("server:Shelf.look", at=300)
    server.enter("server:Shelf.look", at=320).unwind("server:Shelf.look", at=400)
    server.send(2, at=450).exit("server:Shop.handle", at=500)
    client.join(2, at=600).exit("client:ask", at=700)
    return run.graph()


def test_aggregate_function_nodes_have_calls_and_times(shop):
    nodes = {node.label: node for node in aggregate(shop, "function").nodes}
    look, handle, ask = nodes["server:Shelf.look"], nodes["server:Shop.handle"], nodes["client:ask"]
    assert (handle.calls, handle.self_ns, handle.total_ns, handle.errors) == (1, 50 + 20 + 100, 350, 0)
    assert (ask.calls, ask.kind, ask.process, ask.strand) == (1, "request", "client", "MainThread")
    # The client's time between sending and the answer was spent waiting.
    assert (ask.self_ns, ask.waiting_ns, ask.total_ns) == (200, 500, 700)
    assert (ask.first_ns, ask.last_ns) == (0, 700)
    assert handle.location == ("/src/server.py", 10)
    # The two calls follow each other directly: one segment.
    assert (look.calls, look.errors, look.self_ns) == (2, 1, 180)


def test_aggregate_edges_have_kind_count_and_latency(shop):
    graph = aggregate(shop, "function").by_label()
    edges = {(graph.label(e.source), graph.label(e.target), e.kind): e for e in graph.edges}
    assert set(edges) == {
        ("client:ask", "server:Shop.handle", "use"),
        ("server:Shop.handle", "server:Shelf.look", "call"),
        ("server:Shop.handle", "client:ask", "use"),
    }
    assert edges["server:Shop.handle", "server:Shelf.look", "call"].count == 2
    sent = edges["client:ask", "server:Shop.handle", "use"]
    assert (sent.channel, sent.count, sent.latency_ns) == ("message", 1, 60)


@pytest.mark.parametrize(
    ("level", "labels"),
    [
        ("class", ["client", "server:Shop", "server:Shelf"]),
        ("module", ["client", "server"]),
        ("component", ["client", "server"]),
        ("thread", ["client/MainThread", "server/worker_1"]),
        ("task", ["client/MainThread", "server/worker_1"]),
        ("process", ["client", "server"]),
        ("machine", ["host"]),
        ("team", ["front", "back"]),
    ],
)
def test_aggregate_every_level_has_its_labels(shop, level, labels):
    assert [node.label for node in aggregate(shop, level).by_label().nodes] == labels
    assert level in level_names(shop)


def test_aggregate_event_level_has_one_node_per_event(shop):
    result = aggregate(shop, "event")
    assert len(result) == len(shop)
    assert [node.kind for node in result.nodes][:3] == ["enter", "request", "send"]
    assert result.nodes[2].label == "send message 1 client:ask"


def test_aggregate_level_and_reduce_may_be_functions(shop):
    result = aggregate(
        shop,
        lambda event: event.process,
        reduce=lambda graph, rows: sorted({graph.event(int(r)).kind for r in rows})[0],
    )
    assert [(node.label, node.value) for node in result.nodes] == [("client", "enter"), ("server", "enter")]


def test_aggregate_function_in_two_scopes_is_two_nodes_of_one_label(run):
    thread = run.process().thread()
    for number in (1, 2):
        thread.begin(number).enter("handle").log("x").exit("handle").end()
    result = aggregate(run.graph(), "function")
    assert [(node.label, node.events) for node in result.nodes] == [("app:handle", 5), ("app:handle", 5)]
    assert [(node.label, node.events, node.calls) for node in result.by_label().nodes] == [("app:handle", 10, 2)]


def test_aggregate_names_events_outside_calls_by_the_next_call(run):
    thread = run.process().thread("pool_7")
    thread.step("t").join(1).enter("main").suspend("main").stop("t").step("t").resume("main").exit("main").stop("t")
    thread.log("alone")
    assert {node.label for node in aggregate(run.graph(), "function").nodes} == {"app:main", "thread pool"}


def test_aggregate_of_empty_slice_is_empty(shop):
    result = aggregate(slice_events(shop, []), "function")
    assert result.nodes == [] and result.edges == [] and result.by_label().nodes == []
    assert result.node_of(3) is None


def test_aggregate_unknown_level_is_refused_with_nearest_name(shop):
    with pytest.raises(ClewError, match=r"unknown level 'functoin'; did you mean 'function'\?.*team"):
        aggregate(shop, "functoin")


def test_aggregate_of_slice_counts_only_time_between_its_events(run):
    thread = run.process().thread()
    thread.enter("f", at=0).log("a", at=100).log("b", at=300).exit("f", at=1000)
    graph = run.graph()
    node = aggregate(slice_events(graph, [2], "backward"), "function").nodes[0]
    assert (node.events, node.self_ns) == (3, 300)


def test_aggregate_nested_awaits_count_one_wait_at_coarse_level(run):
    """`outer` awaits `inner`, which waits for a lock and is then suspended together with it."""
    thread = run.process().thread()
    thread.step("t", at=0).enter("outer", at=10).enter("inner", at=20)
    thread.suspend("inner", at=40).suspend("outer", at=45).stop("t", at=50)
    thread.step("t", at=900).resume("outer", at=905).resume("inner", at=910)
    thread.exit("inner", at=950).exit("outer", at=1000).stop("t", at=1010)
    graph = run.graph()
    functions = {node.label: (node.total_ns, node.waiting_ns) for node in aggregate(graph, "function").by_label().nodes}
    assert functions == {"app:outer": (990, 860), "app:inner": (930, 870)}
    (process,) = aggregate(graph, "process").by_label().nodes
    assert (process.total_ns, process.waiting_ns, process.self_ns) == (990, 860, 130)


def test_aggregate_wait_of_inner_call_counts_at_coarse_level(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("outer", at=0).enter("inner", at=10)
    worker.enter("work", at=0).send("done", at=800).exit("work", at=900)
    main.join("done", at=810).exit("inner", at=820).exit("outer", at=1000)
    nodes = {node.label: node for node in aggregate(run.graph(), "thread").by_label().nodes}
    assert (nodes["server/MainThread"].total_ns, nodes["server/MainThread"].waiting_ns) == (1000, 800)


def test_aggregate_counted_calls_are_in_labels_but_not_in_slices(run):
    process = run.process()
    process.counters = {"f": 40}
    process.thread().enter("f").exit("f").enter("f").exit("f")
    graph = run.graph()
    (node,) = aggregate(graph, "module").by_label().nodes
    assert (node.calls, node.counted) == (42, 40)
    by_process = aggregate(graph, "process")
    assert [(node.calls, node.counted) for node in by_process.nodes] == [(2, 0)] and by_process.unplaced == 40
    assert [node.calls for node in aggregate(slice_events(graph, [1]), "function").by_label().nodes] == [1]
