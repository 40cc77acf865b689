"""asyncio: tasks as strands, causes of wake-ups and callbacks, and no visible difference."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind

# The hooks written in C, and those written in Python.
pytestmark = pytest.mark.parametrize("record", ["c"], indirect=True)


def among(run, strands, *channels):
    """Count the edges whose two ends are in `strands`."""
    return Counter(
        {
            (channel, source, target): count
            for (channel, source, target), count in run.edges(*channels).items()
            if source.split("/")[0] in strands and target.split("/")[0] in strands
        }
    )


def touching(run, strand, but=None):
    """Count the edges that begin or end in `strand`, without those of the channel `but`."""
    return {
        edge: count
        for edge, count in run.edges().items()
        if edge[0] != but and strand in (edge[1].split("/")[0], edge[2].split("/")[0])
    }


def test_interleaved_tasks_are_two_strands_that_wake_each_other(record):
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
    # The code that set the future scheduled the wake-up; a task's first step comes from its creator.
    assert among(run, {"ping", "pong"}, "asyncio.handle") == Counter(
        {("asyncio.handle", "ping/ping", "pong"): 4, ("asyncio.handle", "pong/pong", "ping"): 3}
    )
    assert run.edges()["asyncio.handle", "Task-1/main", "ping"] == 1
    assert run.edges()["asyncio.handle", "Task-1/main", "pong"] == 1
    # Calls of one task are never in the other task's strand.
    assert {(placed.strand, placed.function) for placed in run.of(Kind.ENTER)} == {
        ("ping", "ping"), ("pong", "pong"), ("Task-1", "main"),
    }  # fmt: skip


def test_task_strand_is_defined_once_and_steps_begin_with_their_cause(record):
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


def test_task_strand_definition_names_its_coroutine(record):
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


def test_task_sleep_wakes_its_own_strand(record):
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


def test_call_soon_and_call_later_callbacks_run_in_separate_scopes(record):
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
    # Calls between a SCOPE_BEGIN and its end are caused by exactly one call.
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


def test_callback_bound_to_a_task_is_not_a_step_of_it(record):
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


def test_run_in_executor_has_edges_to_the_thread_and_back(record):
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


def test_event_loops_in_two_threads_have_no_edges_between_them(record):
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


def test_handle_scope_ends_when_its_callback_raises_system_exit(record):
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


def test_asyncio_tracebacks_debug_output_and_types_equal_untraced(record):
    source = """
        import asyncio, inspect, traceback

        async def fails(): raise ValueError("no")

        def callback(): traceback.print_stack()

        async def main():
            loop = asyncio.get_running_loop()
            loop.slow_callback_duration = 60  # no warnings on a busy machine
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


def test_eager_task_is_a_strand_from_its_first_step(record):
    import sys

    if sys.version_info < (3, 12):
        return  # Python 3.11 has no eager tasks
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


def test_eager_task_constructed_directly_is_a_strand_from_its_first_step(record):
    import sys

    if sys.version_info < (3, 12):
        return  # Python 3.11 has no eager tasks
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
    handles = run.edges("asyncio.handle")
    for name in ("Task", "Mine"):
        assert (name, "child") in {(placed.strand, placed.function) for placed in run.of(Kind.ENTER)}
        assert handles["asyncio.handle", "Task-1/main", name] == 1
