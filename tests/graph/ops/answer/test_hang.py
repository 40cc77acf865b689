"""Who waits for whom in made records: circles, holders, strands that are idle, and verdicts."""

import pytest

from clew.graph.ops.answer import hang as module
from clew.graph.ops.answer.hang import hang, until
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Holder, Wait, Wake

SECOND = 1_000_000_000


def at(line, function="transfer"):
    return (Frame("/src/bank.py", line, function),)


def answer(run, *, live=False, age=10 * SECOND, pids=()):
    graph = run.graph()
    return hang(graph, until(graph, age, live=live), brief_ns=SECOND if live else 0, pids=pids)


def states(found):
    return {wait.who: wait.state for wait in found.waits}


@pytest.fixture(autouse=True)
def diagnosed(monkeypatch):
    """Make the diagnoses find the given findings."""

    def use(*found):
        monkeypatch.setattr(module, "findings", lambda _facts: list(found))

    use()
    return use


@pytest.fixture
def deadlock(run):
    """Return a run in which `refund` and `pay-rent` wait for each other, and the main thread for one of them."""
    process = run.process(state=1)
    main, rent, refund = (process.thread(name) for name in ("MainThread", "pay-rent", "refund"))
    main.enter("main").fact(Kind.WAIT, 50, "thread.join", Wait("pay-rent", at=at(17, "main"), target=2))
    rent.enter("transfer").fact(Kind.WAIT, 7, "lock", Wait(at=at(10), holders=(Holder(3, held_ns=5, at=at(8)),)))
    refund.enter("transfer").fact(Kind.WAIT, 8, "lock", Wait(at=at(10), holders=(Holder(2, held_ns=9, at=at(8)),)))
    return run


def test_hang_two_locks_gives_the_circle_with_its_holders(deadlock):
    found = answer(deadlock, live=True)
    assert [set(circle) for circle in found.circles] == [{"pay-rent", "refund"}]
    assert states(found) == {"pay-rent": "blocked", "refund": "blocked", "MainThread": "blocked"}
    rent = next(wait for wait in found.waits if wait.who == "pay-rent")
    assert rent.where == "transfer, bank.py:10" and rent.waited_ns > 9 * SECOND
    assert [holding.text for holding in rent.holders] == ["refund took it 0 µs before (transfer, bank.py:8)"]
    assert found.verdict == ()  # no diagnosis


def test_hang_finding_of_a_wait_without_an_end_is_the_verdict(deadlock, diagnosed):
    graph = deadlock.graph()
    rent = next(strand for strand in graph.strands if strand.name == "pay-rent")
    claims = (Claim("a deadlock", (1,)),)
    other = Finding("slow", Reason.RESOURCE, (Claim("slow", (1,)),), (Victim(rent.index, rent.start, rent.start),))
    finding = Finding("wait-circle", Reason.RESOURCE, claims, (Victim(rent.index, rent.start, -1),))
    diagnosed(other, finding)
    found = answer(deadlock)
    assert found.verdict == claims and found.findings == (finding,)


def test_hang_circle_in_a_live_run_is_blocked_at_once(deadlock):
    found = answer(deadlock, live=True, age=1000)
    assert states(found) == {"pay-rent": "blocked", "refund": "blocked", "MainThread": "brief"}


def test_hang_contention_in_a_live_run_is_brief(run):
    process = run.process(state=1)
    one, two = process.thread("one"), process.thread("two")
    two.enter("work")
    one.enter("work").fact(Kind.WAIT, 7, "lock", Wait(at=at(3), holders=(Holder(2),)))
    assert states(answer(run, live=True, age=SECOND // 2)) == {"one": "brief"}
    assert states(answer(run, live=True, age=2 * SECOND)) == {"one": "blocked"}


def test_hang_idle_server_has_nothing_blocked(run):
    process = run.process(state=1)
    main, worker, loop = (process.thread(name) for name in ("MainThread", "worker", "loop"))
    main.enter("main").fact(Kind.WAIT, 50, "thread.join", Wait("worker", at=at(17, "main"), target=2))
    get = (Frame("/lib/queue.py", 171, "Queue.get"), *at(4, "work"))
    worker.enter("work").fact(Kind.WAIT, 7, "queue", Wait(at=get))
    loop.enter("serve").fact(Kind.WAIT, 8, "event", Wait(at=at(5, "serve")))
    found = answer(run, live=True)
    assert found.blocked == () and found.verdict == () and found.circles == ()
    assert states(found) == {"MainThread": "idle", "worker": "idle", "loop": "waiting"}


def test_hang_full_queue_is_blocked(run):
    put = (Frame("/lib/queue.py", 140, "Queue.put"), *at(4, "work"))
    run.process().thread("worker").enter("work").fact(Kind.WAIT, 7, "queue", Wait(at=put))
    assert states(answer(run)) == {"worker": "blocked"}


def test_hang_ended_waits_are_left_out(run):
    thread = run.process().thread("one")
    thread.enter("work").fact(Kind.WAIT, 7, "lock", Wait(at=at(3))).fact(Kind.WAKE, 7, "lock", Wake("timeout"))
    thread.enter("step").fact(Kind.WAIT, 8, "lock", Wait(at=at(4))).exit("step")  # its WAKE was lost
    assert answer(run).waits == ()


def test_hang_lock_of_tasks_is_held_by_the_last_that_took_it(run):
    thread = run.process().thread()
    for name, line in (("first", 3), ("second", 4)):
        thread.step(name).fact(Kind.HOLD, 9, "asyncio.lock", Wait(at=at(line, name)))
        if name == "first":
            thread.fact(Kind.RETURN, 9, "asyncio.lock")
        thread.stop(name)
    thread.step("third").fact(Kind.WAIT, 9, "asyncio.lock", Wait(at=at(5, "third"))).stop("third")
    (wait,) = answer(run).waits
    assert [holding.who for holding in wait.holders] == ["second"]


def test_hang_of_a_pid_has_no_wait_of_another_process(deadlock):
    other = deadlock.process("other")
    other.thread("elsewhere").enter("work").fact(Kind.WAIT, 1, "lock", Wait())
    assert states(answer(deadlock, pids=(200,))) == {"elsewhere": "blocked"}


def test_hang_killed_child_waited_for_an_unknown_time(run):
    first, child = run.process(), run.process("child", state=1)
    first.thread().enter("main").exit("main")
    child.thread("stuck").enter("work").fact(Kind.WAIT, 1, "lock", Wait())
    graph = run.graph()
    times = until(graph, 9 * SECOND, live=False)
    assert set(times) == {0}
    (wait,) = hang(graph, times).waits
    assert (wait.who, wait.state, wait.waited_ns) == ("stuck", "blocked", -1)
