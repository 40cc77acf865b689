"""Call changes name the call that got slower, not its callers nor calls that only waited for it."""

from __future__ import annotations

import random

import pytest

import clew


def waits_in_a_coroutine(thread, other, wait, number):
    """serve awaits load, which sleeps."""
    thread.enter("load")
    thread.suspend("load").suspend("serve")
    wait()
    thread.resume("serve").resume("load").exit("load")


def waits_itself(thread, other, wait, number):
    """serve awaits load, then sleeps."""
    thread.enter("load").suspend("load").suspend("serve")
    thread.resume("serve").resume("load").exit("load").suspend("serve")
    wait()
    thread.resume("serve")


def waits_for_a_thread(thread, other, wait, number):
    """serve sends to another thread by way of send, and waits for the answer of work, which works."""
    thread.enter("send").send(("to", number), "queue").exit("send").suspend("serve")
    other.receive(("to", number), "queue").enter("work")
    wait()
    other.send(("back", number), "queue").exit("work")
    thread.join(("back", number), "queue").resume("serve")


def waits_in_the_queue(thread, other, wait, number):
    """Do the same, but work is quick and begins late."""
    thread.enter("send").send(("to", number), "queue").exit("send").suspend("serve")
    wait()
    other.receive(("to", number), "queue").enter("work").send(("back", number), "queue").exit("work")
    thread.join(("back", number), "queue").resume("serve")


def waits_for_what_another_call_led_to(thread, other, wait, number):
    """serve awaits first and second: both wait until work is done, which only first caused."""
    thread.enter("first").send(("to", number), "queue").suspend("first").suspend("serve")
    thread.resume("serve").enter("second").suspend("second").suspend("serve")
    other.receive(("to", number), "queue").enter("work")
    wait()
    other.send(("back", number), "queue").exit("work")
    thread.resume("serve").resume("second").exit("second").suspend("serve")
    thread.resume("serve").resume("first").join(("back", number), "queue").exit("first")


def waits_side_by_side(thread, other, wait, number):
    """serve starts two tasks that wait concurrently, and continues when both are done: one of them ends last."""
    for name in ("short", "long"):
        thread.send((name, number), "asyncio.task")
    thread.suspend("serve")
    for name in ("short", "long"):
        thread.step(f"{name}-{number}").begin((name, number), "asyncio.task").enter(name).suspend(name)
        thread.stop(f"{name}-{number}")
    wait()
    for name in ("short", "long"):
        thread.step(f"{name}-{number}").resume(name).exit(name).end()
        thread.send((f"{name} done", number), "asyncio.future").stop(f"{name}-{number}")
    thread.join(("long done", number), "asyncio.future").resume("serve")


def works(thread, other, wait, number):
    thread.enter("load")
    wait()
    thread.exit("load")


@pytest.mark.parametrize(
    ("what", "culprit", "channel"),
    [
        (works, "load", ""), (waits_in_a_coroutine, "load", ""), (waits_itself, "serve", ""),
        (waits_for_a_thread, "work", "queue"), (waits_in_the_queue, "work", "queue"),
        (waits_for_what_another_call_led_to, "work", "queue"), (waits_side_by_side, "long", "asyncio.task"),
    ],
)  # fmt: skip
def test_call_changes_name_only_the_call_that_got_slower(make_run, what, culprit, channel):
    chance = random.Random(1)

    def recorded(name, mean):
        run = make_run(name)
        process = run.process()
        thread, other = process.thread(), process.thread("other")

        def wait():
            run.clock.now += round(chance.gauss(mean, 5)) * 1000

        for number in range(20):
            thread.enter("serve").request("Get").enter("parse").exit("parse")
            what(thread, other, wait, number)
            thread.exit("serve")
        return clew.open(run.write())

    (row,) = recorded("before", 100).requests.diff(recorded("after", 200).requests).rows
    (edge,) = row.edges
    assert (edge.target, edge.channel) == (f"app:{culprit}", channel)
    assert edge.growth_ns == pytest.approx(100_000, rel=0.1)
    assert edge.edge_after_ns - edge.edge_before_ns == pytest.approx(100_000, rel=0.1)
    by = f" (by {channel})" if channel else ""
    assert edge.sentence().startswith(f"app:{culprit}{by} itself")
