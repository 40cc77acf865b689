from random import Random

from clew.graph.ops.diagnoses.control.cancelled_by import cancelled_by
from clew.records.format.event import Kind
from clew.records.format.facts import Ended
from tests.support.diagnoses.made import Made


def made_run(*, cancelled=True, **more):
    made = Made(Random(1))
    thread = made.thread
    thread.step("fetch")
    made.wait(7, "asyncio.future")
    thread.stop("fetch").step("main").enter("stop")
    if cancelled:
        made.cancel("fetch", **more)
    thread.exit("stop").stop("main").step("fetch")
    made.wake(7, "asyncio.future", "cancelled")
    thread.fact(Kind.ENDED, made.key("fetch"), "", Ended("cancelled")).stop("fetch")
    return made


def find(facts):
    """Return who cancelled each task that ended as cancelled."""
    found = [cancelled_by(facts, strand, fact.row) for strand, fact in facts.ended.items()]
    return [finding for finding in found if finding]


def test_cancelled_by_names_who_cancelled_a_task_and_the_message():
    (finding,) = find(made_run(message="the client went away").facts())
    assert finding.text.startswith("main cancelled fetch at +0.00 s (stop, app.py:")
    assert finding.text.endswith("): the client went away.")
    assert finding.certainty == "recorded"


def test_cancelled_by_of_a_time_limit_names_the_limit():
    (finding,) = find(made_run(deadline=True).facts())
    assert finding.text.startswith("A time limit cancelled fetch")


def test_cancelled_by_of_a_scope_leaves_out_the_message_of_its_library():
    (finding,) = find(made_run(channel="anyio.scope", message="Cancelled via cancel scope 7f1a").facts())
    assert finding.text.startswith("main cancelled the cancel scope of fetch at")
    assert "7f1a" not in finding.text


def test_cancelled_by_without_a_recorded_cancellation_finds_nothing():
    assert find(made_run(cancelled=False).facts()) == []


def test_cancelled_by_of_a_refused_cancellation_finds_nothing():
    assert find(made_run(accepted=False).facts()) == []


def test_cancelled_by_of_a_row_before_the_interruption_finds_nothing():
    facts = made_run().facts()
    begin = facts.waits[0].begin
    assert cancelled_by(facts, begin.strand, begin.row) is None


def test_cancelled_by_of_a_scope_that_the_task_has_left_finds_nothing():
    made = Made(Random(1))
    thread = made.thread
    thread.step("fetch")
    made.wait(7, "asyncio.future")
    made.cancel("fetch", channel="anyio.scope")
    made.wake(7, "asyncio.future", "cancelled")
    made.wait(8, "asyncio.future")
    made.wake(8, "asyncio.future")
    thread.log("later").stop("fetch")
    facts = made.facts()
    row = facts.graph.rows_of([Kind.LOG]).tolist()[0]
    assert cancelled_by(facts, facts.waits[0].strand, row) is None
