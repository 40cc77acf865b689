"""Two flows as one graph: the alignment has the least cost, and the union contains exactly both flows."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.compare.requests import flow_alignment
from clew.compare.requests.flow_alignment import Match, align, correspond
from clew.graph.ops.flows.flows import Flows
from tests.support.examples import examples


def cheapest(one, other, edit):
    """Return the least cost by trying every alignment."""
    a, b = ([tuple(column) for column in side.T.tolist()] for side in (one, other))

    @lru_cache(None)
    def cost(i, j):
        if i == len(a) or j == len(b):
            return (len(a) - i + len(b) - j) * edit
        found = min(cost(i + 1, j), cost(i, j + 1)) + edit
        if a[i][0] == b[j][0]:
            found = min(found, cost(i + 1, j + 1) + sum(x != y for x, y in zip(a[i][1:], b[j][1:], strict=True)))
        return found

    return cost(0, 0)


def cost_of(matches, one, other, edit):
    total = 0
    for match in matches:
        if -1 in match:
            total += edit
        else:
            assert one[0, match.before] == other[0, match.after]
            total += int((one[1:, match.before] != other[1:, match.after]).sum())
    return total


def columns(values):
    return np.array(values, np.int64).reshape(-1, 3).T


sequences = st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=24).map(columns)


@given(sequences, sequences, st.sampled_from([1, 40, 1 << 24]))
def test_align_is_complete_ordered_and_has_least_cost(one, other, cells):
    edit = 3 * (one.shape[1] + other.shape[1]) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_alignment, "CELLS", cells)
        matches = align(one, other)
    assert [match.before for match in matches if match.before >= 0] == list(range(one.shape[1]))
    assert [match.after for match in matches if match.after >= 0] == list(range(other.shape[1]))
    assert cost_of(matches, one, other, edit) == cheapest(one, other, edit)


def test_align_long_sequence_with_itself_or_with_gaps():
    chance = np.random.default_rng(3)
    one = chance.integers(0, 40, (3, 8_000))
    assert align(one, one) == [Match(place, place) for place in range(8_000)]
    kept = np.delete(np.arange(8_000), [5, 700, 701, 7_900])
    alone = [match for match in align(one, one[:, kept]) if -1 in match]
    assert len(alone) == 4 and all(match.after < 0 for match in alone)


trees = st.recursive(
    st.sampled_from("abcd").map(lambda name: (name, ())),
    lambda below: st.tuples(st.sampled_from("abcd"), st.lists(below, max_size=3).map(tuple)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def flows_of_trees(make_run):
    """Record one request per tree, in one run."""
    known: dict[object, Flows] = {}

    def record(*trees):
        run = make_run("trees")
        thread = run.process().thread()

        def call(tree, root):
            thread.enter(tree[0])
            if root:
                thread.request("r")
            for below in tree[1]:
                call(below, False)
            thread.exit(tree[0])

        for tree in trees:
            call(tree, True)
        return clew.open(run.write()).requests.flows()

    def flows(one, other):
        return known.setdefault((one, other), record(one, other))

    return flows


def graph_of(flows, request):
    """Return labels and parents of the calls of a request."""
    at = flows.places(request)
    return flows.label[at].tolist(), flows.parent[at].tolist()


@settings(max_examples=examples(30))
@given(trees, trees)
def test_union_contains_exactly_the_calls_and_edges_of_both_flows(flows_of_trees, one, other):
    flows = flows_of_trees(one, other)
    union = correspond(flows, 0, flows, 1)
    for side, request in (("before", 0), ("after", 1)):
        labels, parents = graph_of(flows, request)
        place = {getattr(node, side): number for number, node in enumerate(union.nodes) if getattr(node, side) >= 0}
        assert sorted(place) == list(range(len(labels)))
        assert [union.nodes[place[call]].label for call in range(len(labels))] == [
            flows.labels[code] for code in labels
        ]
        drawn = {(edge.source, edge.target) for edge in union.edges if edge.status in ("both", side)}
        assert drawn == {(place[above], place[call]) for call, above in enumerate(parents) if above >= 0}
    for node in union.nodes:
        assert node.status == ("before" if node.after < 0 else "after" if node.before < 0 else "both")
    # Callers come before their callees.
    assert all(edge.source < edge.target for edge in union.edges)
    assert all(above < number for number, above in enumerate(union.parent))
    assert union.edits == len(union.nodes) - len(union.of("both"))
    json.dumps(union.to_json())


@settings(max_examples=examples(15))
@given(trees)
def test_union_of_equal_flows_has_no_edits(flows_of_trees, tree):
    flows = flows_of_trees(tree, tree)
    union = correspond(flows, 0, flows, 1)
    assert union.edits == 0 and {edge.status for edge in union.edges} <= {"both"}
    assert union.sentence().startswith("the same flow")


def test_union_marks_only_the_added_call(flows_of_trees):
    flows = flows_of_trees(("a", (("b", ()), ("b", (("c", ()),)))), ("a", (("b", ()), ("b", (("c", ()), ("d", ()))))))
    union = correspond(flows, 0, flows, 1)
    assert [(node.label, node.status) for node in union.nodes if node.status != "both"] == [("app:d", "after")]
    assert union.sentence() == "4 calls in both, 1 more (app:d)"
    back = correspond(flows, 1, flows, 0)
    assert back.sentence() == "4 calls in both, 1 fewer (app:d)"
    assert sorted(row.label for row in union.table().rows) == ["app:a", "app:b", "app:b", "app:c", "app:d"]


def test_union_of_moved_call_has_an_edge_from_each_caller(flows_of_trees):
    flows = flows_of_trees(("a", (("b", (("d", ()),)),)), ("a", (("b", ()), ("d", ()))))
    union = correspond(flows, 0, flows, 1)
    assert [(node.label, node.status) for node in union.nodes] == [
        ("app:a", "both"),
        ("app:b", "both"),
        ("app:d", "both"),
    ]
    assert {(edge.source, edge.target, edge.status) for edge in union.edges} == {
        (0, 1, "both"),
        (1, 2, "before"),
        (0, 2, "after"),
    }
    assert union.parent == (-1, 0, 0) and union.sentence() == "the same calls, 1 of them under a different caller"


def test_alignment_of_equal_calls_matches_those_with_the_same_caller(flows_of_trees):
    flows = flows_of_trees(("a", (("b", (("d", ()),)), ("c", (("d", ()),)))), ("a", (("b", ()), ("c", (("d", ()),)))))
    gone = [node for node in correspond(flows, 0, flows, 1).nodes if node.status == "before"]
    assert [(node.label, node.before) for node in gone] == [("app:d", 2)]


def test_union_with_an_empty_side_has_nodes_of_the_other_side(flows_of_trees):
    flows = flows_of_trees(("a", (("b", ()),)), ("c", ()))
    assert {node.status for node in correspond(flows, None, flows, 0).nodes} == {"after"}
    assert {node.status for node in correspond(flows, 0, flows, None).nodes} == {"before"}
