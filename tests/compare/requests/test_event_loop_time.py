"""A task's waiting counts as its own only while its event loop idles; otherwise it is event-loop queueing time."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.compare.localize.visits import two_sides


def recorded(make_run, name, *, busy, idle):
    """Record requests that wait until another request's task has run and the loop has idled for a while. Times in ms."""
    run = make_run(name)
    thread = run.process().thread()
    for number in range(30):
        mine, other = f"order-{number}", f"crunch-{number}"
        thread.step(mine).enter("order").request("order").suspend("order").stop(mine)
        thread.step(other).enter("crunch").request("crunch")
        run.clock.now += int(busy * 1e6) + number % 7 * 1000
        thread.exit("crunch").stop(other)
        run.clock.now += int(idle * 1e6) + number % 7 * 1000
        thread.step(mine).resume("order").exit("order").stop(mine)
    return clew.open(run.write())


def suspects(make_run, **changed):
    before, after = recorded(make_run, "good", busy=3, idle=1), recorded(make_run, "bad", **changed)
    return [(it.place, it.evidence[0].kind) for it in after.requests.localize(before.requests).suspects]


def test_localize_with_busy_event_loop_suspects_only_busy_task(make_run):
    assert suspects(make_run, busy=6, idle=1) == [("app:crunch", "work")]


def test_localize_with_idle_event_loop_suspects_waiting_task(make_run):
    assert suspects(make_run, busy=3, idle=4) == [("app:order", "waiting")]


def test_waiting_time_of_task_is_idle_time_of_its_loop(make_run):
    flows = recorded(make_run, "run", busy=3, idle=1).requests.flows()
    side = two_sides(flows, flows).suspect
    waiting, work = side.times["waiting"], side.times["work"]
    order = np.array([flows.labels[code] == "app:order" for code in flows.label])
    assert waiting[order] == pytest.approx(1e6, rel=0.02) and not waiting[~order].any()
    assert work[~order] == pytest.approx(3e6, rel=0.02)


def together(run, thread, number, *, busy, idle):
    """Record a request that awaits two tasks: one computes while the other, already ready, is queued. Times in ms."""
    root, names = f"serve-{number}", ("crunch", "order")
    thread.step(root).enter("serve").request("serve")
    for name in names:
        thread.send((name, number), "asyncio.task")
    thread.suspend("serve").stop(root)
    for name in reversed(names):
        thread.step(f"{name}-{number}").begin((name, number), "asyncio.task").enter(name).suspend(name)
        thread.stop(f"{name}-{number}")
    run.clock.now += int(idle * 1e6) + number % 7 * 1000
    for name in names:
        thread.step(f"{name}-{number}").resume(name)
        run.clock.now += int(busy * 1e6) + number % 7 * 1000 if name == "crunch" else 0
        thread.exit(name).end().send((f"{name} done", number), "asyncio.future").stop(f"{name}-{number}")
    thread.step(root).join(("order done", number), "asyncio.future").resume("serve").exit("serve").stop(root)


def slower_calls(before, after):
    return {row.name: [edge.target for edge in row.edges] for row in before.requests.diff(after.requests).rows}


def test_diff_request_queued_by_event_loop_has_no_slower_call(make_run):
    before, after = recorded(make_run, "good", busy=3, idle=1), recorded(make_run, "bad", busy=6, idle=1)
    assert slower_calls(before, after) == {"crunch": ["app:crunch"], "order": []}
    found = {row.name: row for row in before.requests.diff(after.requests).rows}
    assert found["order"].turns_ns == pytest.approx((3e6, 6e6), rel=0.02)
    assert (
        found["order"]
        .sentence()
        .endswith("; none of its calls is slower, it waited while its event loop ran others: 3 ms -> 6 ms")
    )
    assert found["crunch"].turns_ns is None and "turn" not in found["crunch"].sentence()


def test_diff_request_waiting_while_loop_idles_has_slower_call(make_run):
    before, after = recorded(make_run, "good", busy=3, idle=1), recorded(make_run, "bad", busy=3, idle=4)
    assert slower_calls(before, after) == {"order": ["app:order"]}
    assert [row.turns() for row in before.requests.diff(after.requests).rows] == [""]


@pytest.mark.parametrize(
    ("changed", "culprit"), [({"busy": 6, "idle": 1}, "crunch"), ({"busy": 3, "idle": 4}, "order")], ids=str
)
def test_diff_tasks_of_one_request_name_computing_task_or_last_waiting(make_run, changed, culprit):
    def opened(name, **times):
        run = make_run(name)
        thread = run.process().thread()
        for number in range(30):
            together(run, thread, number, **times)
        return clew.open(run.write())

    before, after = opened("good", busy=3, idle=1), opened("bad", **changed)
    assert slower_calls(before, after) == {"serve": [f"app:{culprit}"]}
    found = before.requests.diff(after.requests)
    assert found.rows[0].edges[0].growth_ns == pytest.approx(3e6, rel=0.02)
    assert found.rows[0].turns_ns is None, "tasks of the same request are not queueing time"
    assert [call.label for call in found.union(found.rows[0].category).changes()] == [f"app:{culprit}"]
