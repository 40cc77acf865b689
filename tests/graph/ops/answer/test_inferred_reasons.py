"""Answers from what happened elsewhere before an event: uncaught exceptions and processes that died."""

import pytest

from clew.graph.ops.answer import answer as module
from clew.graph.ops.answer import inferred_reasons
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from clew.records.format.header import State
from clew.records.format.keys import key_of, process_end

AT = (Frame("/src/app.py", 12, "tidy"),)
ALONE = "the order in time alone: no recorded dependence leads to it"


@pytest.fixture(autouse=True)
def diagnosed(monkeypatch):
    """Make the diagnoses find the given findings."""

    def use(*found):
        for each in (module, inferred_reasons):
            monkeypatch.setattr(each, "findings", lambda _facts: list(found))

    use()
    return use


def asked(run):
    graph = run.graph()
    return answer(graph, next(iter(graph.rows_of([Kind.LOG]).tolist())), lambda edge, _target: f"edge {edge}")


def failed(thread, *, role="ended", at=1_000_000_000, name="builtins.KeyError"):
    thread.enter("tidy").fact(Kind.EXCEPTION, 9, name, Exception_("'b'", "raised", AT), at=at)
    thread.unwind("tidy", at=at).fact(Kind.EXCEPTION, 9, name, Exception_("'b'", role, AT), at=at + 1000)


def test_answer_names_the_exception_that_ended_another_thread_before(run):
    process = run.process()
    failed(process.thread("tidier"))
    process.thread().log("not tidy", level=40, at=2_000_000_000)
    found = asked(run)
    assert found.text == (
        "No recorded reason leads to this. Elsewhere, tidier was ended by KeyError: 'b' at +1.00 s (tidy, app.py:12)."
    )
    assert (found.certainty, found.basis) == ("inferred", ALONE)


@pytest.mark.parametrize(
    "case",
    [{"role": "handled"}, {"at": 3_000_000_000}, {"name": "builtins.SystemExit"}],
    ids=["it was handled", "it came later", "it asks for the end"],
)
def test_answer_does_not_name_another_exception(run, case):
    process = run.process()
    failed(process.thread("tidier"), **case)
    process.thread().log("not tidy", level=40, at=2_000_000_000)
    assert asked(run).text.startswith("Nothing unusual")


def test_answer_names_the_exception_of_a_task_only_if_a_diagnosis_did(run, diagnosed):
    process = run.process()
    loop = process.thread()
    failed(loop.step("job"))
    loop.stop("job", at=1_100_000_000).log("no result", level=40, at=2_000_000_000)
    assert asked(run).text.startswith("Nothing unusual")
    row = run.graph().rows_of([Kind.EXCEPTION]).tolist()[0]
    diagnosed(Finding("exception-never-taken", Reason.DATA, (Claim("It failed.", (row,)),), (Victim(99, row, -1),)))
    assert asked(run).text == "No recorded reason leads to this. Elsewhere: It failed."


def test_answer_about_line_of_level_info_names_no_exception_elsewhere(run):
    process = run.process()
    failed(process.thread("tidier"))
    process.thread().log("order is packed", at=2_000_000_000)
    assert asked(run).text.startswith("Nothing unusual")


def test_answer_names_each_process_that_died_and_claims_no_time(run):
    run.process("main").thread().log("no meal", level=40, at=2_000_000_000)
    run.process("cook", state=State.RECORDING).thread().enter("cook", at=1_000_000_000)
    run.process("idle", state=State.RECORDING).thread().enter("wait", at=1_500_000_000)
    assert asked(run).text == (
        "No recorded reason leads to this. Elsewhere, process cook (200) died after +1.00 s (cook, app.py:10). "
        "Elsewhere, process idle (300) died after +1.50 s (wait, app.py:10)."
    )


def test_answer_in_child_names_the_first_process_that_died(run):
    run.process("main", state=State.RECORDING).thread().enter("serve", at=1_000_000_000)
    run.process("cook").thread().log("no order", level=40, at=2_000_000_000)
    assert asked(run).text.endswith("Elsewhere, process main (100) died after +1.00 s (serve, app.py:10).")


def test_answer_about_process_that_died_tells_the_time_of_its_last_event(run):
    run.process("main").thread().log("no meal", level=40, at=3_000_000_000)
    cook = run.process("cook", state=State.RECORDING)
    cook.thread().enter("wait", at=1_000_000_000)
    cook.thread("helper").enter("stir", at=2_000_000_000)
    assert asked(run).text.endswith("Elsewhere, process cook (200) died after +2.00 s (wait, app.py:10).")


def test_answer_about_lost_task_tells_no_other_trouble_of_it(run, diagnosed):
    """A finding about an earlier wait of the task is not how it was lost."""
    process = run.process()
    main = process.thread().send(5, "thread.start")
    tidier = process.thread("tidier").receive(5, "thread.start").enter("tidy")
    failed(tidier)
    main.log("not tidy", level=40, at=2_000_000_000)
    row = int(run.graph().rows_of([Kind.ENTER])[0])
    strand = run.graph().at("strand", row)
    diagnosed(Finding("wait-circle", Reason.RESOURCE, (Claim("It waited.", (row,)),), (Victim(strand, row, -1),)))
    assert asked(run).text.startswith("tidier, which MainThread had started at +")
    assert asked(run).text.endswith(" was ended by KeyError: 'b' at +1.00 s (tidy, app.py:12).")


def test_answer_ends_a_sentence_with_one_full_stop(run):
    process = run.process()
    thread = process.thread().enter("load").fact(Kind.EXCEPTION, 9, "app.NoOrder", Exception_("gone.", "handled", AT))
    thread.log("not loaded", level=40)
    assert asked(run).text == "It was written while handling app.NoOrder: gone, raised in tidy, app.py:12."


@pytest.mark.parametrize("joined_at", [1_500_000_000, 3_000_000_000], ids=["before", "after"])
def test_answer_names_no_process_that_died_and_was_joined_before(run, joined_at):
    start = key_of("process.start", 7)
    keeper = run.process("main").thread()
    keeper.send(7, "process.start").receive(1, "queue").enter("serve")
    run.process("cook", state=State.RECORDING).thread().join(7, "process.start").enter("cook", at=1_000_000_000)
    if joined_at < 2_000_000_000:
        keeper.put(Kind.JOIN, key=process_end(start), channel="process.end", at=joined_at)
    keeper.receive(2, "queue", at=1_800_000_000).log("no meal", level=40, at=2_000_000_000)
    if joined_at > 2_000_000_000:
        keeper.put(Kind.JOIN, key=process_end(start), channel="process.end", at=joined_at)
    assert ("process cook (200) died after +1.00 s" in asked(run).text) == (joined_at > 2_000_000_000)
