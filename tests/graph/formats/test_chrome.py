"""Read Chrome trace events: nesting by time, B and E halves, asynchronous slices, flows, and truncated files."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.formats.source import FormatError
from clew.records.format.event import Kind
from tests.support.examples import examples

QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
BASE = 10_000


def slice_(name, start, end, tid=1, **more):
    return {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": start, "dur": end - start, **more}


@st.composite
def threads(draw):
    """Return random nested spans of some threads, at times that never repeat, as (name, start, end, parent, thread)."""
    made, time = [], BASE
    for tid in range(draw(st.integers(1, 3))):
        stack, names = [], 0
        for opens in draw(st.lists(st.booleans(), max_size=14)):
            time += draw(st.integers(1, 5))
            if opens:
                made.append([f"t{tid}.{names}", time, None, stack[-1] if stack else None, tid])
                stack.append(made[-1][0])
                names += 1
            elif stack:
                name = stack.pop()
                next(one for one in made if one[0] == name)[2] = time
        for name in reversed(stack):
            time += 1
            next(one for one in made if one[0] == name)[2] = time
    return made


@pytest.mark.parametrize("halves", [False, True], ids=["X", "B and E"])
@pytest.mark.parametrize("as_object", [False, True], ids=["array", "object"])
def test_chrome_slices_nest_by_time(import_trace, halves, as_object):
    @QUICK
    @given(threads(), st.randoms(use_true_random=False))
    def check(made, chance):
        if not made:
            return
        events = []
        for name, start, end, _, tid in made:
            if halves:
                events.append({"ph": "B", "name": name, "pid": 1, "tid": tid, "ts": start})
                events.append({"ph": "E", "pid": 1, "tid": tid, "ts": end})
            else:
                events.append(slice_(name, start, end, tid))
        random.Random(chance.random()).shuffle(events)
        found = import_trace({"traceEvents": events} if as_object else events)
        assert found.problems == []
        assert found.spans() == sorted((name, start * 1000, end * 1000) for name, start, end, _, _ in made)
        assert found.parents() == {name: parent for name, _, _, parent, _ in made}
        # Every thread is one strand, which has all of its spans.
        assert len(found.graph.strands) == len({tid for *_, tid in made})
        assert found.requests() == [] and found.edges() == []

    check()


@QUICK
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1)), max_size=20))
def test_chrome_halves_with_equal_times_nest_in_file_order(import_trace, steps):
    events, stack, parents, time = [], [], {}, 0
    for opens, later in [*steps, *[(False, 0)] * len(steps)]:
        time += later
        if opens:
            name = f"s{len(parents)}"
            parents[name] = stack[-1] if stack else None
            stack.append(name)
            events.append({"ph": "B", "name": name, "pid": 1, "tid": 1, "ts": time})
        elif stack:
            stack.pop()
            events.append({"ph": "E", "pid": 1, "tid": 1, "ts": time})
    if events:
        found = import_trace(events)
        assert found.parents() == parents
        assert len(found.graph.strands) == 1


def test_chrome_halves_merge_arguments_and_the_end_wins(import_trace):
    half = {"pid": 1, "tid": 1}
    about = half | {"cat": "net", "id": 1, "name": "b"}
    found = import_trace([
        half | {"ph": "B", "name": "a", "ts": 1, "args": {"x": 1, "y": 1}},
        half | {"ph": "E", "ts": 5, "args": {"y": 2, "error": "refused"}},
        about | {"ph": "b", "ts": 6, "args": {"x": 3}},
        about | {"ph": "e", "ts": 8, "args": {"error": "gone"}},
    ])  # fmt: skip
    graph = found.graph
    assert {found.at(row): json.loads(graph.text(row)) for row in graph.rows_of([Kind.PAYLOAD]).tolist()} == {
        "a": {"x": 1, "y": 2, "error": "refused"}, "b": {"x": 3, "error": "gone"},
    }  # fmt: skip
    assert graph.kind.tolist().count(Kind.UNWIND) == 2


def test_chrome_slices_with_bind_id_make_flow_edges(import_trace):
    flow = {"bind_id": "0x7"}
    found = import_trace([
        slice_("put", 10, 20, **flow, flow_out=True),
        slice_("pass", 30, 40, 2, **flow, flow_in=True, flow_out=True),
        {"ph": "B", "name": "get", "pid": 1, "tid": 3, "ts": 50, **flow, "flow_in": True},
        {"ph": "E", "pid": 1, "tid": 3, "ts": 60},
    ])  # fmt: skip
    assert found.edges() == [("flow", 10_000, 30_000, "put", "pass"), ("flow", 30_000, 50_000, "pass", "get")]
    assert found.problems == []


def test_chrome_flow_events_make_edges_between_slices(import_trace):
    flow = {"cat": "queue", "name": "item", "id": 7, "pid": 1}
    found = import_trace([
        slice_("put", 10, 20), slice_("get", 30, 50, 2), slice_("use", 60, 70, 2),
        flow | {"ph": "s", "tid": 1, "ts": 12},
        flow | {"ph": "t", "tid": 2, "ts": 35},
        # Without "bp": "e" an end belongs to the next slice.
        flow | {"ph": "f", "tid": 2, "ts": 55},
    ])  # fmt: skip
    assert found.edges() == [("queue", 12_000, 35_000, "put", "get"), ("queue", 35_000, 60_000, "get", "use")]


def test_chrome_flow_with_missing_end_is_counted(import_trace):
    flow = {"cat": "q", "name": "n", "pid": 1, "tid": 1}
    found = import_trace(
        [slice_("a", 10, 20), flow | {"ph": "f", "ts": 11, "id": 1}, flow | {"ph": "s", "ts": 12, "id": 2}]
    )
    assert found.problems == ["1 flow: it ends without a beginning; left out", "1 flow: it has no end"]


def test_chrome_asynchronous_slice_follows_from_starting_slice(import_trace):
    about = {"cat": "net", "id": "0x1", "pid": 1, "tid": 1}
    found = import_trace([
        slice_("main", 10, 20),
        about | {"ph": "b", "name": "fetch", "ts": 12},
        about | {"ph": "b", "name": "connect", "ts": 13},
        about | {"ph": "n", "name": "retry", "ts": 14},
        about | {"ph": "e", "name": "connect", "ts": 15},
        about | {"ph": "e", "name": "fetch", "ts": 40},
        about | {"ph": "b", "name": "lost", "ts": 50, "id": "0x2"},
    ])  # fmt: skip
    assert found.spans() == [
        ("connect", 13_000, 15_000), ("fetch", 12_000, 40_000), ("lost", 50_000, 50_000), ("main", 10_000, 20_000),
    ]  # fmt: skip
    assert found.parents() == {"main": None, "fetch": "main", "connect": "fetch", "lost": None}
    assert found.logs() == [("retry", 20, 14_000, "connect")]
    assert [edge[:3] for edge in found.edges()] == [
        ("span.start", 12_000, 12_000), ("span.start", 50_000, 50_000),
    ]  # fmt: skip


def test_chrome_names_of_threads_and_processes_may_come_last(import_trace):
    name = {"ph": "M", "pid": 1}
    found = import_trace([
        slice_("a", 1, 2, 5), slice_("b", 1, 2, 6), slice_("c", 1, 2, 7),
        name | {"tid": 0, "name": "process_name", "args": {"name": "app"}},
        name | {"tid": 5, "name": "thread_name", "args": {"name": "main"}},
        name | {"tid": 6, "name": "thread_name", "args": {"name": "pool"}},
        name | {"tid": 7, "name": "thread_name", "args": {"name": "pool"}},
    ])  # fmt: skip
    assert [strand.name for strand in found.graph.strands] == ["main", "pool 6", "pool 7"]
    assert {process.name for process in found.graph.processes} == {"app"}
    assert found.graph.processes[0].pid == 1


def test_chrome_names_of_viztracer_are_source_locations(import_trace):
    found = import_trace(
        [slice_("run (/usr/lib/python3.12/asyncio/runners.py:86)", 1, 9), slice_("builtins.len", 2, 3, cat="FEE")]
    )
    sites = {(site.module, site.qualname, site.file, site.line) for site in found.graph.sites if site.module}
    assert sites == {
        ("asyncio.runners", "run", "/usr/lib/python3.12/asyncio/runners.py", 86),
        ("builtins", "len", "", 0),
    }


def test_chrome_times_keep_nanoseconds(import_trace):
    text = '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1600000000000000.123,"dur":0.877}]'
    assert import_trace(text).spans() == [("a", 1600000000000000123, 1600000000000001000)]


def test_chrome_counters_and_samples_are_counted_and_left_out(import_trace):
    found = import_trace(
        [slice_("a", 1, 2), *({"ph": phase, "pid": 1, "tid": 1, "ts": 1, "name": "x"} for phase in "CCOP")]
    )
    assert found.read.spans == 1
    assert found.problems == [
        "2 counters: not an event in time; left out",
        "1 object: not an event in time; left out",
        "1 sample: not an event in time; left out",
    ]


@pytest.mark.parametrize("cut", range(1, 60, 7))
@pytest.mark.parametrize("as_object", [False, True], ids=["array", "object"])
def test_chrome_truncated_list_is_read_up_to_the_end(import_trace, cut, as_object):
    events = [slice_(f"s{number}", number, number + 1) for number in range(100)]
    text = json.dumps({"traceEvents": events} if as_object else events, separators=(",", ":"))
    found = import_trace(text[:-cut] if cut < 50 or as_object else text[:-cut])
    assert 98 <= found.read.spans <= 100
    assert any("the file is cut off inside its list" in problem for problem in found.problems)


def test_chrome_slice_that_crosses_another_gets_separate_strand(import_trace):
    found = import_trace([slice_("a", 10, 30), slice_("b", 20, 40)])
    assert found.spans() == [("a", 10_000, 30_000), ("b", 20_000, 40_000)]
    assert len(found.graph.strands) == 2 and "crosses" in found.problems[0]


def test_chrome_slice_with_error_ends_with_unwind(import_trace):
    found = import_trace([slice_("a", 1, 2, args={"error": True})])
    assert found.graph.kind[-1] == Kind.UNWIND


def test_chrome_file_without_a_list_of_events_is_refused(import_trace):
    with pytest.raises(FormatError, match="expected a list of trace events"):
        import_trace("17", format_="chrome")
