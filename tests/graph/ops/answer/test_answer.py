"""Answers about made records: which reason the verdict tells, and which steps it leaves out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.answer import answer as module
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.answer.steps import MOST_STEPS
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Exception_, Frame, Holder, Wait, Wake
from tests.support.examples import examples

AT = (Frame("/src/app.py", 12, "lookup"),)


def tell(edge, _target):
    return f"edge {edge}"


def find(graph, text):
    return next(row for row in graph.rows_of([Kind.LOG]).tolist() if graph.text(row) == text)


def verdict(graph, text):
    return answer(graph, find(graph, text), tell).text


@pytest.fixture
def diagnosed(monkeypatch):
    """Make the diagnoses find the given findings."""

    def use(*found):
        monkeypatch.setattr(module, "findings", lambda _facts: list(found))

    use()
    return use


def test_answer_in_handler_names_the_exception_and_its_cause(run, diagnosed):
    thread = run.process().thread()
    thread.enter("serve")
    thread.fact(Kind.EXCEPTION, 1, "KeyError", Exception_("'sku-7'", "raised", AT))
    thread.unwind("serve").enter("serve")
    thread.fact(Kind.EXCEPTION, 2, "app.OutOfStock", Exception_("no sku-7", "handled", AT, cause=1))
    thread.log("failed", level=40)
    assert verdict(run.graph(), "failed") == (
        "It was written while handling app.OutOfStock: no sku-7, raised in lookup, app.py:12. "
        "That was caused by KeyError: 'sku-7', raised in lookup, app.py:12."
    )


def test_answer_after_exception_of_other_line_does_not_name_it(run, diagnosed):
    thread = run.process().thread()
    thread.enter("serve").fact(Kind.EXCEPTION, 1, "KeyError", Exception_("'a'", "handled", AT)).log("first")
    thread.log("second").exit("serve")
    assert "KeyError" not in verdict(run.graph(), "second")


def test_answer_after_wait_to_its_limit_tells_the_wait(run, diagnosed):
    process = run.process()
    thread = process.thread("pay-rent")
    thread.enter("transfer").fact(Kind.WAIT, 5, "lock", Wait(limit=2.0, at=AT), at=1_000_000_000)
    thread.fact(Kind.WAKE, 5, "lock", Wake("timeout"), at=3_000_000_000).log("timed out")
    assert (
        verdict(run.graph(), "timed out") == "pay-rent waited 2 s for a lock (lookup, app.py:12), until its time limit."
    )


def test_answer_after_wait_that_ended_well_tells_nothing_unusual(run, diagnosed):
    thread = run.process().thread("pay-rent")
    thread.enter("transfer").fact(Kind.WAIT, 5, "lock", Wait(at=AT)).fact(Kind.WAKE, 5, "lock", Wake()).log("done")
    assert verdict(run.graph(), "done").startswith("Nothing unusual was recorded that led to it: transfer (app.py:")


def test_answer_about_a_warning_without_a_reason_tells_which_call_took_most_of_the_time(run, diagnosed):
    thread = run.process().thread("worker").enter("execute", at=1_000_000).enter("resize", at=2_000_000)
    thread.exit("resize", at=60_000_000).log("took long", level=30, at=61_000_000).log("went on", at=62_000_000)
    told = "58 ms of the 60 ms since execute was called went to resize, app.py:"
    assert told in verdict(run.graph(), "took long")
    assert told not in verdict(run.graph(), "went on")


def test_answer_about_wait_of_unnamed_helper_task_names_its_waiter(run, diagnosed):
    process = run.process()
    loop = process.thread()
    key = process.strand("Task-9", loop.serial)
    library = (Frame("/usr/lib/python3.11/asyncio/locks.py", 387, "Semaphore.acquire"),)
    loop.step("visit").enter("visit").suspend("visit")
    loop.fact(Kind.WAIT, key, "asyncio.task", Wait(name="Task-9", target=key, limit=1.0, at=AT)).stop("visit")
    loop.step("Task-9").fact(Kind.WAIT, 5, "asyncio.semaphore", Wait(at=library)).stop("Task-9")
    loop.step("visit").fact(Kind.WAKE, key, "asyncio.task", Wake("timeout")).resume("visit").stop("visit")
    graph = run.graph()
    facts = Facts.of(graph)
    inner = next(wait for wait in facts.waits if wait.begin.channel == "asyncio.semaphore")
    assert words.who(facts, inner.strand) == "visit (Task-9)"
    assert words.waited_for(facts, inner, 2_000_000) == "waited 2 ms for a semaphore (lookup, app.py:12)"


def test_answer_in_cancelled_task_names_who_cancelled_it(run, diagnosed):
    process = run.process()
    loop = process.thread()
    key = process.strand("fetch", loop.serial)
    loop.step("fetch").enter("fetch").suspend("fetch").fact(Kind.WAIT, 5, "asyncio.event", Wait(at=AT)).stop("fetch")
    loop.fact(Kind.CANCEL, key, "asyncio.task", Cancel(at=AT))
    loop.step("fetch").fact(Kind.WAKE, 5, "asyncio.event", Wake("cancelled")).resume("fetch").log("gave up").stop(
        "fetch"
    )
    assert verdict(run.graph(), "gave up").endswith("MainThread cancelled fetch at +0.00 s (lookup, app.py:12).")


def test_answer_in_task_that_a_cancellation_did_not_interrupt_does_not_name_it(run, diagnosed):
    process = run.process()
    loop = process.thread()
    key = process.strand("fetch", loop.serial)
    loop.step("fetch").enter("fetch").suspend("fetch").stop("fetch")
    loop.fact(Kind.CANCEL, key, "anyio.scope", Cancel(at=AT))
    loop.step("fetch").resume("fetch").log("done").stop("fetch")
    assert "cancelled" not in verdict(run.graph(), "done")


def test_answer_with_finding_about_awaited_thread_tells_the_finding(run, diagnosed):
    process = run.process()
    main, worker = process.thread("main"), process.thread("w1")
    worker.enter("work").fact(Kind.WAIT, 5, "lock", Wait(at=AT))
    main.enter("wait").fact(Kind.WAIT, 6, "thread.join", Wait(name="w1", target=worker.serial, limit=1.0))
    main.fact(Kind.WAKE, 6, "thread.join", Wake("timeout")).log("stuck")
    graph = run.graph()
    strand = next(strand for strand in graph.strands if strand.name == "w1")
    found = Finding("made", Reason.RESOURCE, (Claim("It is so.", (0,)),), (Victim(strand.index, strand.start, -1),))
    diagnosed(found)
    it = answer(graph, find(graph, "stuck"), tell)
    assert (it.text, it.finding) == ("It is so.", found)
    assert [step.group.partition(",")[0] for step in it.steps] == ["in main", "in w1"]


@pytest.mark.parametrize("end", ["satisfied", "timeout"])
def test_answer_about_cancelled_task_does_not_follow_what_its_canceller_waited_for_and_got(run, diagnosed, end):
    process = run.process()
    main, worker, loop = process.thread("main"), process.thread("w1"), process.thread("loop")
    key = process.strand("pipe", loop.serial)
    loop.step("pipe").enter("pipe").suspend("pipe").fact(Kind.WAIT, 5, "asyncio.event", Wait(at=AT)).stop("pipe")
    worker.enter("work").exit("work")
    main.enter("close").fact(Kind.WAIT, 6, "thread.join", Wait(name="w1", target=worker.serial, limit=1.0))
    main.fact(Kind.WAKE, 6, "thread.join", Wake(end), at=50_000_000).fact(
        Kind.CANCEL, key, "asyncio.task", Cancel(at=AT)
    )
    loop.step("pipe").fact(Kind.WAKE, 5, "asyncio.event", Wake("cancelled")).resume("pipe").log("gave up").stop("pipe")
    graph = run.graph()
    strand = next(strand for strand in graph.strands if strand.name == "w1")
    diagnosed(Finding("made", Reason.DATA, (Claim("It is so.", (0,)),), (Victim(strand.index, strand.start, -1),)))
    found = answer(graph, find(graph, "gave up"), tell)
    assert (found.finding is None) == (end == "satisfied")
    assert ("main cancelled pipe at +0.05 s" in found.text) == (end == "satisfied")


def test_answer_does_not_take_finding_about_unrelated_thread(run, diagnosed):
    process = run.process()
    main, other = process.thread("main"), process.thread("other")
    other.enter("work").fact(Kind.WAIT, 5, "lock", Wait(at=AT)).exit("work")
    main.enter("serve").log("failed")
    graph = run.graph()
    strand = next(strand for strand in graph.strands if strand.name == "other")
    diagnosed(Finding("made", Reason.RESOURCE, (Claim("It is so.", (0,)),), (Victim(strand.index, strand.start, -1),)))
    assert answer(graph, find(graph, "failed"), tell).finding is None


def test_answer_follows_the_holder_of_a_lock(run, diagnosed):
    process = run.process()
    main, other = process.thread("main"), process.thread("other")
    other.enter("hold")
    holder = Holder(thread=other.serial, held_ns=100, at=AT)
    main.enter("serve").fact(Kind.WAIT, 5, "lock", Wait(at=AT, holders=(holder,)))
    main.fact(Kind.WAKE, 5, "lock", Wake("timeout")).log("failed")
    graph = run.graph()
    groups = [step.group.partition(",")[0] for step in answer(graph, find(graph, "failed"), tell).steps]
    assert groups == ["in main", "in other"]


def test_answer_does_not_leave_request_by_scheduling(run, diagnosed):
    process = run.process()
    other, main = process.thread("other"), process.thread("main")
    other.enter("first").request("GET /a").send(1, "asyncio.handle").exit("first")
    main.enter("second").request("GET /b").receive(1, "asyncio.handle").log("failed").exit("second")
    graph = run.graph()
    assert [step.event for step in answer(graph, find(graph, "failed"), tell).steps] == [find(graph, "failed")]


def test_answer_does_not_follow_the_registration_of_a_callback_that_runs_again(run, diagnosed):
    process = run.process()
    other, main = process.thread("other"), process.thread("main")
    other.enter("connect").send(1, "asyncio.handle").exit("connect")
    main.begin(1).log("first").end().begin(1).log("second").end()
    graph = run.graph()
    assert [step.event for step in answer(graph, find(graph, "second"), tell).steps] == [find(graph, "second")]


def test_answer_follows_the_registration_of_a_callback_that_runs_once(run, diagnosed):
    process = run.process()
    other, main = process.thread("other"), process.thread("main")
    other.enter("connect").send(1, "asyncio.handle").exit("connect")
    main.begin(1).log("failed").end()
    graph = run.graph()
    groups = [step.group.partition(",")[0] for step in answer(graph, find(graph, "failed"), tell).steps]
    assert groups == ["in main", "in other"]


def test_answer_tells_the_first_line_of_an_exceptions_message(run, diagnosed):
    thread = run.process().thread()
    thread.enter("serve")
    text = Exception_("status 500\nfor more see RFC 9110", "handled", AT)
    thread.fact(Kind.EXCEPTION, 2, "app.Failed", text).log("failed", level=40)
    assert (
        verdict(run.graph(), "failed")
        == "It was written while handling app.Failed: status 500, raised in lookup, app.py:12."
    )


def test_answer_leaves_request_along_state(run, diagnosed):
    process = run.process()
    other, main = process.thread("other"), process.thread("main")
    other.enter("first").request("GET /a").define("chunk-7").exit("first")
    main.enter("second").request("GET /b").use("chunk-7").log("failed").exit("second")
    graph = run.graph()
    it = answer(graph, find(graph, "failed"), tell)
    assert it.text == "edge 0. That was part of the request GET /a of server."
    assert [step.group.partition(",")[0] for step in it.steps] == ["in GET /b", "in GET /a"]


def test_answer_tells_a_state_before_waits_that_ended_well(run, diagnosed):
    process = run.process()
    other, main = process.thread("other"), process.thread("main")
    other.enter("first").define("chunk-7").exit("first")
    holder = Holder(thread=other.serial, held_ns=100, at=AT)
    main.enter("second").fact(Kind.WAIT, 5, "lock", Wait(at=AT, holders=(holder,)))
    main.fact(Kind.WAKE, 5, "lock", Wake("satisfied")).use("chunk-7").log("failed").exit("second")
    assert verdict(run.graph(), "failed") == "edge 0."


def test_answer_of_any_graph_is_short_and_names_its_events(graphs):
    @settings(max_examples=examples(200))
    @given(graphs, st.data())
    def check(graph, data):
        if not len(graph):
            return
        it = answer(graph, data.draw(st.integers(0, len(graph) - 1)), tell)
        assert 1 <= len(it.verdict) <= 3
        assert 1 <= len(it.steps) <= MOST_STEPS
        for claim in it.verdict:
            assert claim.text.endswith(".")
            assert all(0 <= event < len(graph) for event in claim.events)

    check()


def test_answer_after_round_trip_does_not_tell_the_own_question(run, diagnosed):
    client, server = run.process("client").thread("client"), run.process("server").thread("server")
    client.enter("ask").send("question")
    server.enter("serve").receive("question").send("answer").exit("serve")
    client.receive("answer").log("the answer is wrong", level=40).exit("ask")
    assert verdict(run.graph(), "the answer is wrong").count("edge") == 1


def test_answer_about_exception_of_other_thread_does_not_tell_what_the_own_strand_had_sent_there(run, diagnosed):
    process = run.process("server")
    client, disk = process.thread("client"), process.thread("disk")
    client.enter("serve").send("write")
    disk.enter("apply").receive("write").fact(Kind.EXCEPTION, 9, "app.Refused", Exception_("deleted", "raised", AT))
    disk.unwind("apply")
    client.fact(Kind.EXCEPTION, 9, "app.Refused", Exception_("deleted", "handled", AT)).log("write failed", level=40)
    text = verdict(run.graph(), "write failed")
    assert text == "It was written while handling app.Refused: deleted, raised in lookup, app.py:12."
