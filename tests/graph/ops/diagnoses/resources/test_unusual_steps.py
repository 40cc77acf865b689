"""A step that is long only since its thread had no processor: not told as the fault of its call."""

import pytest

from clew.graph.ops.diagnoses.resources.loop_blocked import find
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.loop_steps import HANDLE
from clew.records.format.event import Kind

MS = 1_000_000


def program(run, *, usual_ms, like=20, others=0, taken_ms=0):
    """Write a loop of which a step of `refill` takes 200 ms in `crunch`, whose other calls are shorter, while `poll` is ready.

    One call of each of some other functions takes 150 ms, all others 1 ms. During `crunch`, others have the processor for
    `taken_ms`.
    """
    process = run.process()
    elsewhere = process.thread("elsewhere")
    now = 0
    for number in range(others):
        for call in range(21):
            elsewhere.enter(f"other{number}", at=now * MS)
            now += 150 if call == 7 else 1
            elsewhere.exit(f"other{number}", at=now * MS)
    loop = process.thread()
    for _ in range(like):
        loop.enter("crunch", at=now * MS)
        now += usual_ms
        loop.exit("crunch", at=now * MS)
    loop.step("refill", at=now * MS).enter("refill").send(1, HANDLE, at=(now + 1) * MS)
    loop.enter("crunch", at=(now + 2) * MS)
    if taken_ms:
        loop.put(Kind.PAUSE, key=taken_ms * MS, at=(now + 202 - taken_ms) * MS)
    loop.exit("crunch", at=(now + 202) * MS)
    loop.exit("refill", at=(now + 203) * MS).stop("refill", at=(now + 204) * MS)
    loop.step("poll", at=(now + 205) * MS).join(1, HANDLE).stop("poll", at=(now + 206) * MS)
    return find(Facts.of(run.graph()))


@pytest.mark.parametrize("case", [{"usual_ms": 90}, {"usual_ms": 1, "like": 10}], ids=["usual length", "few others"])
def test_long_step_of_usual_length_is_recorded_and_says_what_is_not(run, case):
    (found,) = program(run, **case)
    assert found.certainty == "recorded"
    assert "; how long it had a processor is not recorded. Meanwhile poll was ready and had to wait." in found.text


def test_step_that_is_much_longer_than_others_of_its_function_is_inferred(run):
    (found,) = program(run, usual_ms=1)
    assert found.certainty == "inferred"
    assert found.inferred_from == (
        "its length: each of the function's 20 other calls took at most 1 ms, and whether the thread had a processor is not "
        "recorded"
    )


def test_unusual_step_beside_two_unusual_functions_is_told(run):
    assert len(program(run, usual_ms=1, others=2)) == 1


def test_unusual_step_beside_three_unusual_functions_is_silent(run):
    assert program(run, usual_ms=1, others=3) == []


def test_step_of_usual_length_is_told_on_a_busy_machine(run):
    assert len(program(run, usual_ms=90, others=3)) == 1


def test_step_that_only_lacked_a_processor_is_silent(run):
    assert program(run, usual_ms=1, taken_ms=150) == []


def test_time_without_a_processor_is_told_beside_a_long_step(run):
    (found,) = program(run, usual_ms=1, taken_ms=80)
    assert found.certainty == "recorded"
    assert "; others had the processor or the GIL for 80 ms of it. Meanwhile poll was ready" in found.text
