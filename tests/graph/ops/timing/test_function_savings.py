"""Compare the savings of faster functions with retiming the recording for each, and with hand-computed values."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.model.levels import labels_of
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing import backward_pass, function_savings, replay
from clew.graph.ops.timing.critical_path import critical_path
from clew.graph.ops.timing.function_savings import find_savings
from clew.graph.ops.timing.what_if import sooner
from clew.records.format.event import Kind
from tests.oracles import replay as oracle
from tests.support.runs.timed_programs import ANY_PROGRAM, FUNCTIONS, programs


def requests_of(graph):
    """Yield (name, first event, last event) of every request, found by a scan of all events."""
    for row in range(len(graph)):
        if graph.kind[row] == Kind.REQUEST:
            begin = graph.call_of(row)
            yield graph.channel(row), begin, graph.exit_of(begin)


@ANY_PROGRAM
@given(program=programs(requests=True), data=st.data())
def test_savings_equal_retimed_requests(new_run, program, data):
    graph = program.recorded(new_run())
    percent = data.draw(st.sampled_from([1, 10, 50, 99]))
    found = find_savings(graph, percent)
    labels, earliest = labels_of(graph, "function"), int(graph.ts.min()) - 1
    asked = list(requests_of(graph))
    assert found.requests == found.sampled == len(asked)
    if not asked:
        return
    for label in FUNCTIONS:
        saved = {
            (begin, end): sooner(graph, labels, label, percent, end=end, since_ns=earliest)[0]
            - sooner(graph, labels, label, percent, end=begin, since_ns=earliest)[0]
            for _, begin, end in asked
        }
        by_name = defaultdict(list)
        for name, begin, end in asked:
            by_name[name].append((int(graph.ts[end] - graph.ts[begin]), saved[begin, end]))
        if label not in found.by_label:
            assert not any(saved.values())
            continue
        row = found.by_label[label]
        most = max(sum(less for _, less in those) for those in by_name.values())
        mine = by_name[row.request]
        assert sum(less for _, less in mine) == pytest.approx(most, abs=len(asked))
        before = np.percentile([took for took, _ in mine], 95, method="inverted_cdf")
        after = np.percentile([took - less for took, less in mine], 95, method="inverted_cdf")
        assert row.p95_ns == before
        assert row.saved_ns == pytest.approx(before - after, abs=2)


@ANY_PROGRAM
@given(program=programs(requests=True), data=st.data())
def test_savings_shares_equal_those_of_critical_paths(new_run, program, data):
    graph = program.recorded(new_run())
    found = find_savings(graph, 10)
    work, total = defaultdict(int), 0
    for _, begin, end in requests_of(graph):
        path = critical_path(graph, slice_events(graph, [end]), since_ns=int(graph.ts[begin]))
        total += path.total_ns
        for segment in path.segments:
            work[segment.label] += segment.self_ns
    for label in FUNCTIONS if total else ():
        share = found.by_label[label].on_path if label in found.by_label else 0.0
        assert share == pytest.approx(work[label] / total)


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_savings_of_run_without_requests_treat_run_as_one_request(new_run, program, data):
    graph = program.recorded(new_run())
    percent, label = data.draw(st.sampled_from([1, 10, 50, 99])), data.draw(st.sampled_from(FUNCTIONS))
    found = find_savings(graph, percent)
    _, times = program.timed()
    made, faster = program.timed(label, percent)
    last = int(np.argmax(graph.ts))
    step = (int(graph.strand[last]), last - graph.strand_of(last).start)
    assert found.requests == 0
    if label in found.by_label:
        assert found.by_label[label].p95_ns == times[step] - min(times[node] for node in made if node != "begin")
        assert found.by_label[label].saved_ns == times[step] - faster[step]
    else:
        assert times[step] == faster[step]


@ANY_PROGRAM
@given(program=programs(requests=True), data=st.data())
def test_walker_over_many_events_equals_single_walks(new_run, program, data):
    graph = program.recorded(new_run())
    walker = backward_pass.Walker.of_all(graph)
    for event in data.draw(st.lists(st.integers(0, len(graph) - 1), min_size=1, max_size=5)):
        since = data.draw(st.none() | st.integers(0, int(graph.ts[event])))
        alone = backward_pass.walk_back(graph, slice_events(graph, [event]), event, since)
        together = walker.back(event, since)
        for column in ("edge", "slack", "stretches", "low", "stop", "rival_counts", "rivals"):
            assert np.array_equal(getattr(together, column), getattr(alone, column)), column


@ANY_PROGRAM
@given(program=programs(), data=st.data())
def test_joins_kernel_equals_python_oracle(new_run, program, data):
    graph = program.recorded(new_run())
    joins = replay.Joins.of(graph, -1, int(graph.ts.max()))
    work = np.cumsum(np.array(data.draw(st.lists(st.integers(0, 50), min_size=len(graph), max_size=len(graph)))))
    rate = data.draw(st.floats(-1, 1))

    def between(low, high):
        return (work[high] - work[low]).astype(np.float64)

    found = [joins.saved(between, rate)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay.Timed, "saved", oracle.saved)
        found.append(joins.saved(between, rate))
    assert np.array_equal(*found, equal_nan=True)


def test_savings_of_queued_request_include_faster_service_of_earlier_ones(run):
    """Two clients ask at once and wait; the server answers one after the other."""
    process = run.process()
    for number, answered in ((1, 125), (2, 225)):
        client = process.thread(f"client {number}")
        client.enter("ask", at=0).request("read", at=1).send(f"job {number}", at=2)
        client.join(f"answer {number}", at=answered).exit("ask", at=answered + 4)
    server = process.thread("server")
    server.enter("loop", at=10).join("job 1", at=20).enter("serve", at=20).exit("serve", at=120).send(
        "answer 1", at=121
    )
    server.join("job 2", at=122).enter("serve", at=122).exit("serve", at=222).send("answer 2", at=223)
    found = find_savings(run.graph(), 50)
    # The path of the second request includes the service of both requests, so it saves half of both.
    assert found.by_label["app:serve"].p95_ns == 229
    assert found.by_label["app:serve"].saved_ns == 100


def test_savings_of_work_without_waiters_are_zero(run):
    process = run.process()
    client, server = process.thread("client"), process.thread("server")
    client.enter("ask", at=0).request("read", at=1).send("job", at=2).exit("ask", at=5)
    server.join("job", at=20).enter("serve", at=20).exit("serve", at=120)
    assert find_savings(run.graph(), 50).by_label["app:serve"] == function_savings.Saving(0.0, "read", 5, 0)


def test_savings_of_long_run_are_estimated_from_some_segments(run, monkeypatch):
    thread = run.process().thread()
    for number in range(1000):
        thread.enter("serve", at=1000 * number).request("read", at=1000 * number + 1)
        thread.enter("parse", at=1000 * number + 100).exit("parse", at=1000 * number + 500)
        thread.exit("serve", at=1000 * number + 900)
    graph = run.graph()
    monkeypatch.setattr(function_savings, "MOST_EVENTS", 500)
    told = []
    found = find_savings(graph, 10, lambda *step: told.append(step))
    assert found.requests == 1000 and 4 * 20 <= found.sampled <= 4 * 26
    assert found.by_label["app:parse"] == function_savings.Saving(pytest.approx(400 / 900), "read", 900, 40)
    assert {what for what, _, _ in told} == {f"what-if, part {part} of 4" for part in (1, 2, 3, 4)}
    assert all(done < size for _, done, size in told)


def test_savings_of_run_too_long_to_retime_are_a_bound(run, monkeypatch):
    thread = run.process().thread()
    thread.enter("main", at=0)
    for number in range(100):
        thread.enter("parse", at=1000 * number + 100).exit("parse", at=1000 * number + 600)
    thread.exit("main", at=100_000)
    graph = run.graph()
    exact = find_savings(graph, 10).by_label["app:parse"]
    monkeypatch.setattr(function_savings, "MOST_EVENTS", 50)
    assert exact == function_savings.Saving(0.5, "", 100_000, 5_000)
    assert find_savings(graph, 10).by_label["app:parse"] == function_savings.Saving(0.5, "", 100_000, 5_000, bound=True)


def test_savings_of_empty_run_are_empty(run):
    assert find_savings(run.graph(), 10) == function_savings.Savings(10, 0, 0, {})
