"""Compare the array routines, and the merging of edges, with dictionaries."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.model.array_utils import distinct
from clew.graph.ops.aggregation.edges import EdgeColumns

# Small limits are sorted by a table, large ones by comparison; tuples of the largest do not fit one 64-bit number.
SIZES = st.sampled_from([3, 1000, 1 << 20, 1 << 31])


@given(SIZES.flatmap(lambda limit: st.tuples(st.just(limit), st.lists(st.integers(0, limit - 1)))))
def test_distinct_returns_sorted_values_and_place_of_each(case):
    limit, values = case
    found, place = distinct(np.array(values, np.int64), limit)
    assert found.tolist() == sorted(set(values))
    assert [found[at] for at in place] == values


@st.composite
def edges(draw):
    node = st.integers(0, draw(SIZES) - 1)
    edge = st.tuples(node, node, st.integers(0, 5), node, st.integers(1, 9), st.integers(-(1 << 60), 1 << 60))
    return [(*one[:4], one[4], one[5] // 64) for one in draw(st.lists(edge, max_size=30))]


@given(edges())
def test_edge_columns_merged_sums_equal_edges_and_drops_self_loops(edges):
    count, latency = Counter(), Counter()
    for *ends, times, ns in edges:
        if ends[0] != ends[1]:
            count[tuple(ends)] += times
            latency[tuple(ends)] += ns
    columns = (np.array([edge[at] for edge in edges], np.int64) for at in range(6))
    made = EdgeColumns(*columns).merged()
    found = zip(made.source, made.target, made.kind, made.channel, made.count, made.latency, strict=True)
    assert [tuple(map(int, edge)) for edge in found] == [(*ends, count[ends], latency[ends]) for ends in sorted(count)]
