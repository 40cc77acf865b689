"""Compare the interval slice with the event-by-event traversal and with networkx on random graphs."""

from collections import deque

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import breadth_first_order

import clew.graph.model.structure_plane as structure_module
from clew.graph.kernel import _structure
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.slicing.two_way import slice_parts
from clew.records.errors import ClewError
from clew.records.format.event import EdgeKind, Kind
from tests.oracles import structure
from tests.support.examples import examples

KERNELS = {"c": _structure, "python": structure}


def neighbours(graph, forward):
    """Return per event the neighbours along one causal edge: the next event of its region, and the stored edges."""
    following = [[] for _ in range(len(graph))]
    latest = {}
    for event in range(len(graph)):
        region = int(graph.region[event])
        if region in latest:
            a, b = latest[region], event
            following[a if forward else b].append((b if forward else a, 0, 0, -1))
        latest[region] = event
    crosses = graph.edge_crosses
    for edge, (a, b) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True)):
        following[a if forward else b].append((b if forward else a, 1, int(crosses[edge]), edge))
    return following


def naive_slice(graph, roots, direction, max_hops=None, max_network_hops=None, edge_filter=None, stops=()):
    """Return the slice found event by event, keeping each (event, hops, network hops) that no known one dominates."""
    following = neighbours(graph, direction == "forward")
    best = {}
    queue = deque((root, 0, 0) for root in roots)
    while queue:
        event, hops, network_hops = queue.popleft()
        known = best.setdefault(event, [])
        if any(a <= hops and b <= network_hops for a, b in known):
            continue
        known.append((hops, network_hops))
        if event in stops:
            continue
        for other, hop, network_hop, edge in following[event]:
            if edge >= 0 and edge_filter is not None and not edge_filter[edge]:
                continue
            if max_hops is not None and hops + hop > max_hops:
                continue
            if max_network_hops is not None and network_hops + network_hop > max_network_hops:
                continue
            # Without a limit the count does not distinguish states.
            queue.append(
                (
                    other,
                    hops + hop if max_hops is not None else 0,
                    network_hops + network_hop if max_network_hops is not None else 0,
                )
            )
    return sorted(best)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("implementation", KERNELS)
def test_interval_slice_equals_naive_slice(graphs, direction, implementation, monkeypatch):
    monkeypatch.setattr(structure_module, "kernel", KERNELS[implementation])

    @settings(max_examples=examples(400), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        event = st.integers(0, len(graph) - 1)
        roots = data.draw(st.lists(event, min_size=0, max_size=3))
        limit = st.none() | st.integers(0, 4)
        hops, network_hops = data.draw(limit), data.draw(limit)
        allowed = data.draw(
            st.none() | st.lists(st.booleans(), min_size=len(graph.edge_src), max_size=len(graph.edge_src))
        )
        expected = naive_slice(graph, roots, direction, hops, network_hops, allowed)
        result = slice_events(
            graph, roots, direction, max_hops=hops, max_network_hops=network_hops, edge_filter=allowed
        )
        assert result.events().tolist() == expected
        assert result.count == len(expected)
        assert [event for event in range(len(graph)) if result.contains(event)] == expected
        there = {int(graph.strand_process[graph.strand[event]]) for event in expected}
        assert result.processes.tolist() == sorted(there)
        if hops is None or network_hops is None:
            assert result.followed <= len(graph.edge_src)
        inside = set(expected)
        assert result.edges().tolist() == [
            edge
            for edge, (a, b) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
            if a in inside and b in inside and (allowed is None or allowed[edge])
        ]

    check()


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("implementation", KERNELS)
def test_two_way_slice_with_stops_equals_naive_slice(graphs, direction, implementation, monkeypatch):
    monkeypatch.setattr(structure_module, "kernel", KERNELS[implementation])

    @settings(max_examples=examples(150), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        event = st.integers(0, len(graph) - 1)
        roots, stops = data.draw(st.lists(event, max_size=3)), data.draw(st.lists(event, max_size=4))
        limit = st.none() | st.integers(0, 4)
        limits = data.draw(limit), data.draw(limit)
        edges = len(graph.edge_src)
        allowed = data.draw(st.none() | st.lists(st.booleans(), min_size=edges, max_size=edges))
        ways = ("forward", "backward") if direction == "both" else (direction,)
        expected = sorted({found for way in ways for found in naive_slice(graph, roots, way, *limits, allowed, stops)})
        part = slice_parts(
            graph,
            np.array(roots, np.int64),
            direction,
            stops=np.array(stops, np.int64),
            max_hops=limits[0],
            max_network_hops=limits[1],
            edge_filter=allowed,
        )
        assert part.events().tolist() == expected

    check()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_interval_slice_without_limits_equals_networkx(graphs, direction):
    @settings(max_examples=examples(200), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        root = data.draw(st.integers(0, len(graph) - 1))
        expanded = nx.DiGraph()
        expanded.add_nodes_from(range(len(graph)))
        expanded.add_edges_from(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
        for region in range(len(graph.regions)):
            rows = np.flatnonzero(graph.region == region).tolist()
            expanded.add_edges_from(zip(rows, rows[1:], strict=False))
        reach = nx.descendants if direction == "forward" else nx.ancestors
        assert set(slice_events(graph, [root], direction).events().tolist()) == reach(expanded, root) | {root}

    check()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_interval_slice_along_some_edge_kinds_equals_scipy(graphs, direction):
    @settings(max_examples=examples(200), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        count = len(graph)
        kinds = data.draw(
            st.lists(st.sampled_from(EdgeKind), min_size=len(graph.edge_src), max_size=len(graph.edge_src))
        )
        graph.edge_kind[:] = kinds
        wanted = data.draw(st.sets(st.sampled_from(EdgeKind)))
        allowed = np.isin(graph.edge_kind, list(wanted)) if wanted else np.zeros(len(graph.edge_src), bool)
        roots = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
        order = np.lexsort((np.arange(count), graph.region))
        on = np.flatnonzero(graph.region[order][1:] == graph.region[order][:-1])
        # An extra vertex leads to all roots.
        source = np.concatenate((graph.edge_src[allowed], order[on]))
        target = np.concatenate((graph.edge_dst[allowed], order[on + 1]))
        if direction == "backward":
            source, target = target, source
        source, target = np.append(source, [count] * len(roots)), np.append(target, roots)
        matrix = sp.csr_matrix((np.ones(len(source)), (source, target)), (count + 1, count + 1))
        reached = breadth_first_order(matrix, count, return_predecessors=False)
        found = slice_events(graph, roots, direction, edge_filter=allowed)
        assert found.events().tolist() == sorted(set(reached.tolist()) - {count})

    check()


def test_interval_slice_excludes_earlier_handlers_of_the_same_loop(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.send(1).send(2)
    server.enter("serve")
    for number in (1, 2):
        server.enter("handle").receive(number).exit("handle")
    server.exit("serve")
    graph = run.graph()
    second = slice_events(graph, [7], "backward")
    assert [(graph.function(int(event)), graph.key_text(int(event))) for event in second.events()] == [
        ("", "1"),
        ("", "2"),
        ("app:handle", ""),
        ("app:handle", "2"),
    ]


def test_interval_slice_edge_filter_may_be_a_function(graph_of):
    graph = graph_of([[0, 0], [1, 1], [2, 2]], [(0, 2), (1, 4)])
    assert slice_events(
        graph, [0], "forward", edge_filter=lambda edge: graph.edge_dst[edge] == 4
    ).events().tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "up"}, 'a slice goes "forward" or "backward", not \'up\''),
        ({"roots": [9]}, "0 to 1; got 9"),
        ({"max_hops": -1}, "max_hops is -1; give 0 or more"),
        ({"edge_filter": [True, False]}, "one truth value per edge, 1; this one has 2"),
    ],
)
def test_interval_slice_wrong_arguments_are_refused(graph_of, arguments, message):
    graph = graph_of([[0], [1]], [(0, 1)])
    with pytest.raises(ClewError) as error:
        slice_events(**{"graph": graph, "roots": [0], **arguments})
    assert message in str(error.value)


def test_interval_slice_excludes_earlier_lock_owner_by_default(run):
    process = run.process()
    holder, setter, main = process.thread("holder"), process.thread("setter"), process.thread()
    holder.log("held").release(1)
    setter.log("set").release(1, "event")
    main.acquire(1).acquire(1, "event").log("done")
    graph = run.graph()
    (end,) = (row for row in graph.rows_of([Kind.LOG]) if graph.text(row) == "done")

    def texts(**options):
        rows = slice_events(graph, [end], **options).events()
        return sorted(graph.text(row) for row in rows.tolist() if graph.kind[row] == Kind.LOG)

    assert texts() == ["done", "set"]
    assert texts(edge_filter=lambda edge: True) == ["done", "held", "set"]
    assert texts(edge_filter=graph.edge_kind == EdgeKind.USE) == ["done"]
