"""Waits that end without success as usual are no reasons; those that others do not have are."""

import pytest

from clew.graph.ops.answer import answer as module
from clew.graph.ops.answer.answer import answer
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait, Wake

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "poll"),)


@pytest.fixture(autouse=True)
def no_findings(monkeypatch):
    monkeypatch.setattr(module, "findings", lambda _facts: [])


class Thread:
    """A thread whose waits last 10 ms."""

    def __init__(self, run):
        self.thread, self.ns = run.process().thread("poller"), 0

    def wait(self, end="timeout"):
        self.thread.fact(Kind.WAIT, 7, "event", Wait(at=AT), at=self.ns)
        self.ns += 10 * MS
        self.thread.fact(Kind.WAKE, 7, "event", Wake(end), at=self.ns)
        return self

    def log(self, text, level=20):
        self.thread.log(text, level=level, line=40 + len(text), at=self.ns)
        return self

    def enter(self, function):
        self.thread.enter(function, at=self.ns)
        return self

    def exit(self, function):
        self.thread.exit(function, at=self.ns)
        return self


def text(run, line):
    graph = run.graph()
    row = next(row for row in graph.rows_of([Kind.LOG]).tolist() if graph.text(row) == line)
    return answer(graph, row, lambda edge, _target: f"edge {edge}").text


def test_time_limit_of_polling_loop_is_no_reason(run):
    thread = Thread(run).enter("loop")
    for _ in range(5):
        thread.wait()
    thread.wait().log("bad sample", level=40).wait().wait().exit("loop")
    assert "waited" not in text(run, "bad sample")


def test_time_limits_after_which_a_loop_gives_up_are_the_reason(run):
    thread = Thread(run).enter("save")
    for _ in range(5):
        thread.wait()
    thread.log("gave up", level=40).exit("save")
    assert text(run, "gave up").startswith("poller waited 10 ms for an event (poll, app.py:12), until its time limit")


def test_time_limit_that_other_calls_have_without_harm_is_no_reason(run):
    thread = Thread(run)
    for _ in range(6):
        thread.enter("visit").wait().log("done").exit("visit")
    thread.enter("visit").wait().log("no price", level=40).exit("visit")
    assert "waited" not in text(run, "no price")


def test_more_time_limits_than_other_calls_have_are_the_reason(run):
    thread = Thread(run)
    for _ in range(6):
        thread.enter("visit").wait().log("done").exit("visit")
    thread.enter("visit").wait().wait().wait().log("gave up", level=40).exit("visit")
    assert "waited 10 ms" in text(run, "gave up")


def test_time_limit_that_fails_most_calls_is_the_reason(run):
    thread = Thread(run)
    for _ in range(3):
        thread.enter("visit").wait().log("done").exit("visit")
    for _ in range(5):
        thread.enter("visit").wait().log("no connection", level=40).exit("visit")
    assert "waited 10 ms" in text(run, "no connection")


def test_time_limit_without_like_waits_is_the_reason(run):
    Thread(run).enter("visit").wait().log("no connection", level=40).exit("visit")
    assert "waited 10 ms" in text(run, "no connection")
