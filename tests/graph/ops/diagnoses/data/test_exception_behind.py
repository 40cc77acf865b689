from random import Random

from clew.graph.ops.diagnoses.data.exception_behind import exception_behind, find
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from tests.support.diagnoses.made import Made

AT = (Frame("/src/app.py", 30, "load"),)


def error_row(facts):
    return int(facts.graph.rows_of([Kind.LOG])[-1])


def raised(thread, key, name, message="", **more):
    return thread.fact(Kind.EXCEPTION, key, name, Exception_(message, **more))


def test_exception_behind_line_is_the_one_that_was_handled():
    made = Made(Random(1))
    made.thread.enter("load")
    raised(made.thread, 5, "KeyError", "'order-7'", at=AT).unwind("load")
    raised(made.thread, 5, "KeyError", "'order-7'", role="handled", at=AT).log("failed", level=40)
    facts = made.facts()
    (behind,) = exception_behind(facts, error_row(facts))
    assert behind.fact.text.role == "raised"
    (finding,) = find(facts)
    assert finding.text.startswith(
        "The line was written while handling KeyError: 'order-7', raised at +0.00 s in load, app.py:30"
    )


def test_exception_behind_line_follows_causes_to_the_root():
    made = Made(Random(1))
    raised(made.thread, 1, "OSError", "disk full", at=AT)
    raised(made.thread, 2, "app.StoreError", cause=1)
    raised(made.thread, 3, "app.OrderError", role="handled", cause=2, context=1).log("failed", level=40)
    facts = made.facts()
    chain = exception_behind(facts, error_row(facts))
    assert [(each.fact.channel, each.link) for each in chain] == [
        ("app.OrderError", ""), ("app.StoreError", "cause"), ("OSError", "cause"),
    ]  # fmt: skip
    (finding,) = find(facts)
    assert "It was raised from (through app.StoreError) OSError: disk full" in finding.text


def test_exception_behind_circular_causes_ends():
    made = Made(Random(1))
    raised(made.thread, 1, "ValueError", cause=2)
    raised(made.thread, 2, "KeyError", cause=1)
    raised(made.thread, 1, "ValueError", role="handled", cause=2).log("failed", level=40)
    facts = made.facts()
    assert len(exception_behind(facts, error_row(facts))) == 2


def test_exception_behind_line_after_other_work_is_unknown():
    made = Made(Random(1))
    raised(made.thread, 5, "KeyError", role="handled").log("first").enter("go").exit("go").log("second", level=40)
    assert find(made.facts()) == []


def test_exception_behind_second_line_is_not_that_of_the_first():
    made = Made(Random(1))
    raised(made.thread, 5, "KeyError", role="handled").log("first").log("second", level=40)
    assert find(made.facts()) == []
