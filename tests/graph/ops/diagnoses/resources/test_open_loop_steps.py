"""A task that never gives its event loop back: found while others of the loop wait, and only then."""

import pytest

from clew.graph.ops.diagnoses.resources.loop_blocked import find
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait

MS = 1_000_000
AT = (Frame("/src/app.py", 12, "beat"),)


def program(run, *, beats=True, ends=False, later=False, until_ms=2000):
    """Write a loop whose task `refill` runs from 100 ms on, while `beat` waits."""
    process = run.process()
    loop = process.thread()
    if beats:
        loop.step("beat", at=10 * MS).enter("beat").suspend("beat").fact(
            Kind.WAIT, 5, "asyncio.sleep", Wait(at=AT)
        ).stop("beat")
    loop.step("refill", at=100 * MS).enter("refill")
    if ends:
        loop.suspend("refill", at=150 * MS).stop("refill")
    if later:
        loop.unwind("refill", at=300 * MS).log("the loop was left", at=310 * MS)
    process.thread("watchdog").log("no beat", level=40, at=until_ms * MS)
    return [(found.kind, found.text) for found in find(Facts.of(run.graph()))]


def test_open_step_beside_a_waiting_task_is_found(run):
    ((kind, text),) = program(run)
    assert kind == "loop-blocked"
    assert text.startswith(
        "refill has kept the event loop of MainThread since +0.10 s, for 1.9 s, without giving way (refill,"
    )
    assert text.endswith("beat cannot run until it does.")


@pytest.mark.parametrize(
    "case",
    [{"beats": False}, {"ends": True}, {"later": True}, {"until_ms": 900}],
    ids=["no other task waits", "the step ended", "an exception ended the step", "it is short"],
)
def test_other_open_step_is_not_found(run, case):
    assert program(run, **case) == []
