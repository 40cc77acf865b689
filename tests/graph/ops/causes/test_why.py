import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.ops.causes.why import causes, effects, next_, previous, why
from clew.records.format.event import EdgeKind, Kind
from clew.records.format.keys import key_of
from tests.support.examples import examples


def chain(graph, event):
    return [
        (
            graph.function(step.event).removeprefix("app:"),
            graph.event(step.event).kind,
            step.edge_kind and step.edge_kind.name,
            step.channel,
        )
        for step in why(graph, event)
    ]


def find(graph, text):
    return next(row for row in graph.rows_of([Kind.LOG]) if graph.text(row) == text)


def test_why_of_message_leads_back_to_its_request(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.enter("write").request("SubmitWrite").log("x").send(1)
    server.enter("serve").enter("handle").receive(1).log("failed", level=40).exit("handle")
    graph = run.graph()
    assert chain(graph, find(graph, "failed")) == [
        ("handle", "log", None, ""),
        ("write", "send", "USE", "message"),
        ("write", "request", None, ""),
    ]
    steps = why(graph, find(graph, "failed"))
    assert graph.event(steps[1].target_event).kind == "receive"


def test_why_later_state_edge_beats_message(run):
    process = run.process()
    deleter, writer, server = process.thread("deleter"), process.thread("writer"), process.thread("server")
    deleter.enter("delete").define("chunk-7").exit("delete")
    writer.enter("write").send(1).exit("write")
    server.receive(1).enter("lookup").use("chunk-7").exit("lookup").log("failed")
    graph = run.graph()
    event = find(graph, "failed")
    assert chain(graph, event)[1] == ("delete", "define", "STATE", "chunk")
    assert why(graph, event)[0].other_causes == 1


def test_why_ignores_state_edge_after_the_event(run):
    process = run.process()
    deleter, writer, server = process.thread("deleter"), process.thread("writer"), process.thread("server")
    deleter.enter("delete").define("chunk-7").exit("delete")
    writer.enter("write").send(1).exit("write")
    server.receive(1).log("early").use("chunk-7")
    graph = run.graph()
    assert chain(graph, find(graph, "early"))[1] == ("write", "send", "USE", "message")


def test_why_of_task_leads_to_its_creator_not_its_waker(run):
    thread = run.process().thread()
    thread.enter("main").send("create", channel="asyncio.handle").log("x")
    thread.step("t").join("create", channel="asyncio.handle").enter("task").send("sleep", channel="asyncio.handle")
    thread.suspend("task").stop("t")
    thread.begin("sleep").send("wake", channel="asyncio.handle").end()
    thread.step("t").join("wake", channel="asyncio.handle").resume("task").log("woke up")
    graph = run.graph()
    assert chain(graph, find(graph, "woke up"))[1] == ("main", "send", "USE", "asyncio.handle")


def test_why_ignores_round_trip_of_own_work(run):
    process = run.process()
    main, worker, other = process.thread(), process.thread("worker"), process.thread("other")
    main.enter("main").log("start").send("job")
    other.enter("other").send("news")
    worker.receive("job").enter("work").send("done").exit("work")
    main.join("news").join("done").log("end")
    graph = run.graph()
    # The later join returned main's own job; the earlier one brought a message from another thread.
    assert chain(graph, find(graph, "end"))[1] == ("other", "send", "USE", "message")
    assert why(graph, find(graph, "start"))[-1].event == graph.strands[0].start


def declared_join(thread, function, value):
    """Record a JOIN that the spec declares for a function; clew records the standard library's joins itself."""
    return thread.put(Kind.JOIN, thread.process.site(function), key_of("message", value), "message", str(value))


def test_why_declared_join_of_open_call_beats_state_of_returned_call(run):
    process = run.process()
    main, producer = process.thread(), process.thread("producer")
    main.send("t", channel="thread.start")
    producer.join("t", channel="thread.start").enter("produce").send(1).define("a").exit("produce")
    main.enter("lookup").use("a").exit("lookup").enter("collect")
    declared_join(main, "collect", 1).log("collected").exit("collect").log("later")
    graph = run.graph()
    assert chain(graph, find(graph, "collected"))[1] == ("produce", "send", "USE", "message")
    assert chain(graph, find(graph, "later"))[1] == ("produce", "define", "STATE", "chunk")


def test_why_state_used_after_declared_join_beats_the_join(run):
    process = run.process()
    main, producer = process.thread(), process.thread("producer")
    producer.enter("produce").define("a").send(1).exit("produce")
    main.enter("handle")
    declared_join(main, "handle", 1).enter("lookup").use("a").exit("lookup").log("failed")
    graph = run.graph()
    assert chain(graph, find(graph, "failed"))[1] == ("produce", "define", "STATE", "chunk")


def test_why_region_of_only_round_trips_names_the_last_and_ends(run):
    process = run.process()
    main, workers = process.thread(), [process.thread(f"w{number}") for number in range(3)]
    main.enter("main").log("before")
    for number, worker in enumerate(workers):
        main.send(number, channel="executor.submit")
        worker.begin(number, channel="executor.submit").enter(f"work{number}").exit(f"work{number}")
        worker.send(number, channel="executor.result").end()
        main.join(number, channel="executor.result")
    main.log("a future failed")
    graph = run.graph()
    assert [graph.function(step.event).removeprefix("app:") for step in why(graph, find(graph, "before"))] == [
        "main"
    ] * 2
    steps = why(graph, find(graph, "a future failed"))
    assert [(graph.strands[graph.strand[step.event]].name, graph.event(step.event).kind) for step in steps] == [
        ("MainThread", "log"),
        ("w2", "send"),
        ("MainThread", "send"),
        ("MainThread", "enter"),
    ]


def test_why_of_main_task_names_the_task_that_woke_it(run):
    thread = run.process().thread()
    thread.send("run", channel="asyncio.handle")
    thread.step("main").join("run", channel="asyncio.handle").enter("main").send("make", channel="asyncio.handle")
    thread.suspend("main").stop("main")
    thread.step("setter").join("make", channel="asyncio.handle").enter("set").send("wake", channel="asyncio.handle")
    thread.exit("set").stop("setter")
    thread.step("main").join("wake", channel="asyncio.handle").resume("main").log("event came")
    graph = run.graph()
    assert [name for name, *_ in chain(graph, find(graph, "event came"))][1:3] == ["set", "main"]


def test_why_among_round_trips_names_the_one_of_the_open_call(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.send("a").send("b").enter("gather")
    worker.receive("a").enter("one").send("done a").exit("one").receive("b").enter("two").send("done b").exit("two")
    main.join("done a").enter("helper").join("done b").exit("helper").log("failed")
    graph = run.graph()
    assert chain(graph, find(graph, "failed"))[1][0] == "one"


def test_why_region_without_cause_ends_at_its_first_event(run):
    thread = run.process().thread()
    thread.enter("main").log("x")
    graph = run.graph()
    assert chain(graph, 1) == [("main", "log", None, ""), ("main", "enter", None, "")]
    assert chain(graph, 0) == [("main", "enter", None, "")]


def test_why_chain_longer_than_recursion_limit_is_complete(run):
    process = run.process()
    threads = [process.thread(f"t{number}") for number in range(2)]
    for number in range(3000):
        threads[number % 2].log("x").send(number)
        threads[(number + 1) % 2].log("y").join(number)
    graph = run.graph()
    # Every join leads back through the other thread in a round trip; only the first has no earlier send.
    steps = why(graph, graph.strands[0].stop - 1)
    assert steps[0].event == graph.strands[0].stop - 1
    assert len({step.event for step in steps}) == len(steps)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_why_follows_edges_and_never_repeats_an_event(graph_of, data):
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    total = sum(sizes)
    event = st.integers(0, total - 1)
    edges = data.draw(st.lists(st.tuples(event, event), max_size=14))
    kinds = data.draw(st.lists(st.sampled_from([Kind.JOIN, Kind.RECEIVE, Kind.MARK]), min_size=total, max_size=total))
    graph = graph_of([[number] * size for number, size in enumerate(sizes)], edges, kinds=kinds)
    graph.edge_kind[:] = data.draw(
        st.lists(st.sampled_from([1, 2, 3]), min_size=len(graph.edge_kind), max_size=len(graph.edge_kind))
    )
    start = data.draw(event)
    steps = why(graph, start)
    assert steps[0].event == start
    events = [step.event for step in steps]
    assert len(set(events)) == len(events)
    for earlier, step in zip(steps, steps[1:], strict=False):
        if step.edge >= 0:
            assert (graph.edge_src[step.edge], graph.edge_dst[step.edge]) == (step.event, step.target_event)
            assert graph.region[step.target_event] == graph.region[earlier.event]
            assert step.target_event <= earlier.event


def test_next_and_previous_event_are_in_the_same_region(run):
    thread = run.process().thread()
    thread.enter("serve").log("x").begin(1).log("inside").end().log("after")
    graph = run.graph()
    assert next_(graph, 1) == 5 and previous(graph, 5) == 1
    assert previous(graph, 2) == -1 and next_(graph, 4) == -1
    assert next_(graph, 5) == -1 and previous(graph, 0) == -1


def test_causes_and_effects_are_edges_of_the_event(run):
    process = run.process()
    a, b = process.thread(), process.thread("b")
    a.define(1)
    b.use(1)
    graph = run.graph()
    assert [(cause.event, cause.kind, cause.channel) for cause in causes(graph, 1)] == [(0, EdgeKind.STATE, "chunk")]
    assert [effect.event for effect in effects(graph, 0)] == [1]
    assert causes(graph, 0) == [] and effects(graph, 1) == []
    assert np.array_equal(graph.edge_src, [0])


def test_why_of_acquired_lock_leads_to_its_release(run):
    process = run.process()
    main, holder, waiter = process.thread(), process.thread("holder"), process.thread("waiter")
    main.enter("start").send("h").send("w").exit("start")
    holder.join("h").enter("hold")
    waiter.join("w").enter("wait")
    holder.release("lock").exit("hold")
    waiter.acquire("lock").log("got it")
    graph = run.graph()
    (acquired,) = graph.rows_of([Kind.ACQUIRE]).tolist()
    assert chain(graph, acquired) == [
        ("wait", "acquire", None, ""),
        ("hold", "release", "SYNC", "lock"),
        ("start", "send", "USE", "message"),
        ("start", "enter", None, ""),
    ]
    # The holder did not cause the work done with the lock.
    assert chain(graph, find(graph, "got it"))[:2] == [("wait", "log", None, ""), ("start", "send", "USE", "message")]
    assert [cause.kind for cause in causes(graph, acquired)] == [EdgeKind.SYNC]


def test_why_of_wait_names_first_of_message_and_wakeup_never_lock(run):
    process = run.process()
    main, giver, waker, holder = (process.thread(name) for name in ("main", "giver", "waker", "holder"))
    giver.enter("give").send("item")
    waker.enter("wake").release(1, "condition")
    holder.enter("hold").define("chunk-7").release(2)
    main.enter("work").join("item").acquire(1, "condition").acquire(2).log("done")
    graph = run.graph()
    assert chain(graph, find(graph, "done"))[1] == ("give", "send", "USE", "message")


def test_why_of_event_after_a_wakeup_names_the_waker(run):
    process = run.process()
    main, waker, holder = process.thread(), process.thread("waker"), process.thread("holder")
    waker.enter("wake").release(1, "event")
    holder.enter("hold").release(2)
    main.enter("work").acquire(1, "event").acquire(2).log("done")
    graph = run.graph()
    assert chain(graph, find(graph, "done"))[1] == ("wake", "release", "SYNC", "event")
