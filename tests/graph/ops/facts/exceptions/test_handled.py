from random import Random

from clew.graph.ops.facts.exceptions.handled import handled_at
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from tests.support.diagnoses.made import Made

AT = (Frame("/src/app.py", 30, "load"),)


def chain(made):
    """Return the exceptions that were handled at the last line."""
    facts = made.facts()
    return handled_at(facts, int(facts.graph.rows_of([Kind.LOG])[-1]))


def raised(thread, key, name, message="", **more):
    return thread.fact(Kind.EXCEPTION, key, name, Exception_(message, **more))


def test_handled_exception_has_the_record_of_where_it_was_raised():
    made = Made(Random(1))
    made.thread.enter("load")
    raised(made.thread, 5, "KeyError", "'order-7'", at=AT).unwind("load")
    raised(made.thread, 5, "KeyError", "'order-7'", role="handled").log("failed", level=40)
    (behind,) = chain(made)
    assert (behind.fact.text.role, behind.first.text.role) == ("handled", "raised")
    assert behind.at == AT


def test_handled_exception_is_followed_to_its_root():
    made = Made(Random(1))
    raised(made.thread, 1, "OSError", "disk full", at=AT)
    raised(made.thread, 2, "app.StoreError", cause=1)
    raised(made.thread, 3, "app.OrderError", role="handled", cause=2, context=1).log("failed", level=40)
    assert [(each.fact.channel, each.link) for each in chain(made)] == [
        ("app.OrderError", ""), ("app.StoreError", "cause"), ("OSError", "cause"),
    ]  # fmt: skip


def test_handled_group_is_followed_to_its_first_member():
    made = Made(Random(1))
    raised(made.thread, 1, "CancelledError", at=AT)
    raised(made.thread, 2, "ValueError", at=AT)
    raised(made.thread, 3, "ExceptionGroup", role="handled", members=(2,), context=1).log("failed", level=40)
    assert [(each.fact.channel, each.link) for each in chain(made)] == [
        ("ExceptionGroup", ""),
        ("ValueError", "member"),
    ]


def test_handled_exceptions_with_circular_causes_end():
    made = Made(Random(1))
    raised(made.thread, 1, "ValueError", cause=2)
    raised(made.thread, 2, "KeyError", cause=1)
    raised(made.thread, 1, "ValueError", role="handled", cause=2).log("failed", level=40)
    assert len(chain(made)) == 2


def test_no_exception_is_handled_after_other_work():
    made = Made(Random(1))
    raised(made.thread, 5, "KeyError", role="handled").log("first").enter("go").exit("go").log("second", level=40)
    assert chain(made) == []


def test_no_exception_is_handled_at_the_line_after_the_handlers():
    made = Made(Random(1))
    raised(made.thread, 5, "KeyError", role="handled").log("first").log("second", level=40)
    assert chain(made) == []


REMOTE = "multiprocessing.pool.RemoteTraceback"


def brought_by_pool(made, *, followed):
    """Return a run whose worker raised an exception that its pool raised again in the first process."""
    worker = made.run.process("worker").thread("worker")
    raised(worker, 1, "KeyError", "'order-7'", role="context", at=AT)
    raised(worker, 2, "app.OrderError", "no order", at=AT, cause=1)
    worker.send(9, "multiprocessing.pool")
    main = made.thread
    if followed:
        main.receive(9, "multiprocessing.pool")
    raised(main, 1, REMOTE, "Traceback …", role="context")
    raised(main, 2, "app.OrderError", "no order", role="handled", at=(Frame("/src/app.py", 3, "main"),), cause=1)
    main.log("failed", level=40)
    return made


def test_exception_of_a_pool_was_raised_in_its_worker():
    first, second = chain(brought_by_pool(Made(Random(1)), followed=True))
    assert (first.fact.channel, first.is_from_pool, first.at) == ("app.OrderError", True, AT)
    assert first.fact.process != first.first.process == second.fact.process
    assert (second.fact.channel, second.link) == ("KeyError", "cause")


def test_exception_of_a_pool_without_an_edge_to_its_worker_has_no_place():
    (only,) = chain(brought_by_pool(Made(Random(1)), followed=False))
    assert (only.is_from_pool, only.at) == (True, ())
