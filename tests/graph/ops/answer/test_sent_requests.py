"""What an answer tells about the request that failed: the receiver raised, or had not answered yet."""

import pytest

from clew.graph.ops.answer.sent_requests import sent_request
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame, Wait, Wake

AT = (Frame("/src/stock.py", 12, "depot_of"),)


@pytest.fixture
def shop(run):
    """The client's thread, which has sent a request and waits for the answer."""
    thread = run.process("shop").thread("client")
    return thread.enter("show").enter("ask").send(1, "traceparent")


@pytest.fixture
def stock(run, shop):
    """The server's thread, which has received the request."""
    return run.process("stock").thread("server").receive(1, "traceparent")


def told(run, text="failed"):
    graph = run.graph()
    row = next(row for row in graph.rows_of([Kind.LOG]).tolist() if graph.text(row) == text)
    found = sent_request(Facts.of(graph), row)
    return found and found.text


def raised(thread, name, function):
    return thread.fact(Kind.EXCEPTION, 7, name, Exception_("'sku-7'", "raised", AT)).unwind(function)


def test_sent_request_whose_handler_raised_tells_the_exception(run, shop, stock):
    raised(stock.enter("depot"), "KeyError", "depot")
    shop.log("failed")
    ended = "which ended with KeyError: 'sku-7', raised in depot_of, stock.py:12"
    assert told(run) == f"client had sent a request to server of stock, {ended}"


def test_sent_request_whose_handler_waits_tells_the_wait(run, shop, stock):
    stock.enter("depot").fact(Kind.WAIT, 5, "lock", Wait(at=AT))
    shop.log("failed", at=2_000_000)
    stock.fact(Kind.WAKE, 5, "lock", Wake("satisfied")).exit("depot")
    assert told(run) == (
        "client had sent a request to server of stock 2 ms earlier, which had not answered yet: "
        "it had waited 2 ms for a lock (depot_of, stock.py:12)"
    )


def test_sent_request_whose_handler_runs_tells_the_function(run, shop, stock):
    stock.enter("depot").enter("count")
    shop.log("failed", at=2_000_000)
    stock.exit("count").exit("depot")
    assert told(run).endswith("2 ms earlier, which had not answered yet: it was in count, app.py:20")


def test_sent_request_that_was_answered_tells_nothing(run, shop, stock):
    stock.enter("depot").exit("depot")
    shop.log("failed")
    assert told(run) is None


def test_sent_request_whose_handler_caught_an_exception_tells_nothing(run, shop, stock):
    raised(stock.enter("depot").enter("find"), "KeyError", "find").exit("depot")
    shop.log("failed")
    assert told(run) is None


def test_sent_request_of_a_function_that_has_returned_tells_nothing(run, shop, stock):
    raised(stock.enter("depot"), "KeyError", "depot")
    shop.exit("ask").log("failed")
    assert told(run) is None


def test_sent_request_before_one_that_was_answered_tells_nothing(run, shop, stock):
    raised(stock.enter("depot"), "KeyError", "depot")
    shop.send(2, "traceparent")
    run.process("prices").thread("server").receive(2, "traceparent").enter("price").exit("price")
    shop.log("failed")
    assert told(run) is None


def test_sent_request_that_nobody_received_tells_nothing(run, shop):
    shop.log("failed")
    assert told(run) is None
