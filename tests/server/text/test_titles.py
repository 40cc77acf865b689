"""The words for edges between tasks, and the list of an event's causes."""

from clew.records.format.event import FLAG_FAILED, Kind
from clew.server.text.chain import causes_of
from clew.server.text.events import event_title


def test_causes_of_task_are_its_wake_up_then_its_start(run):
    thread, other = run.process().thread(), run.process().thread("other")
    thread.send("make", channel="asyncio.handle")
    thread.step("waiter").join("make", channel="asyncio.handle").stop("waiter")
    thread.step("setter").send("wake", channel="asyncio.handle").stop("setter")
    thread.step("waiter").join("wake", channel="asyncio.handle").log("event came").stop("waiter")
    other.log("alone")
    graph = run.graph()
    came, alone = (
        next(row for row in graph.rows_of([Kind.LOG]) if graph.text(row) == text) for text in ("event came", "alone")
    )
    causes = causes_of(graph, came)
    assert [cause.title for cause in causes] == [
        "task waiter was woken by task setter",
        "task waiter was started as a task by thread MainThread",
    ]
    assert [event_title(graph, cause.event) for cause in causes] == [
        "task setter scheduled the next step",
        "thread MainThread scheduled the next step",
    ]
    assert causes_of(graph, alone) == []


def test_cause_titles_differ_by_synchronization_primitive(run):
    process = run.process()
    other, main = process.thread("other"), process.thread()
    for channel in ("lock", "condition", "event", "semaphore", "barrier"):
        other.release(1, channel)
        main.acquire(1, channel)
    main.log("done")
    graph = run.graph()
    (done,) = graph.rows_of([Kind.LOG]).tolist()
    causes = causes_of(graph, done)
    assert [cause.title.replace("thread MainThread", "M").replace("thread other", "O") for cause in causes] == [
        "M and O met at a barrier",
        "M waited until O released a semaphore",
        "M continued because O had set an event",
        "M waited until O notified it",
        "M waited until O released a lock",
    ]
    assert [event_title(graph, cause.event).removeprefix("thread other ") for cause in causes] == [
        "arrived at a barrier", "released a semaphore", "set an event", "notified a condition", "released a lock",
    ]  # fmt: skip


def test_event_title_of_failed_expression_names_the_exception(run):
    process = run.process()
    thread, site = process.thread(), process.site("app:write")
    thread.enter("app:write")
    thread.put(Kind.SEND, site, 0, "chunk", "AttributeError", flags=FLAG_FAILED)
    thread.put(Kind.PAYLOAD, site, 0, "size", "TypeError", flags=FLAG_FAILED)
    thread.log("done")
    graph = run.graph()
    sent, payload = (int(graph.rows_of([kind])[0]) for kind in (Kind.SEND, Kind.PAYLOAD))
    assert event_title(graph, sent) == "app.write sent chunk (key failed: AttributeError)"
    assert event_title(graph, payload) == "size failed: TypeError"
    assert (graph.event(sent).key, graph.event(sent).text) == (
        "key failed: AttributeError",
        "key failed: AttributeError",
    )
    assert (graph.event(payload).key, graph.event(payload).text) == ("", "value failed: TypeError")


def test_event_titles_of_asyncio_primitives_do_not_say_lock(run):
    process = run.process()
    other, main = process.thread("other"), process.thread()
    for channel in ("asyncio.event", "asyncio.barrier", "queue.shutdown"):
        other.release(1, channel)
        main.acquire(1, channel)
    main.log("done")
    graph = run.graph()
    (done,) = graph.rows_of([Kind.LOG]).tolist()
    causes = causes_of(graph, done)
    assert [event_title(graph, cause.event).removeprefix("thread other ") for cause in causes] == [
        "shut a queue down",
        "arrived at a barrier",
        "set an event",
    ]


def test_value_in_redis_is_told_with_the_function_that_had_it_written(run):
    writing, reading = run.process(), run.process()
    writer, reader = writing.thread(), reading.thread()
    writer.enter("app:refresh")
    writer.enter("app:store")
    writer.put(Kind.DEFINE, writing.site("app:store"), 7, "redis.value")
    writer.exit("app:store")
    writer.exit("app:refresh")
    reader.enter("app:load")
    reader.put(Kind.USE, reading.site("app:load"), 7, "redis.value")
    reader.log("old token")
    graph = run.graph()
    (logged,) = graph.rows_of([Kind.LOG]).tolist()
    (cause,) = causes_of(graph, logged)
    assert cause.title == "app.load read a value in redis that app.store, called by app.refresh, had written"
