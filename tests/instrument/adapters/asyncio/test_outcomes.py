"""asyncio: outcomes of futures and tasks, taken by code that awaits one, several or a group."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind

# The hooks written in C, and those written in Python.
pytestmark = pytest.mark.parametrize("record", ["c"], indirect=True)


def test_task_cancel_is_cause_even_when_a_wake_up_is_pending(record):
    run = record(
        """
        import asyncio

        async def waiting():
            await asyncio.sleep(10)
        async def ready():
            while True: await asyncio.sleep(0)
        async def unstarted(): pass

        def cancel_waiting(task): task.cancel()
        def cancel_ready(task): task.cancel()
        def cancel_unstarted(task): task.cancel()

        async def main():
            a = asyncio.create_task(waiting(), name="waiting")
            b = asyncio.create_task(ready(), name="ready")
            await asyncio.sleep(0)
            c = asyncio.create_task(unstarted(), name="unstarted")
            cancel_waiting(a); cancel_ready(b); cancel_unstarted(c)
            await asyncio.gather(a, b, c, return_exceptions=True)
            print(a.cancelled(), b.cancelled(), c.cancelled())

        asyncio.run(main())
        """
    )
    assert run.stdout == "True True True\n"
    cancels = Counter(
        {edge: count for edge, count in run.edges("asyncio.handle").items() if edge[1].startswith("Task-1/cancel")}
    )
    assert cancels == Counter(
        {
            ("asyncio.handle", "Task-1/cancel_waiting", "waiting"): 1,
            ("asyncio.handle", "Task-1/cancel_ready", "ready"): 1,
            ("asyncio.handle", "Task-1/cancel_unstarted", "unstarted"): 1,
        }
    )


def test_await_of_done_future_depends_on_code_that_settled_it(record):
    run = record(
        """
        import asyncio

        async def quick(): return 1
        def fulfil(future): future.set_result(2)
        def fail(future): future.set_exception(ValueError("no"))

        async def await_task(task): return await task
        async def await_future(future): return await future
        async def ask_result(task): return task.result()
        async def await_failed(future):
            try: await future
            except ValueError: return 3

        async def main():
            task = asyncio.create_task(quick(), name="quick")
            loop = asyncio.get_running_loop()
            future, failed = loop.create_future(), loop.create_future()
            fulfil(future); fail(failed)
            await asyncio.sleep(0.001)
            print(await await_task(task), await await_future(future), await ask_result(task), await await_failed(failed))

        asyncio.run(main())
        """
    )
    assert run.stdout == "1 2 1 3\n"
    taken = Counter({edge: count for edge, count in run.edges("asyncio.future").items() if edge[2] != "MainThread"})
    assert taken == Counter(
        {
            ("asyncio.future", "quick", "Task-1/await_task"): 1,
            ("asyncio.future", "quick", "Task-1/ask_result"): 1,
            ("asyncio.future", "Task-1/fulfil", "Task-1/await_future"): 1,
            ("asyncio.future", "Task-1/fail", "Task-1/await_failed"): 1,
        }
    )


def reach(run, strand):
    """Return the strands in the causal past of the last event of `strand`, along edges and the order of each strand."""
    order = {id(placed.event): place for place, placed in enumerate(run.events)}
    incoming = {}
    for source, target in run.pairs():
        incoming.setdefault(id(target.event), []).append(source)
    # A unit is a task's whole strand, or one detached scope of a thread.
    unit, units, depth = {}, {}, {}
    for placed in run.events:
        inside = depth.get(placed.event.thread)
        if placed.event.kind == Kind.SCOPE_BEGIN:
            inside = depth[placed.event.thread] = f"scope {order[id(placed.event)]}"
        name = inside if inside and not placed.strand.startswith("Task") else placed.strand
        unit[id(placed.event)] = name
        units.setdefault(name, []).append(placed)
        if placed.event.kind == Kind.SCOPE_END:
            depth[placed.event.thread] = None
    seen, todo = {}, [units[strand][-1]]
    while todo:
        upto = todo.pop()
        name = unit[id(upto.event)]
        for placed in units[name]:
            if order[id(placed.event)] > order[id(upto.event)]:
                break
            if order[id(placed.event)] <= seen.get(name, -1):
                continue
            todo.extend(incoming.get(id(placed.event), ()))
        seen[name] = max(seen.get(name, -1), order[id(upto.event)])
    return set(seen)


def test_gather_wait_and_task_groups_depend_on_every_child(record):
    for how in (
        "await asyncio.gather(*tasks)",
        "await asyncio.wait(tasks)",
        "[await one for one in asyncio.as_completed(tasks)]",
    ):
        run = record(
            f"""
            import asyncio

            async def child(turns):
                for _ in range(turns): await asyncio.sleep(0)

            async def main():
                tasks = [asyncio.create_task(child(n), name=f"child-{{n}}") for n in range(3)]
                other = asyncio.create_task(child(9), name="other")
                {how}

            asyncio.run(main())
            """
        )
        assert run.code == 0, run.stderr
        past = reach(run, "Task-1")
        assert {"child-0", "child-1", "child-2"} <= past, how
        assert "other" not in past, how
    run = record(
        """
        import asyncio

        async def child(turns):
            for _ in range(turns): await asyncio.sleep(0)

        async def main():
            other = asyncio.create_task(child(9), name="other")
            async with asyncio.TaskGroup() as group:
                for n in range(3): group.create_task(child(n), name=f"child-{n}")

        asyncio.run(main())
        """
    )
    past = reach(run, "Task-1")
    assert {"child-0", "child-1", "child-2"} <= past and "other" not in past


def test_wait_for_first_completed_does_not_depend_on_other_tasks(record):
    run = record(
        """
        import asyncio

        async def child(turns):
            for _ in range(turns): await asyncio.sleep(0)

        async def main():
            tasks = [asyncio.create_task(child(n), name=f"child-{n}") for n in (0, 50)]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

        asyncio.run(main())
        """
    )
    woken = [placed for placed in run.of(Kind.STEP_BEGIN) if placed.strand == "Task-1"]
    assert woken
    run.events = [placed for placed in run.events if placed.event.ticks <= woken[1].event.ticks + 10**9]
    first = next(index for index, placed in enumerate(run.events) if placed is woken[1])
    run.events = run.events[: first + 2]
    past = reach(run, "Task-1")
    assert "child-0" in past and "child-50" not in past


def test_group_and_wait_counts_join_only_earlier_counts_of_the_same(record):
    run = record(
        """
        import asyncio

        async def child(n): await asyncio.sleep(n / 1000)

        async def main():
            for _ in range(3):
                async with asyncio.TaskGroup() as group:
                    for n in range(3): group.create_task(child(n))
                await asyncio.wait([asyncio.create_task(child(n)) for n in range(2)])

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    joined = {target.event.extension.key for _, target in run.pairs()}
    assert [placed for placed in run.of(Kind.JOIN) if placed.event.extension.key not in joined] == []
    # A group of three tasks has two joins of its count, a wait for two tasks has one; an earlier group or wait adds none.
    counts = [
        target
        for source, target in run.pairs()
        if target.channel == "asyncio.future" and source.site.qualname == target.site.qualname == "Handle._run"
        and source.strand == target.strand == "MainThread"
    ]  # fmt: skip
    assert len(counts) == 3 * (2 + 1)
