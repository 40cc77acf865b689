"""Strands as nested activations, and their shapes; the C kernels equal their Python reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compare.patterns import _sequitur as kernels
from clew.compare.patterns.activation_shapes import shapes_of
from clew.compare.patterns.activations import WAYS, activations_of
from clew.graph.build.builder import build
from clew.graph.build.call_nesting import nest
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from tests.oracles import activations
from tests.support.examples import examples

WAY = {0: "returned", 1: "raised", 2: "suspended", 3: "unfinished"}


def activation_rows(run, strands=None):
    """Return every activation as (depth, function, how it began, how it ended)."""
    graph, _ = build(run.folder)
    numbers = [strand.index for strand in graph.strands] if strands is None else strands
    of = activations_of(graph, numbers)
    return [
        (depth, of.labels[what // WAYS].partition(":")[2], "resumed" if what & 4 else "called", WAY[what % 4])
        for depth, what in zip(of.depth.tolist(), of.what.tolist(), strict=True)
    ]


def test_activations_of_calls_nest(make_run):
    run = make_run("nest")
    run.process().thread().enter("f").enter("g").exit("g").enter("g").unwind("g").exit("f")
    run.write()
    assert activation_rows(run) == [
        (0, "f", "called", "returned"), (1, "g", "called", "returned"), (1, "g", "called", "raised"),
    ]  # fmt: skip


def test_activations_of_generator_are_one_per_resumption(make_run):
    run = make_run("generator")
    thread = run.process().thread()
    thread.enter("f").enter("gen").suspend("gen").enter("g").exit("g").resume("gen").suspend("gen").resume("gen")
    thread.exit("gen").exit("f")
    run.write()
    assert activation_rows(run) == [
        (0, "f", "called", "returned"), (1, "gen", "called", "suspended"), (1, "g", "called", "returned"),
        (1, "gen", "resumed", "suspended"), (1, "gen", "resumed", "returned"),
    ]  # fmt: skip


def test_activations_of_waiting_task_continue_same_calls(make_run):
    run = make_run("task")
    thread = run.process().thread()
    thread.step("T").enter("outer").enter("inner").suspend("inner").suspend("outer").stop("T")
    thread.step("T").resume("outer").resume("inner").enter("g").exit("g").exit("inner").exit("outer").stop("T")
    run.write()
    assert activation_rows(run) == [
        (0, "outer", "called", "returned"), (1, "inner", "called", "returned"), (2, "g", "called", "returned"),
    ]  # fmt: skip


def test_activations_of_task_cancelled_while_waiting_raise(make_run):
    run = make_run("cancelled")
    thread = run.process().thread()
    thread.step("T").enter("outer").enter("inner").suspend("inner").suspend("outer").stop("T")
    # An exception thrown into it: the inner call ends without having been resumed.
    thread.step("T").resume("outer").unwind("inner").unwind("outer").stop("T")
    run.write()
    assert activation_rows(run) == [(0, "outer", "called", "raised"), (1, "inner", "called", "raised")]


def test_activations_split_call_if_task_ran_others_while_suspended(make_run):
    run = make_run("between")
    thread = run.process().thread()
    thread.step("T").enter("agen").suspend("agen").stop("T").step("T").enter("g").exit("g").resume("agen").exit("agen")
    thread.stop("T")
    run.write()
    assert activation_rows(run) == [
        (0, "agen", "called", "suspended"), (0, "g", "called", "returned"), (0, "agen", "resumed", "returned"),
    ]  # fmt: skip


def test_activation_without_an_end_ends_with_its_caller_or_strand(make_run):
    run = make_run("unfinished")
    run.process().thread().enter("f").enter("g").exit("f").enter("h")
    run.write()
    assert activation_rows(run) == [
        (0, "f", "called", "returned"), (1, "g", "called", "unfinished"), (0, "h", "called", "unfinished"),
    ]  # fmt: skip


def test_activations_own_time_excludes_inner_calls(make_run):
    run = make_run("own")
    thread = run.process().thread()
    thread.enter("f", at=0).enter("g", at=30).exit("g", at=100).exit("f", at=120)
    run.write()
    graph, _ = build(run.folder)
    of = activations_of(graph, [0])
    assert of.own_ns.tolist() == [50, 70]
    assert of.own_ns.tolist() == graph.calls.self_ns.tolist()


def test_activations_levels_are_code_levels_or_a_function(make_run):
    run = make_run("levels")
    run.process().thread().enter("app:Cart.add").exit("app:Cart.add")
    run.write()
    graph, _ = build(run.folder)
    assert activations_of(graph, [0], "class").labels == ("app:Cart",)
    assert activations_of(graph, [0], lambda event: event.function.upper()).labels == ("APP:CART.ADD",)
    with pytest.raises(ClewError, match="patterns are not available at level"):
        activations_of(graph, [0], "thread")


steps = st.lists(
    st.tuples(
        st.sampled_from([Kind.ENTER, Kind.ENTER, Kind.EXIT, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME,
                         Kind.STEP_END, Kind.LOG]),
        st.integers(0, 2), st.booleans(),
    ),
    max_size=60,
)  # fmt: skip


def columns(events):
    """Return the columns of a strand of random events, nested as in the graph."""
    kind = np.array([one for one, _, _ in events], np.uint8)
    site = np.array([one for _, one, _ in events], np.uint32)
    idle = np.array([one for _, _, one in events], bool)
    call = nest(kind, site, np.array([0, len(events)])).call.astype(np.int64)
    return kind, np.where(kind == Kind.LOG, -1, call), np.arange(len(events), dtype=np.int64) * 7, idle


@given(steps)
@settings(max_examples=examples(150))
def test_activations_of_random_events_nest_and_times_add_up(events):
    kind, call, ts, idle = columns(events)
    parent, size, way, first, last, own = activations.activations(
        0, kind.tolist(), call.tolist(), ts.tolist(), idle.tolist()
    )
    for at, above in enumerate(parent):
        assert above < at
        if above >= 0:
            assert at + size[at] <= above + size[above] and first[above] <= first[at] and last[at] <= last[above]
        elders = [one for one in range(at) if parent[one] == above]
        assert all(one + size[one] <= at and last[one] <= first[at] for one in elders)
    assert all(0 <= one < WAYS for one in way)
    for at in range(len(parent)):
        spent = sum(own[at : at + size[at]])
        assert 0 <= spent <= ts[last[at]] - ts[first[at]]


@given(steps, st.booleans())
@settings(max_examples=examples(150))
def test_activation_kernels_equal_python_reference(events, wide):
    kind, call, ts, idle = columns(events)
    given_call = call if wide else call.astype(np.int32)
    made = kernels.activations(0, kind, given_call, wide, ts, idle)
    dtypes = (np.int32, np.int32, np.uint8, np.int64, np.int64, np.int64)
    found = [np.frombuffer(column, dtype).tolist() for column, dtype in zip(made, dtypes, strict=True)]
    expected = activations.activations(0, kind.tolist(), call.tolist(), ts.tolist(), idle.tolist())
    assert found == list(expected)
    what = np.array(found[2], np.int32)
    made = kernels.shapes(what, np.array(found[1], np.int32))
    dtypes = (np.int32, np.int64, np.int32, np.int64, np.int32)
    found_shapes = [np.frombuffer(column, dtype).tolist() for column, dtype in zip(made, dtypes, strict=True)]
    assert found_shapes == list(activations.shapes(what.tolist(), found[1]))


def test_activation_kernels_refuse_inconsistent_columns():
    kind, ts, idle = np.array([Kind.ENTER], np.uint8), np.zeros(1, np.int64), np.zeros(1, bool)
    with pytest.raises(ValueError, match="call"):
        kernels.activations(0, kind, np.array([5], np.int64), True, ts, idle)
    with pytest.raises(ValueError, match="size"):
        kernels.shapes(np.zeros(2, np.int32), np.array([1, 2], np.int32))


def test_shapes_are_equal_if_all_inner_calls_are_equal(make_run):
    run = make_run("shapes")
    process = run.process()
    for name in ("one", "two"):
        thread = process.thread(name)
        for inside in (["g", "h"], ["g", "h"], ["h", "g"]):
            thread.enter("f")
            for function in inside:
                thread.enter(function).exit(function)
            thread.exit("f")
    run.write()
    graph, _ = build(run.folder)
    shapes = shapes_of(activations_of(graph, [strand.index for strand in graph.strands]))
    tops = [shapes.shape[at] for at in np.flatnonzero(shapes.of.parent < 0)]
    assert tops[0] == tops[1] == tops[3] == tops[4] != tops[2] == tops[5]
    assert len(shapes) == 4 and shapes.count[tops[0]] == 4
    assert shapes.size[tops[0]] == 3
