"""Compare the C kernel for walking back along a critical path with its Python oracle on arbitrary graphs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing import backward_pass
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import Kind
from tests.oracles import backward_pass as oracle
from tests.support.examples import examples

KINDS = [
    Kind.MARK,
    Kind.SEND,
    Kind.ENTER,
    Kind.EXIT,
    Kind.RECEIVE,
    Kind.JOIN,
    Kind.ACQUIRE,
    Kind.SCOPE_BEGIN,
    Kind.SCOPE_END,
]
RANDOM = settings(
    max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def of_random(data, graphs):
    """Return a graph of random events whose times ascend along strands but may descend along edges."""
    graph = data.draw(graphs)
    events = len(graph)
    graph.kind[:] = data.draw(st.lists(st.sampled_from(KINDS), min_size=events, max_size=events))
    graph.regions.kind[:] = data.draw(
        st.lists(st.integers(0, 2), min_size=len(graph.regions), max_size=len(graph.regions))
    )
    times = data.draw(st.lists(st.integers(0, 2 * events), min_size=events, max_size=events))
    for strand in graph.strands:
        graph.ts[strand.start : strand.stop] = sorted(times[strand.start : strand.stop])
    edges = len(graph.edge_src)
    excludes = np.array(data.draw(st.lists(st.integers(0, 3), min_size=edges, max_size=edges)), int) == 0
    graph.__dict__["edge_excludes"] = excludes if excludes.any() else None
    return graph


def columns_of(pieces):
    names = ("edge", "slack", "stretches", "low", "stop", "rival_counts", "rivals")
    return {name: getattr(pieces, name).tolist() for name in names}


@pytest.mark.parametrize("direction", ["backward", "forward"])
@RANDOM
@given(data=st.data())
def test_backward_pass_kernel_equals_oracle(graphs, direction, data):
    graph = of_random(data, graphs)
    cut = slice_events(graph, [data.draw(st.integers(0, len(graph) - 1))], direction)
    rows = cut.events()
    end = int(rows[graph.ts[rows] == graph.ts[rows].max()][-1])
    since = data.draw(st.none() | st.integers(-1, 2 * len(graph)))
    found = columns_of(backward_pass.walk_back(graph, cut, end, since))
    assert found == columns_of(oracle.walk_back(graph, cut, end, since))


@RANDOM
@given(data=st.data())
def test_backward_pass_does_not_depend_on_earlier_queries(graphs, data):
    """Slices, aggregation and path walks share scratch memory."""
    graph = of_random(data, graphs)
    asked = data.draw(st.lists(st.integers(0, len(graph) - 1), min_size=2, max_size=4))
    alone = []
    for event in asked:
        graph.__dict__.pop("structure", None)
        graph.__dict__.pop("index", None)
        alone.append(critical_path(graph, slice_events(graph, [event])).segments)
    together = [critical_path(graph, slice_events(graph, [event])).segments for event in asked]
    assert together == alone


@pytest.mark.parametrize(("column", "value"), [("src", 99), ("dst", -1), ("strand", 7), ("region", 50), ("site", 1)])
def test_backward_pass_invalid_column_is_refused_by_name(graph_of, column, value):
    graph = graph_of([[0, 0, 0], [1, 1, 1]], [(1, 4), (4, 2)])
    cut = slice_events(graph, [2])
    follow = np.ones(2, bool)
    columns = backward_pass._columns(graph, backward_pass.Extent(cut.forward, cut.bounds, follow))
    graph.kind[:] = Kind.SCOPE_END
    for short in sorted(set(columns) - {"bounds", "adapter", "strand_start"}):
        with pytest.raises(ValueError, match=short):
            graph.structure.plane.path(False, 2, 0, {**columns, short: columns[short][:-1]})
    columns[column] = np.full_like(columns[column], value)
    with pytest.raises(ValueError, match=column):
        graph.structure.plane.path(False, 2, 0, columns)


def test_backward_pass_unknown_event_is_refused(graph_of):
    graph = graph_of([[0, 0]], [])
    columns = backward_pass._columns(
        graph, backward_pass.Extent(False, slice_events(graph, [1]).bounds, np.zeros(0, bool))
    )
    with pytest.raises(IndexError, match="event"):
        graph.structure.plane.path(False, 2, 0, columns)
