"""asyncio's locks, events, barriers, streams, timers and signals: the exact edges of small programs, and no others."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind

# The hooks written in C, and those written in Python.
pytestmark = pytest.mark.parametrize("record", ["c"], indirect=True)


def sync_edges(run):
    """Count (channel, source, target) of every ACQUIRE that has a RELEASE."""
    last, edges = {}, Counter()
    for placed in sorted(run.events, key=lambda placed: placed.event.ticks):
        if placed.event.kind == Kind.RELEASE:
            last[placed.key] = placed
        elif placed.event.kind == Kind.ACQUIRE and placed.key in last:
            source = last[placed.key]
            assert source.channel == placed.channel
            edges[placed.channel, str(source), str(placed)] += 1
    return edges


def wakes(run, *strands):
    """Count the edges of handles between different strands of these."""
    named = Counter()
    for (_, source, target), count in run.edges("asyncio.handle").items():
        one, other = source.split("/")[0], target.split("/")[0]
        if one in strands and other in strands and one != other:
            named[source, target] += count
    return named


def test_asyncio_event_already_set_orders_setter_before_wait(record):
    run = record(
        """
        import asyncio

        def set_first(event): event.set()
        def set_again(event): event.set()
        async def wait_blocked(event): await event.wait()
        async def wait_set(event): await event.wait()

        async def main():
            event, other = asyncio.Event(), asyncio.Event()
            waiter = asyncio.create_task(wait_blocked(event), name="waiter")
            await asyncio.sleep(0)
            set_first(event); set_again(event)
            await waiter
            await asyncio.create_task(wait_set(event), name="late")
            event.clear()
            set_again(other); event.set()
            await wait_set(event)

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    assert sync_edges(run) == Counter(
        {
            ("asyncio.event", "Task-1/set_first", "late/wait_set"): 1,
            ("asyncio.event", "Task-1/main", "Task-1/wait_set"): 1,
        }
    )
    assert wakes(run, "Task-1", "waiter") == Counter(
        {
            ("Task-1/main", "waiter"): 1,  # its first step
            ("Task-1/set_first", "waiter"): 1,
            ("waiter", "Task-1"): 1,
        }
    )


def test_asyncio_barrier_orders_arrivals_before_departures(record):
    run = record(
        """
        import asyncio

        async def meet(barrier, turns):
            for _ in range(turns): await asyncio.sleep(0)
            await barrier.wait()

        async def main():
            barrier = asyncio.Barrier(3)
            gone = asyncio.create_task(meet(barrier, 0), name="gone")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.wait([gone])
            for round in range(2):
                await asyncio.wait([asyncio.create_task(meet(barrier, 4 * n), name=f"{round}{n}") for n in range(3)])

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    # The last task to arrive depends on the waiting tasks, not on the cancelled task; its handles wake them.
    assert sync_edges(run) == Counter(
        {("asyncio.barrier", f"{one}{n}/meet", f"{one}2/meet"): 1 for one in (0, 1) for n in (0, 1)}
    )
    woken = wakes(run, *(f"{one}{n}" for one in (0, 1) for n in range(3)))
    assert {("02/meet", "00"), ("02/meet", "01"), ("12/meet", "10"), ("12/meet", "11")} <= set(woken)
    assert not [edge for edge in woken if edge[0][0] != edge[1][0]]


def test_asyncio_lock_semaphore_or_condition_release_wakes_waiting_task(record):
    run = record(
        """
        import asyncio

        async def hold(lock, turns):
            async with lock:
                for _ in range(turns): await asyncio.sleep(0)

        async def hear(condition):
            async with condition: await condition.wait()

        async def tell(condition):
            async with condition: condition.notify()

        async def both(make, names):
            tasks = []
            for name in names:
                tasks.append(asyncio.create_task(make(), name=name))
                await asyncio.sleep(0)
            await asyncio.wait(tasks)

        async def main():
            lock, semaphore, condition = asyncio.Lock(), asyncio.Semaphore(1), asyncio.Condition()
            await both(lambda: hold(lock, 3), ("lock-a", "lock-b"))
            await both(lambda: hold(semaphore, 3), ("semaphore-a", "semaphore-b"))
            hearing = asyncio.create_task(hear(condition), name="hears")
            await asyncio.sleep(0)
            await asyncio.create_task(tell(condition), name="tells")
            await hearing
            await hold(lock, 0); await hold(lock, 0)

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    pairs = ("lock-a", "lock-b"), ("semaphore-a", "semaphore-b"), ("tells", "hears")
    for one, other in pairs:
        woken = wakes(run, one, other)
        assert {edge[1] for edge in woken} == {other} and sum(woken.values()) == 1
    everyone = [name for pair in pairs for name in pair]
    assert sum(wakes(run, *everyone).values()) == len(pairs)
    # An uncontended lock orders nothing.
    assert sync_edges(run) == Counter()


def test_stream_read_depends_on_feeds_of_its_bytes(record):
    run = record(
        """
        import asyncio

        def feed_abc(reader): reader.feed_data(b"abc")
        def feed_de(reader): reader.feed_data(b"de")
        def feed_line(reader): reader.feed_data(b"f\\n")
        def feed_end(reader): reader.feed_eof()
        async def take_two(reader): assert await reader.readexactly(2) == b"ab"
        async def take_nothing(reader): assert await reader.read(0) == b""
        async def take_next(reader): assert await reader.read(2) == b"cd"
        async def take_line(reader): assert await reader.readline() == b"ef\\n"
        async def take_rest(reader): assert await reader.read() == b""
        async def wait_for_it(reader): assert await reader.read(9) == b"abc"

        async def main():
            reader = asyncio.StreamReader()
            feed_abc(reader); feed_de(reader)
            await take_two(reader); await take_nothing(reader); await take_next(reader)
            feed_line(reader)
            await take_line(reader)
            waiting = asyncio.create_task(wait_for_it(reader), name="waits")
            await asyncio.sleep(0)
            feed_abc(reader)
            await waiting
            feed_end(reader)
            await take_rest(reader)

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    expected = {
        ("feed_abc", "take_two"), ("feed_abc", "take_next"), ("feed_de", "take_next"), ("feed_de", "take_line"),
        ("feed_line", "take_line"),
    }  # fmt: skip
    edges = {("asyncio.stream", f"Task-1/{source}", f"Task-1/{target}"): 1 for source, target in expected}
    edges["asyncio.stream", "Task-1/feed_abc", "waits/wait_for_it"] = 1
    edges["asyncio.stream", "Task-1/feed_end", "Task-1/take_rest"] = (
        2  # by `read` until the end, and by the `read` inside it
    )
    assert run.edges("asyncio.stream") == Counter(edges)
    assert run.edges()["asyncio.handle", "Task-1/feed_abc", "waits"] == 1


def test_connection_bytes_lead_from_loop_reader_to_reading_task(record):
    run = record(
        """
        import asyncio

        async def serve(reader, writer):
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\\n")
            assert await reader.readline() == b"hello\\n"
            writer.close()
            server.close()

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    streams = run.edges("asyncio.stream")
    # The kernel's work between write and read has no edge; a callback of the loop feeds the bytes.
    assert {source for _, source, _ in streams} == {"MainThread"}
    assert streams["asyncio.stream", "MainThread", "Task-1/main"] == 1
    assert sum(streams.values()) == 2


def test_loop_reader_signal_and_timer_callbacks_are_caused_by_registration(record):
    run = record(
        """
        import asyncio, os, signal

        def ready(loop, end, done):
            loop.remove_reader(end)
            done.set_result(os.read(end, 9))
        def rung(done): done.set_result(None)
        def late(done): done.set_result(None)
        def watch(loop, end, done): loop.add_reader(end, ready, loop, end, done)
        def listen(loop, done): loop.add_signal_handler(signal.SIGUSR1, rung, done)
        def later(loop, done): loop.call_at(loop.time() + 0.001, late, done)

        async def main():
            loop = asyncio.get_running_loop()
            one, other, third = (loop.create_future() for _ in range(3))
            end, far = os.pipe()
            watch(loop, end, one); listen(loop, other); later(loop, third)
            os.write(far, b"x")
            os.kill(os.getpid(), signal.SIGUSR1)
            await one; await other; await third

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    edges = run.edges("asyncio.handle")
    for name in ("watch", "listen", "later"):
        assert edges["asyncio.handle", f"Task-1/{name}", "MainThread"] == 1
    # Only these callbacks wake the task.
    sources = [source for (_, source, target), _ in edges.items() if target == "Task-1" and source != "MainThread"]
    assert set(sources) <= {"MainThread/ready", "MainThread/rung", "MainThread/late"} and sources


def test_asyncio_timeout_shield_and_as_completed_have_exact_edges(record):
    run = record(
        """
        import asyncio

        async def sleepy(): await asyncio.sleep(10)
        async def quick(): return 1
        async def impatient():
            try:
                async with asyncio.timeout(0.001): await asyncio.sleep(10)
            except TimeoutError: pass
        async def shielded(task): return await asyncio.shield(task)
        async def first_done(tasks):
            for one in asyncio.as_completed(tasks): return await one

        async def main():
            await asyncio.create_task(impatient(), name="impatient")
            other = asyncio.create_task(quick(), name="quick")
            await asyncio.create_task(shielded(other), name="shielded")
            slow = asyncio.create_task(sleepy(), name="slow")
            fast = asyncio.create_task(quick(), name="fast")
            await asyncio.create_task(first_done([slow, fast]), name="first")
            try: await asyncio.wait_for(slow, 0.001)
            except TimeoutError: pass

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    handles = run.edges("asyncio.handle")
    # The timer's callback cancels, and the cancelled sleep wakes its task.
    assert handles["asyncio.handle", "MainThread", "impatient"] >= 1
    outcomes = run.edges("asyncio.future")
    others = [edge[1] for edge in outcomes if edge[2].startswith("first") and not edge[1].startswith("first")]
    assert others == ["fast"]
    assert "quick" in {edge[1] for edge in outcomes}
    assert not [edge for edge in outcomes if edge[1] == "slow" and edge[2].startswith(("first", "shielded"))]
