"""Queues: exactly the put of an item is the cause of its get."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import FLAG_AMBIGUOUS, FLAG_BACK, Kind

# The hooks written in C, and those written in Python.
both = pytest.mark.parametrize("record", ["c"], indirect=True)


@both
def test_queue_get_depends_on_the_producer_of_its_item(record):
    run = record(
        """
        import queue, threading

        def produce_a(jobs):
            for number in range(3): jobs.put(("a", number))
        def produce_b(jobs):
            for number in range(3): jobs.put(("b", number))
        def from_a(item): pass
        def consume(jobs):
            for _ in range(6):
                item = jobs.get()
                print(item[0])

        jobs = queue.Queue()
        for name, produce in (("A", produce_a), ("B", produce_b)):
            threading.Thread(target=produce, args=(jobs,), name=name).start()
        consume(jobs)
        """
    )
    producers = [source.strand.lower() for source, target in run.pairs() if target.channel == "queue"]
    assert producers == run.stdout.split()
    assert run.edges("queue") == Counter(
        {("queue", "A/produce_a", "MainThread/consume"): 3, ("queue", "B/produce_b", "MainThread/consume"): 3}
    )


@pytest.mark.parametrize("item", ["None", "1", "'x'", "item"])
@both
def test_queue_with_equal_items_joins_puts_and_gets_in_order(record, item):
    run = record(
        f"""
        import queue

        item = object()
        def first(jobs): jobs.put({item})
        def second(jobs): jobs.put({item})
        def take_first(jobs): jobs.get()
        def take_second(jobs): jobs.get()

        jobs = queue.Queue()
        first(jobs); second(jobs); take_first(jobs); take_second(jobs)
        """
    )
    assert run.edges() == Counter(
        {
            ("queue", "MainThread/first", "MainThread/take_first"): 1,
            ("queue", "MainThread/second", "MainThread/take_second"): 1,
        }
    )


@both
def test_lifo_and_priority_queue_gets_depend_on_their_puts(record):
    run = record(
        """
        import queue

        def low(jobs): jobs.put(1)
        def high(jobs): jobs.put(2)
        def take_lifo(jobs): return jobs.get()
        def take_priority(jobs): return jobs.get()

        lifo, priority = queue.LifoQueue(), queue.PriorityQueue()
        low(lifo); high(lifo)
        assert take_lifo(lifo) == 2
        high(priority); low(priority)
        assert take_priority(priority) == 1
        same = queue.LifoQueue()
        low(same); low(same); high(same)
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter(
        {
            ("queue", "MainThread/high", "MainThread/take_lifo"): 1,
            ("queue", "MainThread/low", "MainThread/take_priority"): 1,
        }
    )


@both
def test_priority_queue_with_same_object_twice_marks_get_ambiguous(record):
    run = record(
        """
        import queue

        jobs = queue.PriorityQueue()
        jobs.put(1); jobs.put(1); jobs.put(2)
        jobs.get(); jobs.get(); jobs.get()
        """
    )
    flags = [placed.event.extension.flags & FLAG_AMBIGUOUS for placed in run.of(Kind.RECEIVE)]
    assert [bool(flag) for flag in flags] == [True, False, False]


@both
def test_queue_that_drops_duplicates_has_no_edge_for_dropped_items(record):
    run = record(
        """
        import queue

        class UniqueQueue(queue.Queue):
            def _init(self, maxsize): self.queue = set()
            def _put(self, item): self.queue.add(item)
            def _get(self): return self.queue.pop()

        class Item:
            def __eq__(self, other): return True
            def __hash__(self): return 1

        def kept(jobs): jobs.put(Item())
        def dropped(jobs): jobs.put(Item())
        def after(jobs): jobs.put(Item())
        def take(jobs): jobs.get()

        jobs = UniqueQueue()
        kept(jobs); dropped(jobs); take(jobs)
        after(jobs); take(jobs)
        assert jobs.empty()
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter(
        {("queue", "MainThread/kept", "MainThread/take"): 1, ("queue", "MainThread/after", "MainThread/take"): 1}
    )


@both
def test_queue_item_added_without_put_has_no_edge(record):
    run = record(
        """
        import queue

        def put(jobs, item): jobs.put(item)
        def take(jobs): return jobs.get()
        def take_known(jobs): return jobs.get()

        jobs = queue.Queue()
        put(jobs, 1)
        jobs.queue.clear()
        jobs.queue.append(1); jobs.queue.append(1)
        take(jobs)
        put(jobs, 2)
        take(jobs); assert take_known(jobs) == 2
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter({("queue", "MainThread/put", "MainThread/take_known"): 1})


@both
def test_queue_subclass_and_class_imported_by_name_have_edges(record):
    run = record(
        """
        from queue import Empty, Full, LifoQueue, Queue

        class Logged(Queue):
            def _put(self, item): super()._put(("wrapped", item))
            def _get(self): return super()._get()[1]

        def put(jobs): jobs.put_nowait("x")
        def take(jobs): assert jobs.get_nowait() == "x"

        jobs = Logged(1)
        put(jobs)
        try: jobs.put_nowait("y")
        except Full: pass
        take(jobs)
        try: jobs.get(timeout=0.01)
        except Empty: pass
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter({("queue", "MainThread/put", "MainThread/take"): 1})


@both
def test_simple_queue_joins_puts_and_gets(record):
    run = record(
        """
        import queue, inspect

        def first(jobs): jobs.put(None)
        def second(jobs): jobs.put_nowait(None)
        def take_first(jobs): assert jobs.get() is None
        def take_second(jobs): assert jobs.get_nowait() is None

        jobs = queue.SimpleQueue()
        first(jobs); second(jobs); take_first(jobs); take_second(jobs)
        for given, named in [((True, 0.1), {}), ((), {"timeout": 0.1}), ((False, None), {}), ((), {"block": False})]:
            try: print(jobs.get(*given, **named))
            except queue.Empty: pass
        print(type(jobs), jobs.qsize(), jobs.empty(), queue.SimpleQueue[int])
        """
    )
    assert run.stdout == "<class '_queue.SimpleQueue'> 0 True _queue.SimpleQueue[int]\n"
    assert run.edges() == Counter(
        {
            ("queue", "MainThread/first", "MainThread/take_first"): 1,
            ("queue", "MainThread/second", "MainThread/take_second"): 1,
        }
    )


@both
def test_queue_put_that_fails_raises_as_untraced_and_has_no_edge(record):
    run = record(
        """
        import queue, traceback

        def put(jobs, item): jobs.put(item)
        def take(jobs): return jobs.get()

        jobs = queue.PriorityQueue()
        put(jobs, 1)
        try: put(jobs, "x")
        except TypeError as error: print(error)
        assert take(jobs) in (1, "x")
        """
    )
    assert run.stdout == "'<' not supported between instances of 'str' and 'int'\n"
    # The heap appends before it compares, so it contains an item of a failed put.
    assert run.edges() in (Counter(), Counter({("queue", "MainThread/put", "MainThread/take"): 1}))


@both
def test_asyncio_queue_joins_put_and_get_across_tasks(record):
    run = record(
        """
        import asyncio

        async def produce_a(jobs):
            for _ in range(2): await jobs.put(None)
        async def produce_b(jobs):
            for _ in range(2): jobs.put_nowait(None)
        async def consume(jobs):
            for _ in range(4): await jobs.get()

        async def main():
            jobs = asyncio.Queue(1)
            lifo = asyncio.LifoQueue()
            async with asyncio.TaskGroup() as group:
                group.create_task(produce_a(jobs), name="a")
                group.create_task(produce_b(lifo), name="b")
                group.create_task(consume_two(jobs), name="jobs")
                group.create_task(consume_two(lifo), name="lifo")

        async def consume_two(jobs):
            await jobs.get()
            await jobs.get()

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("asyncio.queue") == Counter(
        {
            ("asyncio.queue", "a/produce_a", "jobs/consume_two"): 2,
            ("asyncio.queue", "b/produce_b", "lifo/consume_two"): 2,
        }
    )


@pytest.mark.parametrize("record", ["c"], indirect=True)
@pytest.mark.parametrize("how", ["threads", "tasks"])
def test_queue_join_depends_on_all_workers_and_no_worker_on_another(record, how):
    threads = """
        import queue, threading

        def work(jobs): jobs.get(); jobs.task_done()
        def wait_for_all(jobs): jobs.join()
        def wait_for_nothing(jobs): jobs.join()

        jobs = queue.Queue()
        wait_for_nothing(jobs)
        for _ in range(2): jobs.put(None)
        workers = [threading.Thread(target=work, args=(jobs,), name=name) for name in "ab"]
        for worker in workers: worker.start(); worker.join()
        wait_for_all(jobs)
        """
    tasks = """
        import asyncio

        async def work(jobs): await jobs.get(); jobs.task_done()
        async def wait_for_all(jobs): await jobs.join()
        async def wait_for_nothing(jobs): await jobs.join()

        async def main():
            jobs = asyncio.Queue()
            await wait_for_nothing(jobs)
            for _ in range(2): jobs.put_nowait(None)
            for name in "ab": await asyncio.create_task(work(jobs), name=name)
            await wait_for_all(jobs)

        asyncio.run(main())
        """
    run = record(threads if how == "threads" else tasks)
    assert run.code == 0, run.stderr
    done = [(source, target) for source, target in run.pairs() if target.channel == "queue.done"]
    # Each worker's scope depends on its own work and on earlier scopes; the worker itself does not depend on the scopes.
    assert [(source.strand, target.strand, target.event.kind) for source, target in done] == [
        (name, name, Kind.SCOPE_BEGIN) for name in "ab"
    ]
    syncs = [placed for placed in run.of(Kind.ACQUIRE) if placed.channel == "queue.done"]
    assert sorted((placed.strand, placed.function) for placed in syncs) == sorted(
        [("b", "work"), ("MainThread" if how == "threads" else "Task-1", "wait_for_all")]
    )
    released = [placed for placed in run.of(Kind.RELEASE) if placed.channel == "queue.done"]
    by_key = {placed.key: placed for placed in released}
    (last,) = [placed for placed in syncs if placed.function == "wait_for_all"]
    assert by_key[last.key].strand == "b"
    (chain,) = [placed for placed in syncs if placed.strand == "b"]
    assert chain.key != last.key
    assert [placed.strand for placed in released if placed.key == chain.key] == ["a", "b"]
    inside = [placed.event.kind for placed in run.events if placed.strand == "b" and placed.channel == "queue.done"]
    assert inside == [
        *(Kind.SEND, Kind.SCOPE_BEGIN, Kind.ACQUIRE, Kind.RELEASE, Kind.RELEASE, Kind.SCOPE_END),
    ]


def flags_of_puts(run):
    return [
        placed.event.extension.flags for placed in run.of(Kind.SEND) if placed.channel in ("queue", "asyncio.queue")
    ]


@pytest.mark.parametrize("item", ["Connection()", "'connection'", "7"])
def test_queue_item_that_goes_back_is_flagged(record, item):
    run = record(
        f"""
        import queue

        class Connection: pass
        pool = queue.Queue()
        pool.put({item})
        for _ in range(2):
            taken = pool.get()
            pool.put(taken)
        """
    )
    assert flags_of_puts(run) == [0, FLAG_BACK, FLAG_BACK]


def test_asyncio_queue_item_of_other_task_that_goes_back_is_flagged(record):
    run = record(
        """
        import asyncio

        class Connection: pass
        async def use(pool):
            taken = await pool.get()
            await asyncio.sleep(0)
            pool.put_nowait(taken)
        async def main():
            pool = asyncio.Queue()
            pool.put_nowait(Connection())
            await asyncio.gather(use(pool), use(pool))
        asyncio.run(main())
        """
    )
    assert flags_of_puts(run) == [0, FLAG_BACK, FLAG_BACK]


@pytest.mark.parametrize("item", ["(1, 2)", "[1]", "Job()"])
def test_queue_item_made_anew_is_not_flagged(record, item):
    run = record(
        f"""
        import queue

        class Job: pass
        jobs = queue.Queue()
        jobs.put({item})
        for _ in range(3):
            taken = jobs.get()
            del taken
            jobs.put({item})
        """
    )
    assert flags_of_puts(run) == [0, 0, 0, 0]


def test_queue_equal_item_of_other_thread_is_not_flagged(record):
    run = record(
        """
        import queue, threading

        jobs = queue.Queue()
        jobs.put("stop")
        jobs.get()
        other = threading.Thread(target=jobs.put, args=("stop",))
        other.start(); other.join()
        """
    )
    assert flags_of_puts(run) == [0, 0]
