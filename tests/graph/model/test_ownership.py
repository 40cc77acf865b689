"""An event's owner is the call around it, the call that its scope or step runs, or only its thread or task."""

import numpy as np
import pytest

from clew.records.format.event import Kind


def owners(graph, kind, channel=""):
    rows = [row for row in graph.rows_of([kind]) if not channel or graph.channel(row) == channel]
    calls = [int(graph.owner[row]) for row in rows]
    return [graph.function(call).removeprefix("app:") if call >= 0 else None for call in calls]


def test_event_between_calls_belongs_to_the_thread(run):
    thread = run.process().thread()
    thread.enter("plain").exit("plain").send("a", channel="thread.start").join("b", channel="thread.join")
    thread.enter("later").exit("later").send("c", channel="thread.start")
    graph = run.graph()
    assert owners(graph, Kind.SEND) == [None, None]
    assert owners(graph, Kind.JOIN) == [None]


def test_event_before_first_call_of_busy_thread_belongs_to_thread(run):
    run.process().thread().join("parent", channel="process.start").log("x").send("a").enter("main").exit("main")
    assert owners(run.graph(), Kind.SEND) == [None]


def test_thread_start_and_end_belong_to_the_function_it_runs(run):
    process = run.process()
    process.thread().send("t", channel="thread.start")
    worker = process.thread("worker")
    worker.join("t", channel="thread.start").enter("work").exit("work").send("end", channel="thread.join")
    graph = run.graph()
    assert owners(graph, Kind.JOIN) == ["work"]
    assert owners(graph, Kind.SEND, "thread.join") == ["work"]


def test_scope_that_runs_several_functions_has_no_owner(run):
    thread = run.process().thread()
    thread.begin("job", channel="executor.submit").enter("a").exit("a").enter("b").exit("b")
    thread.send("job", channel="executor.result").end()
    graph = run.graph()
    assert owners(graph, Kind.SCOPE_BEGIN) == owners(graph, Kind.SEND) == owners(graph, Kind.SCOPE_END) == [None]


def test_scope_that_runs_one_function_is_owned_by_it(run):
    thread = run.process().thread()
    thread.begin("job", channel="executor.submit").enter("apply").exit("apply")
    thread.send("job", channel="executor.result").send("wake", channel="asyncio.handle").end()
    graph = run.graph()
    assert owners(graph, Kind.SCOPE_BEGIN) == owners(graph, Kind.SCOPE_END) == ["apply"]
    assert owners(graph, Kind.SEND) == ["apply", "apply"]


def test_send_of_unrecorded_work_is_not_owned_by_earlier_call(run):
    run.process().thread().begin("job").enter("plain").exit("plain").send("t", channel="thread.start").end()
    assert owners(run.graph(), Kind.SEND) == [None]


def test_wake_of_task_is_owned_by_the_resumed_call(run):
    thread = run.process().thread()
    thread.step("t").join("make").enter("one").suspend("one").stop("t")
    thread.step("t").join("wake").resume("one").exit("one").enter("two").suspend("two").stop("t")
    assert owners(run.graph(), Kind.JOIN) == ["one", "one"]


@pytest.mark.parametrize("handler", [False, True])
def test_wake_of_task_by_exception_is_owned_by_innermost_suspended_call(run, handler):
    thread = run.process().thread()
    thread.step("t").join("make").enter("outer").enter("inner").suspend("inner").suspend("outer").stop("t")
    thread.step("t").join("failed").log("caught")
    if handler:
        thread.enter("clean_up").exit("clean_up")
    thread.unwind("inner").unwind("outer").stop("t")
    graph = run.graph()
    assert owners(graph, Kind.JOIN) == ["outer", "inner"]
    assert owners(graph, Kind.LOG) == ["inner"]


def test_graph_without_calls_has_no_owners(run):
    run.process().thread().send("a").step("t").join("b").stop("t")
    assert np.all(run.graph().owner == -1)
