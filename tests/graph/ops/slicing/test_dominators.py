"""Compare the dominators of slices with those of networkx on the event-by-event graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.kernel import _structure
from clew.graph.ops.slicing.interval import slice_events
from clew.records.errors import ClewError
from tests.oracles import structure
from tests.support.examples import examples


def events_of(slice_):
    """Return the slice as a networkx graph along its paths, with an added root "all" above its roots."""
    graph, made = slice_.graph, nx.DiGraph()
    rows = slice_.events().tolist()
    ways = [(int(graph.edge_src[edge]), int(graph.edge_dst[edge])) for edge in slice_.edges().tolist()]
    for region in np.unique(graph.region[rows]):
        inside = [row for row in rows if graph.region[row] == region]
        ways += zip(inside, inside[1:], strict=False)
    made.add_edges_from(ways if slice_.forward else [(b, a) for a, b in ways])
    made.add_edges_from(("all", root) for root in slice_.roots)
    return made


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_dominators_of_slice_equal_networkx(graphs, direction):
    @settings(max_examples=examples(150), deadline=None)
    @given(st.data())
    def check(data):
        graph = data.draw(graphs)
        roots = data.draw(st.lists(st.integers(0, len(graph) - 1), min_size=1, max_size=2))
        hops = data.draw(st.none() | st.integers(0, 3))
        slice_ = slice_events(graph, roots, direction, max_hops=hops)
        made = events_of(slice_)
        expected = nx.immediate_dominators(made, "all")
        found = slice_.dominators()
        for event in slice_.events().tolist():
            one = found.immediate(event)
            assert ("all" if one is None else one) == expected[event]
        event, other = (data.draw(st.sampled_from(slice_.events().tolist())) for _ in range(2))
        chain, at = set(), event
        while at != "all":
            chain.add(at)
            at = expected[at]
        assert found.dominates(other, event) == (other in chain)
        passed = found.stretches(event)
        assert {row for ends in passed for row in ends} <= chain
        assert passed[-1][1] == event
        # The events that all paths to the graph's ends share.
        ends = [row for row in made if row != "all" and not made.out_degree(row)]
        common = set(made) - {"all"}
        for end in ends:
            above = set()
            while end != "all":
                above.add(end)
                end = expected[end]
            common &= above
        if ends:
            assert {row for pair in found.common() for row in pair} <= common
            assert bool(found.common()) == bool(common)
            if common:
                last = found.common()[-1][1]
                assert all(found.dominates(row, last) for row in common)

    check()


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_dominators_kernel_equals_oracle_and_networkx(data):
    nodes = data.draw(st.integers(1, 14))
    node = st.integers(0, nodes - 1)
    ways = data.draw(st.lists(st.tuples(node, node), max_size=40))
    entries = np.array(sorted(data.draw(st.sets(node, max_size=3))), np.uint32)
    source, target = (np.array([way[end] for way in ways], np.uint32) for end in (0, 1))
    found = _structure.dominators(nodes, source, target, entries)
    assert found == structure.dominators(nodes, source, target, entries)
    made = nx.DiGraph(ways)
    made.add_edges_from(("all", entry) for entry in entries.tolist())
    made.add_node("all")
    expected = nx.immediate_dominators(made, "all")
    above, reached = np.frombuffer(found[0], np.int32).tolist(), np.frombuffer(found[1], np.uint32).tolist()
    assert sorted(reached) == sorted(set(nx.descendants(made, "all")))
    assert {one: "all" if above[one] < 0 else above[one] for one in reached} == {one: expected[one] for one in reached}


def test_dominators_of_hundred_thousand_diamonds_take_linear_time():
    # Each event of one row starts a task, and an event of a second row waits for it.
    count = 100_000
    main, waits, tasks = (np.arange(count) + count * part for part in range(3))
    ways = [(main[:-1], main[1:]), (main[-1:], waits[:1]), (waits[:-1], waits[1:]), (main, tasks), (tasks, waits)]
    source, target = (np.concatenate(ends).astype(np.uint32) for ends in zip(*ways, strict=True))
    above, reached = _structure.dominators(3 * count, source, target, np.zeros(1, np.uint32))
    found = np.frombuffer(above, np.int32)
    assert found[main].tolist() == [-1, *range(count - 1)] and found[tasks].tolist() == main.tolist()
    # Each wait is reached through its own task and through the first task; these paths part at the first event.
    assert not found[waits].any()
    assert len(reached) == 4 * 3 * count


def test_dominators_kernel_and_oracle_refuse_unknown_nodes():
    one, none = np.array([1], np.uint32), np.zeros(0, np.uint32)
    for implementation in (_structure, structure):
        for given_, name in (
            ((one, one, none), "source"),
            ((none, none, one), "entries"),
            ((none, one, none), "target"),
        ):
            with pytest.raises(ValueError, match=name):
                implementation.dominators(1, *given_)


def test_dominators_of_event_outside_the_slice_are_refused(graph_of):
    graph = graph_of([[0, 0], [1]], [(0, 2)])
    found = slice_events(graph, [1], "forward").dominators()
    with pytest.raises(ClewError, match="event 2 is not in this slice"):
        found.immediate(2)
    assert slice_events(graph, [], "forward").dominators().common() == []


def test_dominators_of_fan_out_are_its_fork_and_its_join(run):
    process = run.process()
    main, one, two = process.thread(), process.thread("one"), process.thread("two")
    main.enter("main").send("a").send("b")
    one.join("a").enter("left").exit("left").send("a done")
    two.join("b").enter("right").exit("right").send("b done")
    main.log("waits").join("a done").join("b done").log("over")
    graph = run.graph()
    (start, sent, _, _, _, second, over) = range(7)
    found = slice_events(graph, [start], "forward").dominators()
    left = next(row for row in range(7, len(graph)) if graph.function(row) == "app:left")
    assert found.dominates(sent, left) and not found.dominates(left, over)
    assert found.immediate(over) == second
    assert found.stretches(left)[-1] == (graph.strands[1].start, left)


def test_dominators_meeting_is_the_event_where_all_paths_meet(run):
    process = run.process()
    root, main, one, two = (process.thread(name) for name in ("root", "main", "one", "two"))
    root.enter("root").log("begins").send("go")
    main.receive("go").enter("main").send("a").send("b")
    one.join("a").enter("left").exit("left").send("a done")
    two.join("b").enter("right").exit("right").send("b done")
    main.log("waits").join("a done").join("b done").log("over")
    graph = run.graph()
    end = graph.strands[1].stop - 1
    met = slice_events(graph, [end]).dominators().meeting(0)
    # From the joins, one path leads back in main and one to each thread; from "left" it leads to where a was sent.
    assert (graph.event(met).kind, graph.event(met).key) == ("send", "a")
    assert slice_events(graph, [graph.strands[0].stop - 1]).dominators().meeting(0) is None
