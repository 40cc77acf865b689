"""asyncio and anyio: who asks for a cancellation, how it reaches the task, and how tasks end."""

from __future__ import annotations

import re

import pytest

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of


def test_task_cancel_has_line_message_and_whether_the_task_still_ran(facts):
    found = facts(
        """
        import asyncio

        async def sleeps(): await asyncio.sleep(9)

        async def main():
            task = asyncio.create_task(sleeps(), name="sleeper")
            await asyncio.sleep(0.01)
            task.cancel("no longer needed")
            await asyncio.gather(task, return_exceptions=True)
            task.cancel()

        asyncio.run(main())
        """
    )
    assert found.asked() == [
        ("Task-1", "sleeper", "asyncio.task", 9),
        ("Task-1", "sleeper", "asyncio.task", 11),
    ]
    assert [fact.text.message for fact in found.cancels] == ["no longer needed", ""]
    assert [fact.text.accepted for fact in found.cancels] == [True, False]
    assert found.ends("asyncio.sleep")[-1] == ("sleeper", "cancelled")
    assert found.how_ended() == {"sleeper": "cancelled"}


def test_notified_waiter_that_is_cancelled_had_been_given_the_wake_up(facts):
    found = facts(
        """
        import asyncio

        async def consume(condition):
            async with condition: await condition.wait()

        async def main():
            condition = asyncio.Condition()
            a, b, c = (asyncio.create_task(consume(condition), name=name) for name in "abc")
            await asyncio.sleep(0.01)
            async with condition: condition.notify(1)
            a.cancel(); b.cancel()
            await asyncio.wait([a, b, c], timeout=0.01)

        asyncio.run(main())
        """
    )
    given = {found.name(wait.strand): wait.wake.text.given for wait in found.of("asyncio.condition")}
    assert (given["a"], given["b"]) == (True, False)
    assert {name: end for name, end in found.ends("asyncio.condition") if name != "c"} == {
        "a": "cancelled",
        "b": "cancelled",
    }


def test_time_limits_ask_with_deadline_and_at_the_program_line(facts):
    found = facts(
        """
        import asyncio

        async def by_timeout():
            async with asyncio.timeout(0.01):
                await asyncio.sleep(9)
        async def slow(): await asyncio.sleep(9)
        async def by_wait_for():
            await asyncio.wait_for(slow(), 0.01)

        async def main():
            for each in (by_timeout, by_wait_for):
                task = asyncio.create_task(each(), name=each.__name__)
                await asyncio.gather(task, return_exceptions=True)

        asyncio.run(main())
        """
    )
    assert [fact.text.deadline for fact in found.cancels] == [True, True]
    assert [fact.channel for fact in found.cancels] == ["asyncio.timeout"] * 2
    lines = {found.line(fact.row) for fact in found.cancels}
    assert lines == {5, 9}


def test_timer_that_cancels_a_task_directly_is_a_deadline(facts):
    found = facts(
        """
        import asyncio

        async def sleeps(): await asyncio.sleep(9)
        def stop(task): task.cancel()

        async def main():
            loop = asyncio.get_running_loop()
            a, b = (asyncio.create_task(sleeps(), name=name) for name in "ab")
            loop.call_later(0.01, a.cancel)
            loop.call_later(0.02, stop, b)
            await asyncio.gather(a, b, return_exceptions=True)

        asyncio.run(main())
        """
    )
    assert [(found.target(fact), fact.text.deadline) for fact in found.cancels] == [("a", True), ("b", False)]
    told = [cancel_claim(found, strand, cancel) for strand, (cancel,) in cancels_of(found).items()]
    assert re.fullmatch(
        r"A timer that main \(Task-1\) had set at \+\S+ s \(main, program.py:7\) cancelled a at \+\S+ s\.", told[0].text
    )
    assert "stop, program.py:5" in told[1].text


def test_task_group_asks_for_its_children_and_asyncio_run_for_the_rest(facts):
    found = facts(
        """
        import asyncio

        async def sleeps(): await asyncio.sleep(9)
        async def fails():
            await asyncio.sleep(0.01)
            raise ValueError

        async def main():
            left = asyncio.create_task(sleeps(), name="left")
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fails(), name="fails")
                    group.create_task(sleeps(), name="sibling")
            except* ValueError: pass
            main.left = left

        asyncio.run(main())
        """
    )
    asked = [(target, channel, line) for _, target, channel, line in found.asked()]
    assert ("sibling", "asyncio.taskgroup", 12) in asked
    assert ("left", "asyncio.task", 18) in asked
    assert found.how_ended() == {"fails": "failed", "sibling": "cancelled", "left": "cancelled"}


def test_cancelling_a_gather_asks_for_each_child_at_the_same_line(facts):
    found = facts(
        """
        import asyncio

        async def sleeps(): await asyncio.sleep(9)
        async def parent():
            await asyncio.gather(*(asyncio.create_task(sleeps(), name=name) for name in ("left", "right")))

        async def main():
            task = asyncio.create_task(parent(), name="parent")
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(main())
        """
    )
    assert sorted(target for _, target, _, _ in found.asked()) == ["left", "parent", "right"]
    assert {line for *_, line in found.asked()} == {11}


def test_futures_of_loops_and_executors_tell_who_cancels_them(facts):
    found = facts(
        """
        import asyncio, concurrent.futures, time

        async def main():
            asyncio.get_running_loop().create_future().cancel("unused")

        asyncio.run(main())
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(time.sleep, 0.05)
            second = pool.submit(print)
            second.cancel()
        """
    )
    assert {(fact.channel, fact.text.message, found.line(fact.row)) for fact in found.cancels} == {
        ("asyncio.task", "unused", 5),
        ("executor.future", "", 11),
    }


def test_unfinished_task_that_is_dropped_has_end_pending(facts):
    found = facts(
        """
        import asyncio, gc

        async def waits(): await asyncio.get_running_loop().create_future()
        async def yields(): await asyncio.sleep(0)

        async def main():
            asyncio.create_task(waits(), name="collected")
            await asyncio.sleep(0.01)
            gc.collect()

        asyncio.run(main())
        loop = asyncio.new_event_loop()
        loop.create_task(yields(), name="dropped")
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop._ready.clear()
        loop.close()
        """
    )
    assert found.how_ended() == {"collected": "pending", "dropped": "pending"}


def test_swallowed_cancellation_has_request_and_wait_but_no_end(facts):
    found = facts(
        """
        import asyncio

        async def stubborn():
            try: await asyncio.sleep(9)
            except asyncio.CancelledError: pass
            await asyncio.sleep(0.01)

        async def main():
            task = asyncio.create_task(stubborn(), name="stubborn")
            await asyncio.sleep(0.01)
            task.cancel()
            await task

        asyncio.run(main())
        """
    )
    assert [end for name, end in found.ends("asyncio.sleep") if name == "stubborn"] == ["cancelled", "satisfied"]
    assert found.how_ended() == {}


def test_anyio_scope_and_its_deadline_ask_for_each_task_once(facts):
    pytest.importorskip("anyio")
    found = facts(
        """
        import anyio

        async def stubborn():
            for _ in range(3):
                try: await anyio.sleep(9)
                except BaseException: pass

        async def main():
            async with anyio.create_task_group() as group:
                group.start_soon(stubborn, name="stubborn")
                await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            with anyio.move_on_after(0.01):
                await anyio.Event().wait()

        anyio.run(main)
        """
    )
    of_stubborn = [asked for asked in found.asked() if asked[1] == "stubborn"]
    assert [asked[2:] for asked in of_stubborn] == [("anyio.scope", 13)]
    deadlines = [fact for fact in found.cancels if fact.text.deadline]
    assert {fact.channel for fact in deadlines} == {"anyio.scope"}
    (wait,) = found.of("asyncio.event")
    assert wait.end == "timeout"
    assert wait.begin.text.limit == pytest.approx(0.01, abs=0.01)
