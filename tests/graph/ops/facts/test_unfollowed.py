"""Events of a thread that was not followed are told from all others."""

from __future__ import annotations

from clew.graph.build.builder import build
from clew.graph.model.gaps import gaps
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses import registry
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.unfollowed import limits, unfollowed, unfollowed_at
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import FLAG_OVER, UNFOLLOWED, Kind

TEXT = "gevent runs in this thread; clew does not follow its greenlets"


def begin(thread, **more):
    return thread.put(Kind.GAP, thread.process.site("gevent:run", kind="adapter"), 0, UNFOLLOWED, TEXT, **more)


def end(thread):
    return begin(thread, flags=FLAG_OVER)


def logged(graph):
    return {graph.text(row): row for row in graph.rows_of([Kind.LOG]).tolist()}


def test_unfollowed_covers_tasks_and_calls_of_its_thread_until_its_end(run):
    thread = run.process().thread()
    thread.log("before")
    begin(thread)
    thread.log("inside").step("task").log("task").stop("task")
    end(thread)
    thread.log("after")
    graph, _ = build(run.write())
    rows = logged(graph)
    assert [text for text, row in rows.items() if unfollowed_at(graph, row)] == ["inside", "task"]
    assert limits(graph, rows.values()) == (
        "gevent runs in MainThread; clew does not follow its greenlets, so the causes there are not known.",
    )
    assert limits(graph, [rows["before"], rows["after"]]) == ()
    assert gaps(graph) == []


def test_unfollowed_threads_are_told_apart(run):
    process = run.process()
    first, second, third = (process.thread(name) for name in ("one", "two", "three"))
    begin(first)
    begin(second)
    for thread in (first, second, third):
        thread.log(f"in {thread.serial}")
    end(second)
    second.log("later in 2")
    first.log("later in 1")
    graph, _ = build(run.write())
    found = [text for text, row in logged(graph).items() if unfollowed_at(graph, row)]
    assert sorted(found) == ["in 1", "in 2", "later in 1"]
    assert [time.until_ns is None for time in unfollowed(graph)] == [True, False]
    assert len(limits(graph, range(len(graph)))) == 2


def test_answer_for_event_that_was_not_followed_names_no_cause(run):
    process = run.process()
    thread = process.thread()
    thread.enter("other").log("before")
    begin(thread)
    thread.enter("request").log("failed")
    graph, _ = build(run.write())
    made = answer(graph, logged(graph)["failed"], lambda _edge, _event: "")
    assert made.certainty == "unknown"
    assert (made.steps, made.finding) == ((), None)
    assert [text.split(";")[0] for text in made.limits] == ["gevent runs in MainThread"]
    assert answer(graph, logged(graph)["before"], lambda _edge, _event: "").limits == ()


def test_answer_stops_where_its_chain_was_not_followed(run):
    process = run.process()
    loop, worker = process.thread("loop"), process.thread("worker")
    begin(loop)
    loop.enter("other").log("earlier").send("item", channel="queue")
    worker.enter("work").receive("item", channel="queue").log("bad item")
    graph, _ = build(run.write())
    made = answer(graph, logged(graph)["bad item"], lambda _edge, _event: "work received the item")
    assert [text.split(";")[0] for text in made.limits] == ["gevent runs in loop"]
    assert {graph.strand_of(step.event).name for step in made.steps} == {"worker", "loop"}
    assert logged(graph)["earlier"] not in [step.event for step in made.steps]


def test_findings_omit_those_that_follow_from_what_was_not_followed(run, monkeypatch):
    thread = run.process().thread()
    thread.log("before")
    begin(thread)
    thread.log("inside")
    graph, _ = build(run.write())
    claims = [Finding("kind", Reason.DATA, (Claim("It is so.", (row,)),), ()) for row in logged(graph).values()]
    monkeypatch.setattr(registry, "DIAGNOSES", (lambda _facts: claims,))
    assert registry.findings(Facts.of(graph)) == claims[:1]


def test_unfollowed_run_without_marks_has_no_limits(run):
    run.process().thread().log("a")
    graph, _ = build(run.write())
    assert limits(graph, range(len(graph))) == ()


def test_critical_path_begins_after_code_that_was_not_followed(run):
    process = run.process()
    loop, worker = process.thread("loop"), process.thread("worker")
    begin(loop, at=0)
    loop.enter("other", at=10).send("job", at=50).log("in the loop", at=60)
    worker.join("job", at=70).enter("work", at=80).log("in the worker", at=90)
    graph = run.graph()
    rows = logged(graph)
    inside = critical_path(graph, slice_events(graph, [rows["in the loop"]]))
    assert (inside.segments, inside.total_ns, inside.branches(), inside.slacks()) == ([], 0, [], [])
    assert inside.limits == inside.project("process").limits == limits(graph, [rows["in the loop"]])
    after = critical_path(graph, slice_events(graph, [rows["in the worker"]]))
    assert [(segment.label, segment.start, segment.self_ns) for segment in after.segments] == [("app:work", 50, 20)]
    assert after.limits == inside.limits
