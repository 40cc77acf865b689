"""asyncio: strands of their own, causes of wake-ups and callbacks, outcomes taken; and nothing that looks different."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.event import Kind

# The hooks written in C, and those written in Python.
pytestmark = pytest.mark.parametrize("record", ["c", "python"], indirect=True)


def among(run, strands, *channels):
    """The edges whose two ends are in `strands`."""
    return Counter(
        {
            (channel, source, target): count
            for (channel, source, target), count in run.edges(*channels).items()
            if source.split("/")[0] in strands and target.split("/")[0] in strands
        }
    )


def touching(run, strand, but=None):
    """The edges that begin or end in `strand`, those of one channel left out."""
    return {
        edge: count
        for edge, count in run.edges().items()
        if edge[0] != but and strand in (edge[1].split("/")[0], edge[2].split("/")[0])
    }


def test_two_interleaved_tasks_are_two_strands_and_each_wakes_the_other(record):
    run = record(
        """
        import asyncio

        async def ping(mine, theirs):
            for _ in range(3):
                theirs.pop(0).set_result(None)
                mine.append(asyncio.get_running_loop().create_future())
                await mine[-1]
            theirs.pop(0).set_result(None)

        async def pong(mine, theirs):
            for _ in range(3):
                mine.append(asyncio.get_running_loop().create_future())
                await mine[-1]
                theirs.pop(0).set_result(None)
            mine.append(asyncio.get_running_loop().create_future())
            await mine[-1]

        async def main():
            pings, pongs = [], []
            b = asyncio.create_task(pong(pongs, pings), name="pong")
            await asyncio.sleep(0)
            a = asyncio.create_task(ping(pings, pongs), name="ping")
            await asyncio.wait([a, b])

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    # Who set the future scheduled the wake-up; a task's first step comes from its creator.
    assert among(run, {"ping", "pong"}, "asyncio.handle") == Counter(
        {("asyncio.handle", "ping/ping", "pong"): 4, ("asyncio.handle", "pong/pong", "ping"): 3}
    )
    assert run.edges()["asyncio.handle", "Task-1/main", "ping"] == 1
    assert run.edges()["asyncio.handle", "Task-1/main", "pong"] == 1
    # Calls of one never lie in the other's strand.
    assert {(placed.strand, placed.function) for placed in run.of(Kind.ENTER)} == {
        ("ping", "ping"), ("pong", "pong"), ("Task-1", "main"),
    }  # fmt: skip


def test_a_strand_is_defined_once_with_its_names_and_steps_begin_with_their_cause(record):
    run = record(
        """
        import asyncio

        class Server:
            async def serve(self):
                for _ in range(3): await asyncio.sleep(0)

        async def main():
            await asyncio.create_task(Server().serve(), name="server")

        asyncio.run(main())
        """
    )
    (process,) = run.processes
    (key, strand) = next((key, strand) for key, strand in process.strands.items() if strand.name == "server")
    assert strand.kind == "task" and process.threads[strand.thread].name == "MainThread"
    steps = [placed for placed in run.of(Kind.STEP_BEGIN) if placed.key == key]
    assert len(steps) == 4
    stream = [placed.event.kind for placed in run.events]
    for place, kind in enumerate(stream):
        if kind == Kind.STEP_BEGIN:
            assert stream[place + 1] == Kind.JOIN


def test_a_strands_definition_names_its_coroutine(record):
    run = record(
        """
        import asyncio

        class Server:
            async def serve(self): pass

        asyncio.run(Server().serve())
        """
    )
    (file,) = run.folder.glob("*.clew")
    assert b'"coroutine": "Server.serve"' in file.read_bytes()


def test_sleeping_and_yielding_tasks_wake_up_by_themselves(record):
    run = record(
        """
        import asyncio

        async def sleepy():
            await asyncio.sleep(0)
            await asyncio.sleep(0.001)

        async def main():
            await asyncio.gather(asyncio.create_task(sleepy(), name="a"), asyncio.create_task(sleepy(), name="b"))

        asyncio.run(main())
        """
    )
    assert among(run, {"a", "b"}) == Counter({("asyncio.handle", "a", "a"): 1, ("asyncio.handle", "b", "b"): 1})
    # The timer's callback is caused by the sleeper and causes its wake-up.
    edges = run.edges("asyncio.handle")
    assert edges["asyncio.handle", "a/sleepy", "MainThread"] == 1
    assert edges["asyncio.handle", "MainThread", "a"] == 1


def test_call_soon_and_call_later_run_in_scopes_of_their_own(record):
    run = record(
        """
        import asyncio

        def soon(): pass
        def later(): pass
        def stop(future): future.set_result(None)

        def ask_soon(loop): loop.call_soon(soon)
        def ask_later(loop): loop.call_later(0.001, later)
        def ask_never(loop): loop.call_soon(soon).cancel()

        async def main():
            loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
            ask_soon(loop); ask_later(loop); ask_never(loop)
            loop.call_later(0.01, stop, done)
            await done

        asyncio.run(main())
        """
    )
    edges = run.edges("asyncio.handle")
    assert edges["asyncio.handle", "Task-1/ask_soon", "MainThread"] == 1
    assert edges["asyncio.handle", "Task-1/ask_later", "MainThread"] == 1
    assert edges["asyncio.handle", "Task-1/ask_never", "MainThread"] == 0
    # What runs between a SCOPE_BEGIN and its end is caused by exactly one call.
    sources = {id(target.event): str(source) for source, target in run.pairs()}
    inside, causes = None, {}
    for placed in run.events:
        if placed.event.kind == Kind.SCOPE_BEGIN:
            inside = sources[id(placed.event)]
        elif placed.event.kind == Kind.SCOPE_END:
            inside = None
        elif placed.event.kind == Kind.ENTER and inside:
            causes.setdefault(placed.function, []).append(inside)
    assert causes == {"soon": ["Task-1/ask_soon"], "later": ["Task-1/ask_later"], "stop": ["Task-1/main"]}


def test_call_soon_threadsafe_joins_thread_and_loop(record):
    run = record(
        """
        import asyncio, threading

        def ring(future): future.set_result(None)
        def work(loop, future): loop.call_soon_threadsafe(ring, future)

        async def main():
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            threading.Thread(target=work, args=(loop, future), name="worker").start()
            await future

        asyncio.run(main())
        """
    )
    assert touching(run, "worker") == {
        ("thread.start", "Task-1/main", "worker"): 1,
        ("asyncio.handle", "worker/work", "MainThread"): 1,
    }
    assert run.edges("asyncio.handle")["asyncio.handle", "MainThread/ring", "Task-1"] == 1


def test_a_callback_bound_to_a_task_is_not_its_step(record):
    run = record(
        """
        import asyncio

        async def victim():
            await asyncio.sleep(10)

        def kill(loop, task): loop.call_soon(task.cancel)

        async def main():
            task = asyncio.create_task(victim(), name="victim")
            await asyncio.sleep(0)
            kill(asyncio.get_running_loop(), task)
            try: await task
            except asyncio.CancelledError: print("cancelled")

        asyncio.run(main())
        """
    )
    assert run.stdout == "cancelled\n"
    edges = run.edges("asyncio.handle")
    assert edges["asyncio.handle", "Task-1/kill", "MainThread"] == 1
    assert edges["asyncio.handle", "MainThread", "victim"] == 1
    assert edges["asyncio.handle", "Task-1/kill", "victim"] == 0


def test_cancelling_names_the_canceller_even_when_a_wake_up_is_pending(record):
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


def test_awaiting_what_is_done_already_names_where_it_came_from(record):
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
    """Strands in the causal past of the last event of `strand`, by edges and each strand's own order, to any depth."""
    order = {id(placed.event): place for place, placed in enumerate(run.events)}
    incoming = {}
    for source, target in run.pairs():
        incoming.setdefault(id(target.event), []).append(source)
    # Units are a task's whole strand or one detached scope of a thread.
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


def test_the_first_of_several_does_not_depend_on_the_others(record):
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


def test_run_in_executor_goes_there_and_back(record):
    run = record(
        """
        import asyncio, threading

        def work(): asked.wait()

        async def main():
            asyncio.get_running_loop().call_soon(asked.set)  # once this waits
            return await asyncio.to_thread(work)

        asked = threading.Event()

        asyncio.run(main())
        """
    )
    assert touching(run, "asyncio_0", but="thread.join") == {
        ("thread.start", "Task-1/main", "asyncio_0"): 1,
        ("executor.submit", "Task-1/main", "asyncio_0"): 1,
        ("asyncio.handle", "asyncio_0", "MainThread"): 1,
        # asyncio asks for the exception, then for the result.
        ("executor.result", "asyncio_0", "MainThread"): 2,
    }
    assert run.edges("asyncio.handle")["asyncio.handle", "Task-1/main", "MainThread"] == 1  # by its `call_soon` only


def test_two_loops_in_two_threads_do_not_mix(record):
    run = record(
        """
        import asyncio, threading

        async def step():
            for _ in range(20): await asyncio.sleep(0)

        async def main(name):
            await asyncio.gather(*(asyncio.create_task(step(), name=f"{name}{n}") for n in range(3)))

        threads = [threading.Thread(target=asyncio.run, args=(main(name),), name=name) for name in "xy"]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    )
    assert run.code == 0, run.stderr
    strands = {f"{name}{n}" for name in "xy" for n in range(3)}
    assert among(run, strands, "asyncio.handle") == Counter({("asyncio.handle", one, one): 20 for one in strands})


def test_a_scope_ends_when_its_callback_is_interrupted(record):
    run = record(
        """
        import asyncio

        def quit_(): raise SystemExit(3)

        async def main():
            asyncio.get_running_loop().call_soon(quit_)
            await asyncio.sleep(10)

        asyncio.run(main())
        """
    )
    assert run.code == 3
    begins, ends = run.of(Kind.SCOPE_BEGIN), run.of(Kind.SCOPE_END)
    assert sorted(placed.key for placed in begins) == sorted(placed.key for placed in ends)


def test_tracebacks_debug_output_and_types_are_the_untraced_ones(record):
    source = """
        import asyncio, inspect, traceback

        async def fails(): raise ValueError("no")

        def callback(): traceback.print_stack()

        async def main():
            loop = asyncio.get_running_loop()
            loop.call_soon(callback)
            task = asyncio.create_task(fails(), name="fails")
            await asyncio.sleep(0)
            try: task.result()
            except ValueError: traceback.print_exc()
            try: await task
            except ValueError: traceback.print_exc()
            future = loop.create_future()
            print(type(task), type(future), isinstance(task, asyncio.Future), asyncio.isfuture(task))
            print(asyncio.Future.__mro__[-2:], asyncio.Task.__name__, asyncio.Task.__module__)
            for name in ("result", "exception", "cancel", "set_result"):
                print(name, inspect.signature(getattr(asyncio.Future, name)), getattr(asyncio.Task, name).__name__)
            handle = loop.call_soon(print)
            print([frame.name for frame in handle._source_traceback or ()])
            handle.cancel()
            loop.call_soon(lambda: 1 / 0)
            await asyncio.sleep(0)
            raise KeyError("end")

        asyncio.run(main())
        """
    for debug in ("", "1"):
        environment = {"PYTHONASYNCIODEBUG": debug}
        traced, untraced = (
            record(source, environment=environment),
            record(source, environment=environment | {"CLEW_RUN": ""}),
        )
        assert traced.code == untraced.code == 1
        assert traced.stdout == untraced.stdout
        assert traced.stderr == untraced.stderr


def test_an_eager_task_is_a_strand_from_its_first_step(record):
    import sys

    if sys.version_info < (3, 12):
        return  # there are no eager tasks; the suite runs on newer interpreters, too
    run = record(
        """
        import asyncio

        async def child():
            await asyncio.sleep(0)
        async def done(): return 1

        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            await asyncio.create_task(child(), name="eager")
            print(await asyncio.create_task(done(), name="done"))

        asyncio.run(main())
        """
    )
    assert run.stdout == "1\n"
    assert ("eager", "child") in {(placed.strand, placed.function) for placed in run.of(Kind.ENTER)}
    edges = run.edges()
    assert edges["asyncio.handle", "Task-1/main", "eager"] == 1
    assert edges["asyncio.handle", "eager", "eager"] == 1
    assert edges["asyncio.future", "done", "Task-1/main"] == 1


def test_counting_down_what_a_group_or_a_wait_is_for_joins_only_what_was_counted_before(record):
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
    # Two joins of the count in a group of three tasks, one in a wait for two; none from a group or wait before.
    counts = [
        target
        for source, target in run.pairs()
        if target.channel == "asyncio.future" and source.site.qualname == target.site.qualname == "Handle._run"
        and source.strand == target.strand == "MainThread"
    ]  # fmt: skip
    assert len(counts) == 3 * (2 + 1)


def test_an_eager_task_that_the_program_constructs_itself_is_a_strand_from_its_first_step(record):
    import sys

    if sys.version_info < (3, 12):
        return  # there are no eager tasks; the suite runs on newer interpreters, too
    run = record(
        """
        import asyncio

        class Mine(asyncio.Task): pass
        async def child(): await asyncio.sleep(0)

        async def main():
            loop = asyncio.get_running_loop()
            for make in (asyncio.Task, Mine):
                await make(child(), loop=loop, name=make.__name__, eager_start=True)
            try: asyncio.Task(print, loop=loop, eager_start=True)
            except TypeError: pass

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    if "python" in run.events[0].process.info.get("recorder", ""):
        return  # only factories are hooked there
    handles = run.edges("asyncio.handle")
    for name in ("Task", "Mine"):
        assert (name, "child") in {(placed.strand, placed.function) for placed in run.of(Kind.ENTER)}
        assert handles["asyncio.handle", "Task-1/main", name] == 1
