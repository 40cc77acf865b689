"""Compare the C kernel for aggregation by event with its numpy oracle; both keep the sums of all events."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.call_nesting import nest
from clew.graph.build.call_times import call_times
from clew.graph.model.graph import Site
from clew.graph.model.levels import labels_of
from clew.graph.ops.aggregation import by_event
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.aggregation.by_event import Gathered
from clew.graph.ops.aggregation.by_region import condenser
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.slicing.two_way import slice_parts
from clew.records.format.event import EdgeKind, Kind
from tests.oracles.gather import Condensing
from tests.oracles.gather import found as found_in_numpy
from tests.support.examples import examples
from tests.support.graphs.bare_graphs import random_graphs

KINDS = (
    Kind.ENTER, Kind.ENTER, Kind.ENTER, Kind.EXIT, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME, Kind.MARK, Kind.REQUEST,
)  # fmt: skip
SITES = [Site("", "", "", 0, 0, ""), Site("m", "f", "m.py", 1, 2, "function"), Site("m", "C.g", "m.py", 3, 4, "function"),
         Site("n", "h", "n.py", 5, 6, "function"), Site("q", "put", "q.py", 1, 2, "adapter")]  # fmt: skip


@st.composite
def graphs_with_calls(draw):
    graph = draw(random_graphs())
    events = len(graph)
    several = {"min_size": events, "max_size": events}
    kind = np.array(draw(st.lists(st.sampled_from(KINDS), **several)), np.uint8)
    site = np.array(draw(st.lists(st.integers(0, len(SITES) - 1), **several)), np.uint32)
    ts = np.array(draw(st.lists(st.integers(0, 12), **several)), np.int64)
    start = np.array([*(strand.start for strand in graph.strands), events], np.int64)
    # Times ascend along strands in half of the graphs; in the others clocks may go back.
    if draw(st.booleans()):
        for low, high in zip(start[:-1], start[1:], strict=True):
            ts[low:high] = np.sort(ts[low:high])
    idle = np.array(draw(st.lists(st.booleans(), **several)), bool)
    nesting = nest(kind, site, start)
    edges = len(graph.edge_src)
    kinds = draw(
        st.lists(st.sampled_from([EdgeKind.USE, EdgeKind.SYNC, EdgeKind.STATE]), min_size=edges, max_size=edges)
    )
    return replace(
        graph,
        ts=ts,
        kind=kind,
        site=site,
        idle=idle,
        sites=SITES,
        call=nesting.call,
        inner=nesting.inner,
        calls=call_times(nesting, ts, graph.strand, start, idle),
        edge_kind=np.array(kinds, np.uint8),
        edge_channel=np.arange(edges, dtype=np.uint32) % 2,
        strings=["", "queue"],
    )


@st.composite
def cuts(draw):
    """Return a graph with calls and a slice of it; None is the whole graph."""
    graph = draw(graphs_with_calls())
    event = st.integers(0, len(graph) - 1)
    roots = np.array(draw(st.lists(event, min_size=1, max_size=3)), np.int64)
    way = draw(st.sampled_from(["all", "forward", "backward", "both", "until"]))
    if way == "all":
        return graph, None
    if way in ("forward", "backward"):
        return graph, slice_events(graph, roots, way)
    stops = np.array(draw(st.lists(event, max_size=4)), np.int64) if way == "until" else None
    return graph, slice_parts(graph, roots, "both" if way == "both" else "forward", stops=stops)


def by_kind(event):
    return event.kind


@settings(max_examples=examples(400), deadline=None)
@given(cuts(), st.sampled_from(["function", "class", "module", "event", "thread", "process", by_kind]))
def test_gather_kernel_equals_numpy_oracle(given_, level):
    graph, cut = given_
    labels = labels_of(graph, level)
    found = Gathered(graph, cut, labels)
    edges = np.arange(len(graph.edge_src)) if cut is None else cut.edges()
    node = np.arange(len(found.rows)) if level == "event" else None
    expected = found_in_numpy(Condensing(graph, labels, found.rows, edges, node=node, holes=True))
    assert [part.tobytes() for part in found._found] == [part.tobytes() for part in expected]


@settings(max_examples=examples(150), deadline=None)
@given(cuts(), st.sampled_from(["thread", "process"]))
def test_gather_kernel_with_nodes_by_region_equals_numpy_oracle(given_, level):
    graph, cut = given_
    known = condenser(graph, level)
    if known is None or hasattr(cut, "rows"):
        return
    found = Gathered(graph, cut, known.labels, known)
    node = known.node_of_rows(cut, found.rows)
    edges = np.arange(len(graph.edge_src)) if cut is None else cut.edges()
    expected = found_in_numpy(Condensing(graph, known.labels, found.rows, edges, node=node))
    assert [part.tobytes() for part in found._found] == [part.tobytes() for part in expected]


@settings(max_examples=examples(150), deadline=None)
@given(cuts())
def test_aggregate_counts_every_event_once_and_merging_keeps_sums(given_):
    graph, cut = given_
    made = aggregate(graph if cut is None else cut, "function")
    kinds = graph.kind[made.rows]
    assert made.sizes.sum() == len(made.rows)
    assert made.sums["calls"].sum() == np.count_nonzero(kinds == Kind.ENTER)
    assert made.sums["errors"].sum() == np.count_nonzero(kinds == Kind.UNWIND)
    merged = made.by_label()
    assert {name: int(column.sum()) for name, column in merged.sums.items()} == {
        name: int(column.sum()) for name, column in made.sums.items()
    }
    assert len({merged.label(node) for node in range(len(merged))}) == len(merged)
    # Sum the edges one by one, independently of how they are merged.
    between = Counter()
    for edge in made.edges:
        ends = made.label(edge.source), made.label(edge.target)
        if ends[0] != ends[1]:
            between[(*ends, edge.kind, edge.channel)] += complex(edge.count, edge.latency_ns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_event, "_PART", 2)
        assert between == {
            (merged.label(edge.source), merged.label(edge.target), edge.kind, edge.channel): complex(
                edge.count, edge.latency_ns
            )
            for edge in merged.edges
        }
    for node in merged.nodes:
        rows = merged.events_of(node.id)
        first, last = int(graph.ts[rows].min()), int(graph.ts[rows].max())
        assert (node.events, node.first_ns, node.last_ns) == (len(rows), first, last)
        assert graph.ts[node.first_event] == first
        assert graph.ts[node.last_event] == last
        assert node.strands == len(set(graph.strand[rows].tolist()))


def test_gather_kernel_invalid_column_is_refused_by_name(graph_of):
    graph = replace(graph_of([[0, 0, 1], [2]], [(0, 2), (1, 3)]), sites=SITES)
    assert aggregate(graph, "function").sizes.sum() == 4
    columns = graph.answers["columns for the kernel"]
    plane, nothing = graph.structure.plane, np.zeros(0, np.uint32)
    tables = {
        "codes": nothing,
        "running": nothing,
        "by_site": np.zeros(5, np.uint32),
        "by_strand": np.zeros(2, np.uint32),
        "named": np.zeros(5, np.uint8),
    }
    rows = np.arange(4)
    for name, wrong in (("site", np.full(4, 9, np.uint32)), ("strand", np.full(4, 9, np.uint32))):
        named = {**tables, "named": np.ones(5, np.uint8)} if name == "site" else tables
        changed = {**columns, **named, "owner": np.zeros(4, np.int32) if name == "site" else columns["owner"]}
        with pytest.raises(ValueError, match=name):
            plane.gather(rows, None, None, {**changed, name: wrong})
    for name in columns:
        with pytest.raises((ValueError, TypeError), match=name):
            plane.gather(rows, None, None, {**columns, **tables, name: np.zeros(1, np.uint8)})
    with pytest.raises(ValueError, match="rows"):
        plane.gather(rows[::-1].copy(), None, None, {**columns, **tables})
    with pytest.raises(ValueError, match="edges"):
        plane.gather(rows, np.array([7]), None, {**columns, **tables})
    with pytest.raises(ValueError, match="nodes"):
        plane.gather(rows, None, np.full(4, 4, np.uint32), {**columns, **tables})
    node, _, _ = plane.gather(rows, None, None, {**columns, **tables})
    assert len(node) == 16, "and the scratch is in order after all that"
