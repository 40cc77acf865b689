"""Paths of requests: they end with the request, add up to its time and stay in its flow where nothing else explains it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.build.regions import opens
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing import call_path
from clew.graph.ops.timing.backward_pass import Walker
from clew.graph.ops.timing.call_path import CallPaths, Flow, request_around, request_spans
from clew.graph.ops.timing.critical_path import NOT_RECORDED, critical_path, path_of_call
from clew.query.api import Run
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from tests.support.examples import examples
from tests.support.graphs.naive_flows import random_run


def requests_of(graph):
    return graph.rows_of([Kind.REQUEST]).tolist()


def path_of(graph, number=0, level="function"):
    """Return the path of the slice that follows from a request."""
    begin = int(request_spans(graph, graph.rows_of([Kind.REQUEST])).begin[number])
    return critical_path(graph, slice_events(graph, [begin], "forward"), level)


def table(path):
    return [(s.label.removeprefix("app:"), s.start, s.end, s.wait_ns) for s in path.segments]


def assert_adds_up(path, response_ns):
    assert path.total_ns == response_ns == sum(s.self_ns + s.wait_ns for s in path.segments)
    assert all(a.end == b.start for a, b in zip(path.segments, path.segments[1:], strict=False))


@pytest.mark.parametrize("seed", range(60))
def test_path_of_any_request_adds_up_to_its_response_time(new_run, seed):
    run: Run = random_run(new_run, seed)
    flows, walks = run.requests.flows(), CallPaths(Walker.of_all(run.graph))
    for request, response_ns in zip(flows.request.tolist(), flows.response_ns.tolist(), strict=True):
        path = run.requests.where(id=request).slice().critical_path().result
        assert_adds_up(path, response_ns)
        (begin,), (end,), _ = request_spans(run.graph, np.array([request]))
        assert path_of_call(run.graph, int(begin), int(end)).segments == path.segments
        # The lens adds up the same walks.
        pieces = walks.to(int(end), Flow(run.graph, int(begin)), int(run.graph.ts[begin]))
        assert np.array_equal(pieces.rows, path.pieces.rows)
        assert len({(branch.event) for branch in path.branches()}) == len(path.branches())


def test_path_of_request_ends_with_the_request(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("handle", at=0).request("get", at=10).send("audit", at=100).exit("handle", at=200).log("later", at=5000)
    worker.join("audit", at=150).enter("audit", at=160).exit("audit", at=9000)
    path = path_of(run.graph())
    assert table(path) == [("handle", 0, 200, 0)]


def test_path_of_request_ends_at_the_event_asked_for(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("handle", at=0).request("get", at=10).send("audit", at=100).exit("handle", at=200)
    worker.join("audit", at=150).enter("audit", at=160).log("stored", at=800).exit("audit", at=900)
    graph = run.graph()
    cut = slice_events(graph, [0], "forward")
    (stored,) = graph.rows_of([Kind.LOG]).tolist()
    assert [(s.label, s.end) for s in critical_path(graph, cut, until=stored).segments] == [
        ("app:handle", 100),
        ("app:audit", 800),
    ]
    assert critical_path(graph, slice_events(graph, [4], "backward"), until=2).total_ns == 100
    with pytest.raises(ClewError, match="event 4 is not in the slice"):
        critical_path(graph, slice_events(graph, [2], "backward"), until=4)


def test_path_of_several_requests_is_that_of_the_longest_and_says_so(run):
    main = run.process().thread()
    for begin, end in ((0, 100), (200, 900), (1000, 1100)):
        main.enter("handle", at=begin).request("get", at=begin + 1).exit("handle", at=end)
    graph = run.graph()
    path = critical_path(
        graph, slice_events(graph, request_spans(graph, graph.rows_of([Kind.REQUEST])).begin, "forward")
    )
    assert table(path) == [("handle", 200, 900, 0)]
    assert path.limits == ("This is the path of the longest of 3 requests, event 4 (get).",)


def batch(run, *, other_began, put_at):
    """Two requests put an item into one batch; the batcher waits for both, the other's comes last."""
    process = run.process()
    mine, other, batcher = process.thread("mine"), process.thread("other"), process.thread("batcher")
    batcher.enter("run", at=0).log("waits", at=1)
    mine.enter("write", at=100).request("write", at=101).send("a", "queue", at=200)
    other.enter("idle", at=0).enter("write", at=other_began).request("write", at=other_began + 1)
    other.send("b", "queue", at=put_at).exit("write", at=2000)
    batcher.receive("a", "queue", at=put_at + 10).receive("b", "queue", at=put_at + 11)
    batcher.enter("flush", at=put_at + 20).exit("flush", at=1500).send("done", at=1510)
    mine.log("waits", at=250).join("done", at=1600).exit("write", at=1700)
    graph = run.graph()
    (begin,) = [row for row in requests_of(graph) if graph.strand_of(row).name == "mine"]
    return graph, path_of_call(graph, graph.call_of(begin), graph.exit_of(graph.call_of(begin)))


@pytest.mark.parametrize("other_began", [10, 300], ids=["before", "after the request began"])
def test_path_does_not_walk_into_another_request_of_the_batch(run, other_began):
    graph, path = batch(run, other_began=other_began, put_at=600)
    assert_adds_up(path, 1600)
    assert table(path) == [
        ("write", 100, 200, 0),
        ("run", 200, 620, 410),
        ("flush", 620, 1500, 0),
        ("run", 1500, 1510, 0),
        ("write", 1510, 1700, 90),
    ]


def lock(run, *, holder_began):
    process = run.process()
    mine, holder = process.thread("mine"), process.thread("holder")
    mine.enter("get", at=100).request("get", at=101)
    holder.enter("put", at=holder_began).request("put", at=holder_began + 1)
    mine.enter("critical", at=400)
    holder.enter("store", at=420).exit("store", at=900).release(1, at=910).exit("put", at=3000)
    mine.acquire(1, at=950).exit("critical", at=1000).exit("get", at=1100)
    graph = run.graph()
    (begin,) = [row for row in requests_of(graph) if graph.strand_of(row).name == "mine"]
    return path_of_call(graph, graph.call_of(begin), graph.exit_of(graph.call_of(begin)))


def test_path_has_the_holder_of_a_lock_from_before_the_request(run):
    path = lock(run, holder_began=50)
    assert_adds_up(path, 1000)
    assert table(path) == [
        ("put", 100, 420, 0),
        ("store", 420, 900, 0),
        ("put", 900, 910, 0),
        ("critical", 910, 1000, 40),
        ("get", 1000, 1100, 0),
    ]
    assert path.limits == ("For 810 ns the path is in work of others that it waited for, most of it app:store.",)


def test_path_has_the_holder_of_a_later_request_only_during_the_wait(run):
    # The holder's request began at 300, which explains nothing of the time before; the request itself worked then.
    path = lock(run, holder_began=300)
    assert_adds_up(path, 1000)
    assert table(path) == [
        ("get", 100, 400, 0),
        ("put", 400, 420, 0),
        ("store", 420, 900, 0),
        ("put", 900, 910, 0),
        ("critical", 910, 1000, 40),
        ("get", 1000, 1100, 0),
    ]


def test_path_does_not_end_at_a_registration_from_before_the_request(run):
    """The loop's reader, which another request registered, wakes the request; the peer's answer is not recorded."""
    process = run.process()
    first, loop, mine = process.thread("first"), process.thread("loop"), process.thread("mine")
    first.enter("get", at=0).request("get", at=1).send("reader", "asyncio.handle", at=10).exit("get", at=20)
    loop.enter("serve", at=5).log("ready", at=6)
    mine.enter("get", at=1000).request("get", at=1001).log("asks", at=1100)
    loop.begin("reader", at=1500).send("answer", at=1510).end(at=1520)
    mine.join("answer", at=1530).exit("get", at=1600)
    path = path_of(run.graph(), 1)
    assert_adds_up(path, 600)
    assert table(path) == [("get", 1000, 1100, 0), ("serve", 1100, 1510, 400), ("get", 1510, 1600, 20)]


def test_part_of_a_wait_that_nothing_explains_is_not_recorded(run):
    """The request takes the result of a thread that nothing recorded has started."""
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("handle", at=0).request("get", at=1).log("waits", at=20)
    worker.enter("work", at=300).exit("work", at=800).send("done", at=810)
    main.join("done", at=900).exit("handle", at=1000)
    path = path_of(run.graph())
    assert_adds_up(path, 1000)
    assert table(path) == [
        ("handle", 0, 20, 0),
        (NOT_RECORDED, 20, 300, 280),
        ("work", 300, 810, 0),
        ("handle", 810, 1000, 90),
    ]
    assert path.limits == (
        "Nothing that was recorded led to app:work in worker; the time before it is *not recorded*.",
        "For 510 ns the path is in work of others that it waited for, most of it app:work.",
    )
    assert NOT_RECORDED in {segment.label for segment in path.project("process").segments}
    assert path.slacks() and path.what_if("app:work", 50).total_ns == 1000


def test_path_since_a_time_tells_what_was_not_recorded_before_its_first_event(run):
    worker = run.process().thread("worker")
    worker.enter("work", at=300).exit("work", at=800)
    path = critical_path(run.graph(), slice_events(run.graph(), [1]), since_ns=100)
    assert_adds_up(path, 700)
    assert table(path) == [(NOT_RECORDED, 100, 300, 200), ("work", 300, 800, 0)]


def test_branch_that_the_path_joins_twice_is_listed_once(run):
    process = run.process()
    main, quick, slow = process.thread(), process.thread("quick"), process.thread("slow")
    main.enter("handle", at=0).request("get", at=1).send("a", at=10).send("b", at=20)
    quick.join("a", at=30).enter("quick", at=40).exit("quick", at=100).send("quick", at=110)
    slow.join("b", at=40).enter("slow", at=50).exit("slow", at=500).send("slow", at=510)
    main.log("waits", at=60).join("quick", at=520).join("slow", at=521).join("quick", at=522).exit("handle", at=600)
    branches = path_of(run.graph()).branches()
    events = [branch.event for branch in branches]
    assert "app:quick" in {branch.label for branch in branches} or events
    assert len(events) == len(set(events))


def test_branch_that_was_over_before_the_request_is_none_of_it(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    worker.enter("work", at=0).log("old", at=1)
    main.enter("main", at=2).enter("handle", at=5000).request("get", at=5001).send("job", at=5010)
    worker.join("job", at=5020).exit("work", at=5500).send("done", at=5510)
    main.log("waits", at=5015).join("done", at=5600).exit("handle", at=5700)
    path = path_of(run.graph())
    assert_adds_up(path, 700)
    assert all(branch.end >= 5000 for branch in path.branches())
    assert all(segment.slack_ns <= 700 for segment in path.segments)


def test_request_around_follows_the_scopes_that_a_request_opened(run):
    process = run.process()
    client, server, other = process.thread("client"), process.thread("server"), process.thread("other")
    client.enter("ask", at=0).request("ask", at=1).send("m", at=10)
    other.enter("ask", at=0).request("ask", at=2).send("n", at=12)
    server.enter("serve", at=3).log("ready", at=4).receive("m", at=20).log("of one", at=30)
    server.receive("n", at=40).log("of the other", at=50)
    graph = run.graph()
    logs = {graph.text(row): row for row in graph.rows_of([Kind.LOG]).tolist()}
    ready = logs.pop("ready")
    around = {text: graph.strand_of(request_around(graph, row)).name for text, row in logs.items()}
    assert around == {"of one": "client", "of the other": "other"}
    assert request_around(graph, ready) == -1


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_opening_edges_are_those_that_open_a_region(new_run, seed):
    graph = random_run(new_run, seed).graph
    found = call_path._opening_edges(graph)
    for edge, (source, target) in enumerate(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True)):
        assert found[edge] == (opens(graph, target) and graph.region[source] != graph.region[target])
