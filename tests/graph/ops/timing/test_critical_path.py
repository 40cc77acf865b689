"""Compare critical paths with hand-computed values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from tests.support.examples import examples


def path_to(graph, event, level="function"):
    return critical_path(graph, slice_events(graph, [event], "backward"), level)


def table(path):
    return [(s.label.removeprefix("app:"), s.start, s.end, s.self_ns, s.wait_ns, s.slack_ns) for s in path.segments]


def end_of(graph, strand):
    return graph.strands[strand].stop - 1


def test_critical_path_of_one_strand_is_the_strand(run):
    run.process().thread().enter("f", at=0).enter("g", at=10).exit("g", at=30).exit("f", at=100)
    graph = run.graph()
    path = path_to(graph, 3)
    assert table(path) == [("f", 0, 10, 10, 0, 0), ("g", 10, 30, 20, 0, 0), ("f", 30, 100, 70, 0, 0)]
    assert path.total_ns == 100
    assert table(path.project("process")) == [("server", 0, 100, 100, 0, 0)]


def test_critical_path_jumps_to_the_event_that_ended_a_wait(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).send("job", at=100)
    worker.join("job", at=150).enter("work", at=160).exit("work", at=900).send("done", at=910)
    main.log("meanwhile", at=200).join("done", at=1000).exit("main", at=1100)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 0))
    # Had the worker been done before main began to wait at 200, main would not have waited: 710 of slack.
    assert table(path) == [
        ("main", 0, 100, 100, 0, 0),
        ("work", 100, 910, 760, 50, 710),
        ("main", 910, 1100, 100, 90, 0),
    ]
    assert path.total_ns == 1100


def test_critical_path_through_wait_for_several_takes_the_last(run):
    process = run.process()
    main, one, two = process.thread(), process.thread("one"), process.thread("two")
    main.enter("main", at=0).send("a", at=10).send("b", at=20)
    one.join("a", at=30).enter("quick", at=40).exit("quick", at=300).send("a done", at=310)
    two.join("b", at=30).enter("slow", at=40).exit("slow", at=800).send("b done", at=810)
    main.join("a done", at=820).join("b done", at=830).exit("main", at=900)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 0))
    assert [s.label.removeprefix("app:") for s in path.segments] == ["main", "slow", "main"]
    slow = path.segments[1]
    # If it ended 500 sooner, main would wait for the quick one instead.
    assert (slow.self_ns, slow.slack_ns) == (780, 500)
    assert path.savings(10) == [2, 78, 7]
    assert path.savings(100)[1] == 500
    assert path.savings(50)[0] == 10


def test_critical_path_excludes_work_done_before_the_wait(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).send("job", at=100)
    worker.join("job", at=150).enter("work", at=160).exit("work", at=200).send("done", at=210)
    main.log("long computation", at=900).join("done", at=1000).exit("main", at=1100)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 0))
    assert table(path) == [("main", 0, 1100, 1100, 0, 0)]


def test_critical_path_includes_sender_of_queued_message(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.enter("ask", at=0).send(1, at=100)
    server.enter("serve", at=0).log("busy", at=500)
    server.receive(1, at=600).log("handled", at=700)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 1))
    assert table(path) == [("ask", 0, 100, 100, 0, 0), ("serve", 100, 700, 100, 500, 0)]
    assert path.savings(50) == [0, 50]  # a message that comes sooner only waits longer
    assert table(path.project("machine")) == [("host", 0, 700, 200, 500, 0)]
    assert [s.label for s in path.project("process").segments] == ["client", "server"]


def test_critical_path_of_suspended_task_goes_through_its_waker(run):
    thread = run.process().thread()
    thread.step("a", at=0).enter("a", at=10).suspend("a", at=20).stop("a", at=30)
    thread.step("b", at=40).enter("b", at=50).send("wake", at=400, channel="asyncio.handle").exit("b", at=410).stop(
        "b", at=420
    )
    thread.step("a", at=430).join("wake", at=440, channel="asyncio.handle").resume("a", at=450).exit("a", at=500)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 1))
    assert [(s.label.removeprefix("app:"), s.start, s.end) for s in path.segments] == [("b", 40, 400), ("a", 400, 500)]
    assert path.segments[1].wait_ns == 40


def test_critical_path_counts_unexplained_pause_as_waiting(run):
    thread = run.process().thread()
    thread.step("a", at=0).enter("a", at=10).suspend("a", at=20).stop("a", at=30)
    thread.step("a", at=430).resume("a", at=450).exit("a", at=500)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 1))
    assert (sum(s.self_ns for s in path.segments), sum(s.wait_ns for s in path.segments)) == (100, 400)


def pool(run, *, submitted):
    """Return the path of `main`, which waits for a pool's thread that runs two work items."""
    process = run.process()
    main, worker = process.thread(), process.thread("pool_0")
    process.site("run", kind="adapter")
    adapter = {"site": process.site("run", kind="adapter")}
    main.enter("main", at=0).send("thread", at=10)
    for number, at in enumerate(submitted):
        main.send(number, channel="executor.submit", at=at)
    worker.join("thread", at=20)
    for number, (begin, end) in enumerate(((60, 500), (510, 900))):
        worker.begin(number, channel="executor.submit", at=begin, **adapter)
        worker.enter(f"work{number}", at=begin + 2).exit(f"work{number}", at=end - 2).end(at=end, **adapter)
    worker.send("done", channel="thread.join", at=950)
    main.join("done", channel="thread.join", at=1000).exit("main", at=1010)
    graph = run.graph()
    return path_to(graph, end_of(graph, 0))


def test_critical_path_to_end_of_pool_thread_has_its_work_items(run):
    path = pool(run, submitted=(15, 18))
    work = {s.label.removeprefix("app:"): s.self_ns for s in path.segments}
    assert (work["work0"], work["work1"]) == (440, 390)
    assert path.total_ns == 1010
    assert sum(s.self_ns + s.wait_ns for s in path.segments) == 1010


def test_critical_path_of_awaited_work_item_leads_to_its_submission(run):
    path = pool(run, submitted=(15, 505))
    labels = [s.label.removeprefix("app:") for s in path.segments]
    assert labels[:2] == ["main", "work1"] and "work0" not in labels
    assert [(s.start, s.end) for s in path.segments][:2] == [(0, 505), (505, 900)]


def test_critical_path_since_time_begins_there_and_adds_up(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).send("job", at=100)
    worker.join("job", at=150).enter("work", at=160).exit("work", at=900).send("done", at=910)
    main.enter("wait", at=300).join("done", at=1000).exit("wait", at=1100)
    graph = run.graph()
    cut = slice_events(graph, [end_of(graph, 0)])
    path = critical_path(graph, cut, since_ns=300)
    assert table(path) == [("work", 300, 910, 610, 0, 710 - 100), ("wait", 910, 1100, 100, 90, 0)]
    assert path.total_ns == 800
    assert path.project("process").total_ns == 800


def test_critical_path_of_empty_slice_is_empty(run):
    run.process().thread().enter("f")
    graph = run.graph()
    path = critical_path(graph, slice_events(graph, []))
    assert (path.segments, path.total_ns) == ([], 0)


@pytest.mark.parametrize("direction", ["backward", "forward"])
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_critical_path_segments_add_up_to_total(graph_of, direction, data):
    sizes = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    graph = graph_of([[number] * size for number, size in enumerate(sizes)], [])
    # Times that grow along each strand; edges that go forward in time.
    times = data.draw(st.permutations(range(sum(sizes))))
    bounds = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    for low, high in zip(bounds, bounds[1:], strict=False):
        times[low:high] = sorted(times[low:high])
    event = st.integers(0, sum(sizes) - 1)
    edges = [
        (a, b) if times[a] < times[b] else (b, a)
        for a, b in data.draw(st.lists(st.tuples(event, event), max_size=12))
        if a != b
    ]
    graph = graph_of([[number] * size for number, size in enumerate(sizes)], edges)
    graph.ts[:] = times
    cut = slice_events(graph, [data.draw(event)], direction)
    path = critical_path(graph, cut, data.draw(st.sampled_from(["function", "event", "process", "thread"])))
    assert path.total_ns == sum(s.self_ns + s.wait_ns for s in path.segments)
    assert all(s.self_ns + s.wait_ns == s.end - s.start for s in path.segments)
    assert all(a.end == b.start for a, b in zip(path.segments, path.segments[1:], strict=False))
    assert all(cut.contains(s.first_event) and cut.contains(s.last_event) for s in path.segments)
    assert path.segments[-1].end == max(times[row] for row in cut.events())


@pytest.mark.parametrize("channel", ["lock", "condition"])
def test_critical_path_of_lock_wait_goes_through_the_releaser(run, channel):
    process = run.process()
    main, holder = process.thread(), process.thread("holder")
    main.enter("main", at=0).send("go", at=10).enter("critical", at=100)
    holder.join("go", at=20).enter("hold", at=30).enter("write", at=200).exit("write", at=900)
    holder.release(1, channel, at=910).exit("hold", at=2000)
    main.acquire(1, channel, at=950).exit("critical", at=1000).exit("main", at=1100)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 0))
    assert [(s.label.removeprefix("app:"), s.start, s.end) for s in path.segments] == [
        ("main", 0, 10), ("hold", 10, 200), ("write", 200, 900), ("hold", 900, 910), ("critical", 910, 1000),
        ("main", 1000, 1100),
    ]  # fmt: skip
    assert [s.wait_ns for s in path.segments] == [0, 10, 0, 0, 40, 0]
    assert path.total_ns == 1100


def test_critical_path_excludes_lock_that_was_already_free(run):
    process = run.process()
    main, holder = process.thread(), process.thread("holder")
    holder.enter("hold", at=0).release(1, at=50)
    main.enter("main", at=10).log("wants it", at=100).acquire(1, at=110).exit("main", at=200)
    graph = run.graph()
    path = path_to(graph, end_of(graph, 0))
    assert [s.label.removeprefix("app:") for s in path.segments] == ["main"]
