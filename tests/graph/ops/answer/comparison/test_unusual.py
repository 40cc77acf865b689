"""Answers that compare a call with like calls: a slow part, another branch, a next step that did not come."""

import re

import pytest

from clew.graph.ops.answer import answer as module
from clew.graph.ops.answer.answer import answer
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait, Wake

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "price"),)


@pytest.fixture(autouse=True)
def no_findings(monkeypatch):
    monkeypatch.setattr(module, "findings", lambda _facts: [])


def asked(run, text, baseline=None):
    graph = run.graph()
    row = next(row for row in graph.rows_of([Kind.LOG]).tolist() if graph.text(row) == text)
    return answer(graph, row, lambda edge, _target: f"edge {edge}", baseline and baseline.graph())


def without_lines(text):
    return re.sub(r"app\.py:\d+", "app.py", text)


class Shop:
    """A thread that serves orders: each calls price and charge, and logs that it is done."""

    def __init__(self, run):
        self.thread = run.process().thread("shop")
        self.ns = 0

    def order(self, *, price_ms=5, wait=False, steps=("charge",), line="done", level=20, end=True):
        thread = self.thread
        thread.enter("order", at=self.ns).enter("price", at=self.ns)
        if wait:
            thread.fact(Kind.WAIT, 7, "lock", Wait(at=AT), at=self.ns)
            thread.fact(Kind.WAKE, 7, "lock", Wake(), at=self.ns + (price_ms - 1) * MS)
        self.ns += price_ms * MS
        thread.exit("price", at=self.ns)
        for step in steps:
            thread.enter(step, at=self.ns).exit(step, at=self.ns + MS)
        self.ns += MS
        thread.log(line, level=level, at=self.ns)
        self.ns += MS
        if end:
            thread.exit("order", at=self.ns)
        return self


def test_answer_about_slow_call_names_the_slow_part_and_its_wait(run):
    shop = Shop(run)
    for _ in range(8):
        shop.order()
    shop.order(price_ms=400, wait=True, line="slow", level=40)
    found = asked(run, "slow")
    assert without_lines(found.text) == (
        "price (app.py) took 400 ms of the 401 ms since order was called; in 8 other calls of order it took at most "
        "5 ms. shop waited 399 ms for a lock (price, app.py)."
    )
    assert (found.certainty, found.basis) == ("inferred", "a comparison with 8 other calls of order in this run")


def test_answer_after_another_branch_names_its_first_step(run):
    shop = Shop(run)
    for _ in range(6):
        shop.order()
    shop.order(steps=("backorder",), line="refused", level=40)
    assert without_lines(asked(run, "refused").text) == (
        "order went as in 6 other calls until the call of price (app.py); then came the call of backorder (app.py), "
        "which none of them has."
    )


def test_answer_where_the_next_step_is_missing_names_it(run):
    shop = Shop(run)
    for _ in range(6):
        shop.order()
    shop.order(steps=(), line="refused", level=40)
    assert without_lines(asked(run, "refused").text) == (
        "order went as in 6 other calls until the call of price (app.py); they continue with the call of charge "
        "(app.py), and this call came to this line instead."
    )


@pytest.mark.parametrize("likes", [0, 4])
def test_answer_with_few_like_calls_tells_how_to_compare_with_more(run, likes):
    shop = Shop(run)
    for _ in range(likes):
        shop.order()
    shop.order(steps=("backorder",), line="refused", level=40)
    nothing, compared = asked(run, "refused").verdict
    assert nothing.text.startswith("Nothing unusual was recorded")
    assert compared.text == (
        "There are too few like calls in this run to compare it with; `clew why --baseline RUN` compares it with a run "
        "that went well."
    )


def test_answer_where_like_calls_failed_tells_that_too_few_went_well(run):
    shop = Shop(run)
    for _ in range(6):
        shop.order(line="other", level=40)
    shop.order(line="refused", level=40)
    assert asked(run, "refused").verdict[1].text == (
        "Fewer than 5 other calls of order in this run went well without it, which are too few to compare it with; "
        "`clew why --baseline RUN` compares it with a run "
        "that went well."
    )


def test_answer_without_a_difference_tells_what_was_compared(run):
    shop = Shop(run)
    for number in range(6):
        shop.order(line="sent" if number % 2 else "paid")
    shop.order(line="refused", level=40)
    nothing, compared = asked(run, "refused").verdict
    assert nothing.text.startswith("Nothing unusual was recorded")
    assert compared.text == "It was compared with 6 other calls of order in this run that went well."


def test_answer_about_call_that_waited_itself_names_the_wait(run):
    shop = Shop(run)
    for _ in range(6):
        shop.order()
    thread, ns = shop.thread, shop.ns
    thread.enter("order", at=ns)
    thread.fact(Kind.WAIT, 7, "lock", Wait(at=AT), at=ns).fact(Kind.WAKE, 7, "lock", Wake(), at=ns + 390 * MS)
    thread.log("slow", level=40, at=ns + 400 * MS)
    assert without_lines(asked(run, "slow").text) == (
        "order (app.py) took 400 ms until then; in 6 other calls of order it took at most 7 ms. shop waited 390 ms for a "
        "lock (price, app.py)."
    )


def test_answer_about_slow_call_without_slow_part_tells_its_time(run):
    shop = Shop(run)
    for number in range(6):
        shop.order(line="sent" if number % 2 else "paid")
    shop.order(line="paid", end=False)
    shop.thread.log("slow", level=40, at=shop.ns + 400 * MS)
    assert asked(run, "slow").verdict[1].text == (
        "No recorded part of order explains why it took 407 ms: 6 other calls of order in this run took at most 7 ms."
    )


def test_answer_about_usual_line_tells_nothing_unusual(run):
    shop = Shop(run)
    for _ in range(8):
        shop.order()
    shop.order(steps=("backorder",), line="last").order(line="last")
    nothing, compared = asked(run, "done").verdict
    assert nothing.text.startswith("Nothing unusual was recorded")
    assert compared.text == "7 of 9 other calls of order in this run came to it as well."


def test_answer_does_not_compare_with_calls_that_failed(run):
    shop = Shop(run)
    for _ in range(6):
        shop.order()
    for _ in range(3):
        shop.order(steps=("backorder",), line="other", level=40)
    shop.order(steps=("backorder",), line="refused", level=40)
    assert "the call of backorder" in asked(run, "refused").text


def test_answer_about_scattered_times_names_no_slow_part(run):
    shop = Shop(run)
    for number in range(8):
        shop.order(price_ms=5 + 40 * (number % 3))
    shop.order(price_ms=100, line="slow", level=40)
    assert "took" not in asked(run, "slow").text


def test_answer_with_a_baseline_compares_with_its_calls(new_run):
    run, healthy = new_run("today"), new_run("healthy")
    Shop(run).order(steps=("backorder",), line="refused", level=40)
    shop = Shop(healthy)
    for _ in range(5):
        shop.order()
    found = asked(run, "refused", healthy)
    assert without_lines(found.text) == (
        "order went as in 5 calls in run healthy until the call of price (app.py); then came the call of backorder "
        "(app.py), which none of them has."
    )
    assert found.basis == "a comparison with 5 calls of order in run healthy"
