"""asyncio: what tasks wait for, how the waits end, and who holds locks and semaphores."""

from __future__ import annotations

import contextlib

import pytest

from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts


def test_wait_for_taken_lock_has_line_stack_and_waiters_and_the_holder_is_recorded(facts):
    found = facts(
        """
        import asyncio

        async def work(lock, seconds):
            async with lock:
                await asyncio.sleep(seconds)

        async def main():
            lock = asyncio.Lock()
            await asyncio.gather(*(
                asyncio.create_task(work(lock, 0.01), name=f"worker-{n}") for n in range(3)
            ))
            async with lock: pass

        asyncio.run(main())
        """
    )
    assert found.ends("asyncio.lock") == [("worker-1", "satisfied"), ("worker-2", "satisfied")]
    first, second = found.of("asyncio.lock")
    assert first.resource == second.resource
    assert [wait.begin.text.waiters for wait in (first, second)] == [0, 1]
    assert [frame.function for frame in second.begin.text.at] == [
        "Lock.acquire",
        "_ContextManagerMixin.__aenter__",
        "work",
    ]
    assert found.line(first.begin.row) == 5
    holdings = [holding for holding in found.holdings if holding.resource == first.resource]
    assert [found.name(holding.strand) for holding in holdings] == ["worker-0", "worker-1", "worker-2", "Task-1"]
    assert all(holding.until_ns is not None for holding in holdings)
    assert {found.line(holding.rows[0]) for holding in holdings} == {5, 13}


def test_slot_that_is_never_given_back_stays_open_among_those_that_are(facts):
    found = facts(
        """
        import asyncio

        async def leak(slots): await slots.acquire()
        async def use(slots):
            async with slots: await asyncio.sleep(0.01)

        async def main():
            slots = asyncio.BoundedSemaphore(2)
            await asyncio.create_task(leak(slots), name="leak")
            await asyncio.gather(*(asyncio.create_task(use(slots), name=f"use-{n}") for n in range(2)))

        asyncio.run(main())
        """
    )
    open_holdings = [holding for holding in found.holdings if holding.until_ns is None]
    assert [found.name(holding.strand) for holding in open_holdings] == ["leak"]
    (wait,) = found.of("asyncio.semaphore")
    assert (found.name(wait.strand), wait.begin.text.capacity, wait.end) == ("use-1", 2, "satisfied")


def test_waits_for_condition_event_barrier_and_queue_are_told_apart(facts):
    found = facts(
        """
        import asyncio

        async def by_event(event): await event.wait()
        async def by_condition(condition, items):
            async with condition: await condition.wait_for(lambda: items)
        async def by_barrier(barrier): await barrier.wait()
        async def by_get(queue): await queue.get()
        async def by_put(queue): await queue.put(1); await queue.put(2)
        async def by_join(queue): await queue.join()

        async def main():
            event, condition, barrier, items = asyncio.Event(), asyncio.Condition(), asyncio.Barrier(2), []
            empty, full = asyncio.Queue(), asyncio.Queue(1)
            waiting = by_event(event), by_condition(condition, items), by_barrier(barrier), by_get(empty), by_put(full)
            tasks = [asyncio.create_task(each, name=each.__name__) for each in waiting]
            await asyncio.sleep(0.01)
            joining = asyncio.create_task(by_join(full), name="by_join")
            await asyncio.sleep(0.01)
            event.set(); items.append(1); empty.put_nowait(1)
            async with condition: condition.notify_all()
            await barrier.wait()
            for _ in range(2):
                await full.get(); full.task_done()
            await asyncio.gather(joining, *tasks)

        asyncio.run(main())
        """
    )
    assert found.ends("asyncio.event") == [("by_event", "satisfied")]
    assert found.ends("asyncio.condition") == [("by_condition", "satisfied")]
    assert found.ends("asyncio.barrier") == [("by_barrier", "satisfied")]
    get, put, join, *_ = found.of("asyncio.queue")
    assert [(found.name(wait.strand), wait.end) for wait in (get, put, join)] == [
        ("by_get", "satisfied"),
        ("by_put", "satisfied"),
        ("by_join", "satisfied"),
    ]
    assert put.resource == join.resource != get.resource
    assert put.begin.text.capacity == 1


def test_wait_for_tasks_has_their_keys_and_names_and_the_limit(facts):
    found = facts(
        """
        import asyncio

        async def child(seconds): await asyncio.sleep(seconds)
        def start(name, seconds): return asyncio.create_task(child(seconds), name=name)

        async def one(): await start("only", 0.01)
        async def gathered(): await asyncio.gather(start("left", 0.01), start("right", 0.01))
        async def limited():
            try: await asyncio.wait_for(start("slow", 9), 0.02)
            except asyncio.TimeoutError: pass
        async def waited(): await asyncio.wait([start("late", 0.04)], timeout=0.01)
        async def grouped():
            async with asyncio.TaskGroup() as group: group.create_task(child(0.01), name="member")
        async def shielded(): await asyncio.shield(start("shielded-task", 0.01))

        async def main():
            for each in (one, gathered, limited, waited, grouped, shielded):
                await asyncio.create_task(each(), name=each.__name__)

        asyncio.run(main())
        """
    )

    def told(strand):
        return [
            (
                [found.name(found.strand_with_key(wait.begin.process, key)) for key in wait.begin.text.targets]
                or [found.target(wait.begin)],
                wait.begin.text.limit,
                wait.end,
            )
            for wait in found.of("asyncio.task")
            if found.name(wait.strand) == strand
        ]

    assert told("one") == [(["only"], None, "satisfied")]
    assert [(sorted(names), *rest) for names, *rest in told("gathered")] == [(["left", "right"], None, "satisfied")]
    assert told("limited")[0] == (["slow"], 0.02, "timeout")
    assert told("waited") == [(["late"], 0.01, "timeout")]
    assert told("grouped") == [(["member"], None, "satisfied")]
    assert told("shielded") == [(["shielded-task"], None, "satisfied")]


def test_wait_in_block_with_time_limit_has_limit_and_ends_by_timeout(facts):
    found = facts(
        """
        import asyncio

        async def main():
            event = asyncio.Event()
            try:
                async with asyncio.timeout(0.05):
                    await event.wait()
            except TimeoutError: pass
            await asyncio.wait([asyncio.create_task(event.wait())], timeout=0.01)
            event.set()

        asyncio.run(main())
        """
    )
    limited, free = found.of("asyncio.event")
    assert limited.begin.text.limit == pytest.approx(0.05, abs=0.02)
    assert limited.end == "timeout"
    assert (free.begin.text.limit, free.end) == (None, "satisfied")


def test_await_that_finds_its_future_done_or_yields_at_once_is_no_wait(facts):
    found = facts(
        """
        import asyncio

        async def main():
            future = asyncio.get_running_loop().create_future()
            future.set_result(1)
            await future
            await asyncio.sleep(0)
            async with asyncio.Lock(): pass
            await asyncio.Queue(1).put(1)

        asyncio.run(main())
        """
    )
    assert not found.waits


def test_wait_that_fails_has_end_failed(facts):
    found = facts(
        """
        import asyncio

        async def fail():
            await asyncio.sleep(0.001)
            raise ValueError

        async def main():
            try: await asyncio.create_task(fail(), name="fail")
            except ValueError: pass

        asyncio.run(main())
        """
    )
    assert found.ends("asyncio.task") == [("Task-1", "failed")]
    assert found.how_ended() == {"fail": "failed"}


def test_wait_for_executor_has_the_key_of_the_submitted_work_item(facts):
    found = facts(
        """
        import asyncio, time

        async def main():
            await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.01)

        asyncio.run(main())
        """
    )
    (wait,) = found.of("executor.result")
    sources = [row for row in range(len(found.graph)) if found.graph.channel(row) == "executor.submit"]
    assert wait.begin.key in {found.graph.key(row) for row in sources if row < wait.begin.row}


def test_wait_that_never_ends_survives_sigkill(record, tmp_path):
    with contextlib.suppress(AssertionError):  # `record` expects that every step ends
        record(
            """
        import asyncio, os, signal

        async def stuck(lock):
            async with lock: pass

        async def main():
            lock = asyncio.Lock()
            await lock.acquire()
            task = asyncio.create_task(stuck(lock), name="stuck")
            await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """
        )
    (folder,) = (tmp_path / "workspace" / ".clew" / "runs").iterdir()
    found = NamedFacts(open_graph(folder)[0])
    assert found.ends("asyncio.lock") == [("stuck", "never")]
    assert [(found.name(each.strand), each.until_ns) for each in found.holdings] == [("Task-1", None)]


def test_waits_at_the_same_line_share_one_stack(facts):
    found = facts(
        """
        import asyncio

        async def main():
            for _ in range(3): await asyncio.sleep(0.001)

        asyncio.run(main())
        """
    )
    texts = [found.graph.text(wait.begin.row) for wait in found.of("asyncio.sleep")]
    assert ['"at"' in text for text in texts] == [True, False, False]
    assert [wait.begin.text.at[-1].line for wait in found.of("asyncio.sleep")] == [5, 5, 5]
