"""The costliest path of a slice: compared with all paths of small random graphs, and with a hand-computed one."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.cost_path import cost_path
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from tests.support.examples import examples


def every_path(graph, cut, end):
    """Yield the paths of a slice to an event, each as its events."""
    made = nx.DiGraph()
    rows = cut.events().tolist()
    made.add_nodes_from(rows)
    for region in set(graph.region[rows].tolist()):
        own = [row for row in rows if graph.region[row] == region]
        made.add_edges_from(zip(own, own[1:], strict=False))
    made.add_edges_from((int(graph.edge_src[edge]), int(graph.edge_dst[edge])) for edge in cut.edges().tolist())
    made.remove_edges_from([(a, b) for a, b in made.edges if (graph.ts[a], a) >= (graph.ts[b], b)])
    begins = cut.roots if cut.forward else [row for row in rows if not made.in_degree(row)]
    for begin in begins:
        yield from [[begin]] if begin == end else nx.all_simple_paths(made, begin, end)


@pytest.mark.parametrize("direction", ["backward", "forward"])
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cost_path_costs_as_much_as_the_costliest_of_all_paths(graph_of, direction, data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    count = sum(sizes)
    event = st.integers(0, count - 1)
    edges = [(a, b) for a, b in data.draw(st.lists(st.tuples(event, event), max_size=6, unique=True)) if a < b]
    graph = graph_of([[number] * size for number, size in enumerate(sizes)], edges)
    graph.ts[:] = range(count)
    own = data.draw(st.lists(st.integers(-3, 9), min_size=count, max_size=count))
    steps = {pair: data.draw(st.integers(-3, 9)) for pair in ((a, b) for a in range(count) for b in range(count))}
    cut = slice_events(graph, [data.draw(event)], direction)
    found = cost_path(
        graph,
        cut,
        vertex_cost=lambda event: own[event.id],
        edge_cost=lambda source, target: steps[source.id, target.id],
    )
    costs = [
        sum(own[row] for row in path) + sum(steps[pair] for pair in zip(path, path[1:], strict=False))
        for path in every_path(graph, cut, found.events[-1])
    ]
    assert found.total == max(costs) == sum(segment.cost for segment in found.segments)
    assert found.events[-1] == cut.events().max()


def shop(run):
    """A request asks two services; the slow one sends little, the quick one much."""
    client, slow, quick = run.process("client").thread(), run.process("slow").thread(), run.process("quick").thread()
    client.enter("ask", at=0).request("ask", at=1).send("a", at=10).send("b", at=20)
    slow.receive("a", at=30).put(Kind.PAYLOAD, channel="bytes", text="5", at=40).send("slow", at=900)
    quick.receive("b", at=30).put(Kind.PAYLOAD, channel="bytes", text="700", at=40).send("quick", at=100)
    client.join("quick", at=910).join("slow", at=920).exit("ask", at=1000).log("later", at=2000)
    graph = run.graph()
    return graph, slice_events(graph, [0], "forward")


def sent(event):
    return int(event.text) if event.kind == "payload" else 0


def test_cost_path_of_a_request_follows_its_cost_and_ends_with_it(run):
    graph, cut = shop(run)
    path = cost_path(graph, cut, "process", vertex_cost=sent)
    assert [(segment.label, segment.cost, segment.end) for segment in path.segments] == [
        ("client", 0, 20),
        ("quick", 700, 100),
        ("client", 0, 1000),
    ]
    assert (path.level, path.total) == ("process", 700)


def test_cost_path_with_times_as_costs_takes_as_long_as_the_request(run):
    graph, cut = shop(run)
    path = cost_path(graph, cut, edge_cost=lambda source, target: target.ts - source.ts)
    assert path.total == 1000
    hops = cost_path(graph, cut, edge_cost=lambda source, target: source.process != target.process)
    assert hops.total == 2


def test_cost_that_is_no_number_is_refused_by_its_event(run):
    graph, cut = shop(run)
    for bad, shown in (("many", "'many'"), (None, "None"), (float("nan"), "nan")):
        with pytest.raises(ClewError, match=f"the cost at event 0 is {shown}; a cost function returns a finite number"):
            cost_path(graph, cut, vertex_cost=lambda _event, bad=bad: bad)


def test_cost_path_that_only_goes_back_in_time_is_refused(graph_of):
    graph = graph_of([[0, 0], [1, 1]], [(1, 2)])
    graph.ts[:] = [100, 200, 50, 300]
    cut = slice_events(graph, [0], "forward")
    with pytest.raises(ClewError, match="every way to event 3 goes back in time"):
        cost_path(graph, cut, vertex_cost=lambda _event: 1)


def test_cost_path_of_empty_slice_is_empty(run):
    run.process().thread().enter("f")
    graph = run.graph()
    path = cost_path(graph, slice_events(graph, []), vertex_cost=sent)
    assert (path.segments, path.total, path.events) == ([], 0, ())
