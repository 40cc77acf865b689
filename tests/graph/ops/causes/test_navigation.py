"""Compare every direction of a walk with a search of all events, and check the way back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.causes.navigation import WAYS, inside, out, way
from clew.graph.ops.causes.why import why
from clew.query.api import open_run
from tests.support.examples import examples

ALL = 10_000


def events(graph, event, name, most=ALL):
    return [end.event for end in way(graph, event, name, most).ends]


def test_navigation_every_direction_equals_search_of_all_edges(graphs):
    @settings(max_examples=examples(200))
    @given(graphs)
    def check(graph):
        edges = list(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
        region, strand = graph.region.tolist(), graph.strand.tolist()
        for row in range(len(graph)):
            into = [
                (src, dst)
                for src, dst in edges
                if region[dst] == region[row] and dst <= row and (region[src] != region[row] or dst == row)
            ]
            steps = why(graph, row)[1:2]
            opener = [] if not steps or steps[0].edge >= 0 else [steps[0].event]
            causes = way(graph, row, "cause", ALL)
            assert sorted(end.event for end in causes.ends) == sorted([src for src, _ in into] + opener)
            assert causes.count == len(causes.ends)
            if steps:
                assert causes.ends[0].event == steps[0].event
            # The event's own edges come before edges to earlier events, the newest of these first.
            near = [end.near for end in causes.ends[1:] if end.edge >= 0]
            assert near == sorted(near, reverse=True)
            leaving = [
                (src, dst)
                for src, dst in edges
                if region[src] == region[row] and src >= row and (region[dst] != region[row] or src == row)
            ]
            effects = way(graph, row, "effect", ALL)
            assert sorted(end.event for end in effects.ends) == sorted(dst for _, dst in leaving)
            assert [end.near for end in effects.ends] == sorted(src for src, _ in leaving)
            beside = [other for other in (row - 1, row + 1) if 0 <= other < len(graph) and strand[other] == strand[row]]
            assert sorted(events(graph, row, "previous") + events(graph, row, "next")) == beside

    check()


def test_navigation_with_too_many_steps_omits_farthest_and_counts_all(graphs):
    @settings(max_examples=examples(100))
    @given(graphs, st.integers(1, 4))
    def check(graph, most):
        for row in range(len(graph)):
            for name in WAYS:
                every, some = way(graph, row, name, ALL), way(graph, row, name, most)
                assert (some.ends, some.count) == (every.ends[:most], every.count)

    check()


def test_navigation_each_edge_leads_to_both_of_its_ends(graphs):
    @settings(max_examples=examples(100))
    @given(graphs)
    def check(graph):
        for src, dst in zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True):
            assert src in events(graph, dst, "cause")
            assert dst in events(graph, src, "effect")

    check()


@pytest.fixture
def nested(run):
    """Rows: 0 enter serve, 1 enter handle, 2 request, 3 log, 4 enter look_up, 5 exit look_up, 6 exit handle, 7 receive, 8 log,
    9 exit serve."""
    thread = run.process().thread()
    thread.enter("serve").enter("handle").request("Write").log("a").enter("look_up").exit("look_up").exit("handle")
    thread.receive("m").log("b").exit("serve")
    return open_run(run.write()).graph


def test_step_out_leads_to_nearer_of_call_and_scope(nested):
    assert [out(nested, row) for row in range(10)] == [-1, 0, 1, 2, 2, 2, 0, 0, 7, -1]


def test_step_in_leads_to_first_event_of_call_or_scope_and_step_out_back(nested):
    assert [inside(nested, row) for row in range(10)] == [1, 2, 3, -1, -1, -1, 2, 8, -1, 1]
    for row in range(10):
        first = inside(nested, row)
        if first >= 0:
            assert out(nested, first) == (nested.call_of(row) if nested.event(row).kind == "exit" else row)


def test_step_from_release_of_lock_leads_to_its_acquisition_and_back(run):
    process = run.process()
    one, two = process.thread("one"), process.thread("two")
    one.enter("f").acquire("l")
    two.enter("g")
    one.release("l").log("x")
    two.acquire("l").log("y")
    graph = open_run(run.write()).graph
    (released,), (got,) = (
        [r for r in range(len(graph)) if graph.event(r).kind == k][-1:] for k in ("release", "acquire")
    )
    assert events(graph, released, "effect") == [got] and events(graph, got, "cause")[0] == released
    # An event before the release is not a cause.
    assert events(graph, 0, "effect") == []


def test_navigation_unknown_direction_is_refused(nested):
    with pytest.raises(ValueError, match="unknown way 'sideways'; the ways are cause, effect"):
        way(nested, 0, "sideways", 1)
