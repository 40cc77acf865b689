"""What a task waits for is its own only while its event loop idles: a loop that others keep busy is their fault."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.compare.visits import two_sides


def recorded(make_run, name, *, busy, idle):
    """Requests that wait until another one's task has run, and until the loop has idled for a while. Times in ms."""
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


def test_who_keeps_the_loop_busy_is_suspected_and_not_who_waits_for_its_turn(make_run):
    assert suspects(make_run, busy=6, idle=1) == [("app:crunch", "work")]


def test_who_waits_while_the_loop_idles_is(make_run):
    assert suspects(make_run, busy=3, idle=4) == [("app:order", "waiting")]


def test_a_task_waits_for_as_long_as_its_loop_idles(make_run):
    flows = recorded(make_run, "run", busy=3, idle=1).requests.flows()
    side = two_sides(flows, flows).suspect
    waiting, work = side.times["waiting"], side.times["work"]
    order = np.array([flows.labels[code] == "app:order" for code in flows.label])
    assert waiting[order] == pytest.approx(1e6, rel=0.02) and not waiting[~order].any()
    assert work[~order] == pytest.approx(3e6, rel=0.02)
