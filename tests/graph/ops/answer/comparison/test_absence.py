"""Why something did not happen in made records: what like requests do, where one parted from them, and by what."""

import pytest

from clew.graph.model.open_run import OpenRun
from clew.graph.ops.answer.comparison import absence as module
from clew.graph.ops.answer.comparison.absence import absence
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel, Ended, Exception_, Frame, Holder, Wait, Wake

AT = (Frame("/src/app.py", 12, "reserve"),)


@pytest.fixture(autouse=True)
def diagnosed(monkeypatch):
    def use(*found):
        monkeypatch.setattr(module, "findings", lambda _facts: list(found))

    use()
    return use


def opened(run):
    return OpenRun(run.info, run.folder, [], run.graph())


def order(thread, number, *, until="end", log=True, name="order"):
    """Write one request: serve calls price, then reserve, and logs `order N done`."""
    thread.enter("serve").request(name)
    thread.enter("price").exit("price")
    if until == "price":
        return thread
    thread.enter("reserve")
    if until == "reserve":
        return thread
    thread.exit("reserve")
    if log:
        thread.log(f"order {number} done", function="serve", line=30)
    return thread.exit("serve")


def test_absence_after_a_timed_out_wait_tells_the_wait(run):
    thread = run.process().thread()
    for number in range(3):
        order(thread, number)
    order(thread, 3, until="reserve")
    thread.fact(Kind.WAIT, 5, "lock", Wait(limit=2.0, at=AT, holders=(Holder(1),)))
    thread.fact(Kind.WAKE, 5, "lock", Wake("timeout")).unwind("reserve").unwind("serve")
    found = absence(opened(run), "done")
    first, second = (claim.text for claim in found.verdict)
    assert first == ("'done' happens in 3 of 4 requests order here, after the call of reserve (app.py:30).")
    assert second.startswith(
        "Request order went as usual until the call of reserve (app.py:30) at +0.00 s; then MainThread waited"
    )
    assert second.endswith("for a lock (reserve, app.py:12), until its time limit.")
    assert found.certainty == "inferred"


def test_absence_of_one_number_is_that_of_its_template(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    order(thread, 77, until="price").unwind("serve")
    found = absence(opened(run), "order 77 done")
    assert "'order 77 done' happens in 2 of 3 requests order here" in found.text
    assert "where others continue with the call of reserve" in found.text
    assert "serve ended by an exception" in found.text


def test_absence_of_a_function_tells_the_exception(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    order(thread, 3, until="price").fact(Kind.EXCEPTION, 9, "builtins.KeyError", Exception_("'sku'", at=AT))
    thread.unwind("serve")
    found = absence(opened(run), "reserve")
    assert "then KeyError: 'sku' was raised (reserve, app.py:12)." in found.text


def test_absence_in_a_cancelled_task_tells_who_cancelled_it(run):
    process = run.process()
    thread = process.thread()
    for name in ("one", "two"):
        thread.step(name)
        order(thread, 1).stop(name)
    thread.step("three")
    order(thread, 3, until="price").stop("three")
    key = process.strand("three", 1)
    thread.step("killer").fact(Kind.CANCEL, key, "asyncio.task", Cancel(at=AT)).stop("killer")
    thread.step("three").unwind("serve").fact(Kind.ENDED, key, "", Ended("cancelled")).stop("three")
    assert "then killer cancelled three at +0.00 s (reserve, app.py:12)" in absence(opened(run), "done").text


def test_absence_by_another_branch_tells_its_first_step(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    thread.enter("serve").request("order").enter("price").exit("price").enter("refuse").exit("refuse").exit("serve")
    text = absence(opened(run), "done").text
    assert "then it took another branch: the call of refuse (app.py:" in text


def test_absence_without_a_diversion_tells_the_end(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    order(thread, 3, log=False)
    assert "after that it ended, and nothing unusual was recorded." in absence(opened(run), "done").text


def test_absence_finding_of_the_execution_is_part_of_the_verdict(run, diagnosed):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    order(thread, 3, until="reserve").fact(Kind.WAIT, 5, "lock", Wait(at=AT))
    graph = run.graph()
    early = Finding("early", Reason.DATA, (Claim("Too early.", (0,)),), (Victim(0, 0, 2),))
    finding = Finding("wait-circle", Reason.RESOURCE, (Claim("A deadlock.", (0,)),), (Victim(0, len(graph) - 1, -1),))
    diagnosed(early, finding)
    found = absence(opened(run), "done")
    assert found.finding is finding and found.text.endswith("A deadlock.") and found.certainty == "recorded"
    assert "and never went on" in found.text


def test_absence_of_what_happened_says_so(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    found = absence(opened(run), "done")
    assert found.text == "It happened in all 2 requests order, at last at +0.00 s." and found.certainty == "recorded"
    assert absence(opened(run), "order 1 done").text.startswith("It happened in request order, at +0.00 s: the line")
    event = opened(run).graph.rows_of([Kind.REQUEST]).tolist()[0]
    assert absence(opened(run), "done", event=event).text.startswith(
        "It happened in request order, at +0.00 s: the line"
    )


def test_absence_of_what_never_happens_asks_for_a_baseline(run):
    order(run.process().thread(), 1)
    found = absence(opened(run), "paid")
    assert found.text.startswith("'paid' never happens in any request or strand of this run")
    assert found.certainty == "unknown" and found.remedy == "clew why --not 'paid' --baseline RUN"


def test_absence_of_an_unknown_request_says_so(run):
    order(run.process().thread(), 1)
    assert absence(opened(run), "done", request="refund").text == "There is no request refund in this run."


def test_absence_with_a_baseline_compares_with_its_requests(run, new_run):
    before = new_run("before")
    order(before.process().thread(), 1)
    thread = run.process().thread()
    order(thread, 3, until="reserve").fact(Kind.WAIT, 5, "lock", Wait(at=AT))
    found = absence(opened(run), "done", baseline=opened(before))
    assert found.text.startswith("'done' happens in 1 of 1 request order in the baseline before")
    assert "and never went on" in found.text


def test_absence_without_requests_compares_strands_of_one_function(run):
    thread = run.process().thread()
    for name in ("consumer-a", "consumer-b"):
        thread.step(name).enter("consume").suspend("consume").stop(name)
    thread.step("consumer-b").fact(Kind.WAIT, 5, "asyncio.condition", Wait(at=AT)).stop("consumer-b")
    thread.step("consumer-a").resume("consume").log("consumed").exit("consume").stop("consumer-a")
    text = absence(opened(run), "consumed").text
    assert text.startswith("'consumed' happens in 1 of 2 strands that run consume here")
    assert "Task consumer-b went as usual until the call of consume" in text
    assert "then consumer-b waited" in text and "and never went on" in text


def test_absence_of_a_number_is_about_the_execution_that_names_it(run):
    thread = run.process().thread()
    order(order(thread, 1), 2)
    for number in (3, 4):
        thread.enter("serve").request("order").log(f"order {number} begins", function="serve", line=9)
        thread.enter("price").exit("price").enter(f"refuse{number}").exit(f"refuse{number}").exit("serve")
    assert "refuse3" in absence(opened(run), "order 3 done").text
    assert "refuse4" in absence(opened(run), "order 5 done").text
