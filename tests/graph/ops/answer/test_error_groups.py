"""The errors of a run, grouped by their cause."""

import time

from clew.graph.ops.answer.answer import Answer
from clew.graph.ops.answer.error_groups import MOST_MESSAGES, cause_of, error_before, group_errors, template
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame


def groups(graph):
    found, _ = group_errors(graph, lambda edge, _target: f"edge {edge}")
    return found


def test_group_errors_messages_that_differ_in_numbers_and_quotes_are_one_group(run):
    thread = run.process("app").thread()
    for number in range(5):
        thread.log(f"order {number} of 'customer {number}' failed", level=40, function="app:f", line=3)
    thread.log("disk is full", level=50, function="app:g", line=9).log("only a warning", level=30)
    first, second = groups(run.graph())
    assert (first.count, first.logs, first.newest) == (5, 5, first.events[-1])
    assert first.first_ns < first.last_ns
    assert (second.count, second.answered) == (1, 1)


def exception(thread, key, name, role, line, cause=0):
    at = (Frame("/src/app.py", line, "load"),)
    return thread.fact(Kind.EXCEPTION, key, name, Exception_("'sku'", role, at, cause))


def test_group_errors_lines_that_handled_the_same_exception_are_one_group(run):
    thread = run.process("app").thread()
    for number, text in enumerate(("load failed", "retry gave up", "load failed")):
        exception(thread, number + 1, "KeyError", "handled", 30)
        thread.log(text, level=40, function="app:f", line=number)
    exception(thread, 9, "KeyError", "handled", 77)
    thread.log("load failed", level=40, function="app:f", line=0)
    assert [group.count for group in groups(run.graph())] == [3, 1]


def test_group_errors_uncaught_exception_counts_once_and_an_end_on_request_does_not_count(run):
    process = run.process("app")
    main, worker = process.thread(), process.thread("worker")
    exception(worker, 1, "ValueError", "ended", 30)
    exception(worker, 2, "asyncio.exceptions.CancelledError", "ended", 31)
    exception(worker, 3, "SystemExit", "ended", 32)
    exception(main, 4, "OSError", "unretrieved", 40)
    exception(main, 4, "OSError", "handled", 40)
    main.log("Task exception was never retrieved", level=40, function="asyncio:x", line=5)
    found = groups(run.graph())
    assert sorted((group.logs, group.raised) for group in found) == [(0, 1), (1, 0)]


def test_group_errors_output_counts_only_error_lines_that_nothing_else_recorded(run):
    thread = run.process("app").thread()
    thread.log("connection refused", level=40, function="app:f", line=3)
    for text in (
        "12:00:01 ERROR app connection refused",
        "all is well",
        "child: fatal: cannot read the file",
        "Traceback (most recent call last):",
        '  File "app.py", line 3, in f',
        "ValueError: bad",
        "Exception in thread worker:",
        "Traceback (most recent call last):",
        '  File "app.py", line 9, in g',
        "OSError: gone",
    ):
        thread.put(Kind.OUTPUT, key=2, text=text)
    thread.put(Kind.OUTPUT, key=1, text="error: on stdout")
    thread.put(Kind.OUTPUT, key=1, text="ERROR child is stuck")
    exception(thread, 5, "ValueError", "ended", 3)
    graph = run.graph()
    printed = [graph.text(event) for group in groups(graph) for event in group.events if group.printed]
    assert sorted(printed) == ["ERROR child is stuck", "OSError: gone", "child: fatal: cannot read the file"]


def test_group_errors_ten_thousand_lines_take_a_bounded_time(run):
    thread = run.process("app").thread()
    for number in range(10_000):
        thread.log(f"order {number} failed: {'abcdefghij'[number % 10]}", level=40, function="app:f", line=3)
    graph = run.graph()
    began = time.process_time()
    found = groups(graph)
    assert time.process_time() - began < 5
    assert [group.count for group in found] == [1000] * 10
    assert all(1 < group.answered < 10 for group in found)


def test_group_errors_more_messages_than_are_answered_are_counted(run):
    thread = run.process("app").thread()
    for number in range(MOST_MESSAGES + 7):
        thread.log(f"message {'x' * number} failed", level=40, function="app:f", line=3)
    found, omitted = group_errors(run.graph(), lambda edge, _target: f"edge {edge}")
    assert (len(found), omitted) == (MOST_MESSAGES, 7)


def test_cause_of_answers_with_one_diagnosis_is_the_same_for_other_numbers():
    def found(text):
        finding = Finding("wait-circle", Reason.RESOURCE, (Claim(text, (1,)),), ())
        return Answer(1, finding.claims, "recorded", finding=finding)

    assert cause_of(found("t-1 waited 2 s for a."), ("x",)) == cause_of(found("t-2 waited 3 s for a."), ("y",))
    assert cause_of(found("t-1 waited for a."), ("x",)) != cause_of(found("t-1 waited for b."), ("x",))
    assert cause_of(Answer(1, (Claim("It ran.", (1,)),), "recorded"), ("x",)) == ("x",)


def test_template_leaves_out_numbers_addresses_and_quoted_texts():
    assert template("order 17 at 0x7f3a: 'a b' took 1.5s\nmore") == "order … at …: … took …"


def test_error_before_is_the_error_of_the_same_request(run):
    thread = run.process("app").thread()
    thread.begin("a").request("GET /a").enter("app:f").log("bad", level=40, function="app:f", line=3).exit(
        "app:f"
    ).end()
    thread.begin("b").request("GET /b").enter("app:f").exit("app:f").end()
    graph = run.graph()
    error = graph.rows_of([Kind.LOG]).tolist()[0]
    first, second = graph.rows_of([Kind.EXIT]).tolist()
    assert error_before(graph, error) == error
    assert error_before(graph, first) == error
    assert error_before(graph, second) == -1
