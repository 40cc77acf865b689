"""The time in which a thread did not run is not its work, and each kind of waiting is told apart."""

import pytest

from clew.compare.requests.own_time import call_times
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.diff import diff
from clew.graph.ops.flows.flows import Flows
from clew.graph.ops.timing.pauses import GIL_NS, pauses
from clew.query.api import open_run
from clew.records.format.event import DELAY_BITS, Kind

MS = 1_000_000


def pause(thread, at, delay, times=1):
    """Write a PAUSE that lasts until the next record: `delay` ns for a processor, after the thread blocked `times` times."""
    thread.put(Kind.PAUSE, key=delay | times << DELAY_BITS, at=at)


def nodes(run):
    return {node.label: node for node in aggregate(run.graph(), "function").by_label().nodes}


@pytest.fixture
def recorded(new_run):
    """Return a function that records calls, each with its length, its delay and its sleep in ns, and its function's name."""

    def record(*calls):
        run = new_run()
        thread = run.process().thread()
        now = 0
        for length, delay, sleep, *name in calls:
            function = f"app:{name[0]}" if name else "app:work"
            thread.enter(function, at=now)
            thread.put(Kind.REQUEST, channel="order", at=now)
            if delay or sleep:
                pause(thread, now + length - delay - sleep, delay, times=bool(sleep))
            thread.exit(function, at=now + length)
            now += length
        return run

    return record


def test_waiting_for_a_processor_is_no_work(recorded):
    work = nodes(recorded((10 * MS, 7 * MS, 0)))["app:work"]
    assert (work.self_ns, work.waiting_ns, work.total_ns) == (3 * MS, 7 * MS, 10 * MS)
    assert (work.processor_ns, work.gil_ns, work.blocked_ns) == (7 * MS, 0, 0)


def test_sleep_is_no_work(recorded):
    work = nodes(recorded((10 * MS, 0, 9 * MS)))["app:work"]
    assert (work.self_ns, work.waiting_ns) == (MS, 9 * MS)
    assert (work.processor_ns, work.gil_ns, work.blocked_ns) == (0, 0, 9 * MS)


def test_delay_after_a_sleep_is_told_apart_from_it(recorded):
    work = nodes(recorded((10 * MS, 2 * MS, 5 * MS)))["app:work"]
    assert (work.self_ns, work.processor_ns, work.blocked_ns) == (3 * MS, 2 * MS, 5 * MS)


def test_pauses_are_in_no_times_twice(recorded):
    graph = recorded((10 * MS, 2 * MS, 5 * MS), (10 * MS, 40 * MS, 0)).graph()
    found = pauses(graph)
    length = graph.ts[found.row + 1] - graph.ts[found.row]
    assert (found.processor_ns + found.gil_ns + found.blocked_ns <= length).all()


def test_diff_of_a_busy_machine_has_no_finding(recorded):
    calls = [(10 * MS, 0, 0)] * 50
    result = diff(
        *(aggregate(run.graph(), "function") for run in (recorded(*calls), recorded(*[(30 * MS, 20 * MS, 0)] * 50)))
    )
    assert result.findings() == [] == result.wait_findings()
    assert result.sentence() == "no function changed noticeably: the self time in all is 500 ms before and 500 ms after"
    assert "others had the processor or the GIL is left out: 0 ns before, 1 s after" in result.order()


def test_diff_of_longer_sleep_names_the_function_that_sleeps(recorded):
    sides = recorded(*[(10 * MS, 0, 8 * MS)] * 50), recorded(*[(18 * MS, 0, 16 * MS)] * 50)
    sentence = diff(*(aggregate(run.graph(), "function") for run in sides)).sentence()
    assert sentence.startswith("app:work waits longer: 400 ms -> 800 ms in all, over 50 calls; no function changed")


def test_diff_of_one_longer_wait_on_a_busy_machine_has_no_finding(recorded):
    for taken, found in ((0, 1), (8 * MS, 0)):
        sides = (
            recorded(*[(10 * MS, taken, 0)] * 50, (12 * MS, 0, 11 * MS, "main")),
            recorded(*[(10 * MS, taken, 0)] * 50, (200 * MS, 0, 199 * MS, "main")),
        )
        result = diff(*(aggregate(run.graph(), "function") for run in sides))
        assert [row.label for row in result.wait_findings()] == ["app:main"] * found


def test_own_time_of_requests_has_no_time_that_others_took(recorded):
    flows = Flows.of(open_run(recorded((10 * MS, 7 * MS, 0), (5 * MS, 0, 2 * MS)).write()))
    times = call_times(flows, flows.members(0))
    assert times.own[:, 0].tolist() == [3 * MS, 5 * MS]
    assert times.taken[:, 0].tolist() == [7 * MS, 0]


def beside(run, *, times, begins, ends):
    """Record a call that blocks for 4 ms, and another thread that runs from `begins` to `ends`."""
    process = run.process()
    thread, other = process.thread(), process.thread()
    other.enter("app:hog", at=begins)
    other.exit("app:hog", at=ends)
    thread.enter("app:work", at=0)
    pause(thread, MS, 0, times)
    thread.exit("app:work", at=5 * MS)
    return nodes(run)["app:work"]


def test_thread_that_blocks_while_another_one_runs_waits_for_the_gil(run):
    work = beside(run, times=1, begins=0, ends=5 * MS)
    assert (work.self_ns, work.gil_ns, work.blocked_ns) == (MS, 4 * MS, 0)


def test_thread_that_blocks_while_no_other_one_runs_does_not_wait_for_the_gil(run):
    work = beside(run, times=1, begins=5 * MS, ends=6 * MS)
    assert (work.gil_ns, work.blocked_ns) == (0, 4 * MS)


def test_gil_explains_only_the_time_in_which_the_other_thread_ran(run):
    work = beside(run, times=1, begins=3 * MS, ends=9 * MS)
    assert (work.gil_ns, work.blocked_ns) == (2 * MS, 2 * MS)


def test_long_sleep_beside_a_busy_thread_is_no_wait_for_the_gil(run):
    process = run.process()
    thread, other = process.thread(), process.thread()
    other.enter("app:hog", at=0)
    other.exit("app:hog", at=200 * MS)
    thread.enter("app:nap", at=0)
    pause(thread, MS, 0, times=1)
    thread.exit("app:nap", at=101 * MS)
    nap = nodes(run)["app:nap"]
    assert (nap.gil_ns, nap.blocked_ns) == (GIL_NS, 100 * MS - GIL_NS)


def test_wait_for_a_lock_is_not_told_as_sleep_or_gil(run):
    process = run.process()
    thread, other = process.thread(), process.thread()
    other.enter("app:holder", at=0)
    other.put(Kind.RELEASE, key=7, channel="lock", at=8 * MS)
    other.exit("app:holder", at=20 * MS)
    thread.enter("app:work", at=0)
    pause(thread, 2 * MS, MS, times=1)
    thread.put(Kind.ACQUIRE, key=7, channel="lock", at=9 * MS)
    thread.exit("app:work", at=10 * MS)
    work = nodes(run)["app:work"]
    assert (work.self_ns, work.waiting_ns) == (3 * MS, 7 * MS)
    assert (work.processor_ns, work.gil_ns, work.blocked_ns) == (MS, 0, 0)


def test_loop_that_waits_for_events_is_idle_between_its_steps(run):
    thread = run.process().thread()
    thread.enter("app:main", at=0)
    thread.step("task", at=MS)
    thread.enter("app:work", at=MS)
    pause(thread, 2 * MS, MS, times=0)
    thread.exit("app:work", at=4 * MS)
    thread.stop("task", at=4 * MS)
    pause(thread, 4 * MS, 0, times=1)
    thread.step("task", at=9 * MS)
    thread.stop("task", at=9 * MS)
    thread.exit("app:main", at=10 * MS)
    found = nodes(run)
    assert (found["app:work"].self_ns, found["app:work"].processor_ns) == (MS, MS)
    assert (found["app:main"].blocked_ns, found["app:main"].gil_ns) == (0, 0)
