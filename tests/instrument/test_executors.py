"""Thread pools: a submit is the cause of its work item alone, an outcome the cause of what follows taking it."""

from __future__ import annotations

from collections import Counter

from clew.records.event import Kind


def test_each_work_item_is_caused_by_its_own_submit_and_each_result_by_its_own_run(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor

        def one(): return 1
        def two(): return 2

        def submit_one(pool): return pool.submit(one)
        def submit_two(pool): return pool.submit(two)
        def take_one(future): return future.result()
        def take_two(future): return future.result()

        with ThreadPoolExecutor(1, "pool") as pool:
            first, second = submit_one(pool), submit_two(pool)
            assert take_two(second) == 2 and take_one(first) == 1
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.submit", "executor.result", "queue") == Counter(
        {
            ("executor.submit", "MainThread/submit_one", "pool_0"): 1,
            ("executor.submit", "MainThread/submit_two", "pool_0"): 1,
            ("executor.result", "pool_0", "MainThread/take_one"): 1,
            ("executor.result", "pool_0", "MainThread/take_two"): 1,
        }
    )


def test_a_work_items_calls_lie_in_its_scope_and_its_outcome_is_sent_within(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor

        def work(): pass

        with ThreadPoolExecutor(1, "pool") as pool:
            pool.submit(work).result()
        """
    )
    pool = [placed for placed in run.events if placed.strand == "pool_0"]
    assert [placed.event.kind for placed in pool] == [
        Kind.JOIN, Kind.SCOPE_BEGIN, Kind.ENTER, Kind.EXIT, Kind.SEND, Kind.SCOPE_END, Kind.SEND,
    ]  # fmt: skip
    begin, end = (placed for placed in pool if placed.event.kind in (Kind.SCOPE_BEGIN, Kind.SCOPE_END))
    assert begin.key == end.key


def test_an_exception_is_an_outcome_and_its_traceback_is_the_untraced_one(record):
    source = """
        from concurrent.futures import ThreadPoolExecutor

        def work(): raise ValueError("no")

        with ThreadPoolExecutor(1, "pool") as pool:
            future = pool.submit(work)
            assert type(future.exception()) is ValueError
            future.result()
        """
    traced, untraced = record(source), record(source, environment={"CLEW_RUN": ""})
    assert traced.code == untraced.code == 1
    assert traced.stderr == untraced.stderr
    assert traced.edges("executor.result") == Counter({("executor.result", "pool_0", "MainThread"): 2})


def test_no_outcome_no_edge(record):
    run = record(
        """
        import threading
        from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor

        release = threading.Event()
        with ThreadPoolExecutor(1, "pool") as pool:
            running = pool.submit(release.wait)
            waiting = pool.submit(print)
            assert waiting.cancel()
            try: running.result(0.01)
            except TimeoutError: pass
            try: waiting.result()
            except CancelledError: pass
            release.set()
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.submit", "executor.result") == Counter({("executor.submit", "MainThread", "pool_0"): 1})


def test_a_refused_second_outcome_does_not_become_the_cause(record):
    run = record(
        """
        from concurrent.futures import Future, InvalidStateError

        def right(future): future.set_result(1)
        def wrong(future):
            try: future.set_result(2)
            except InvalidStateError: pass
        def take(future): return future.result()

        future = Future()
        right(future)
        wrong(future)
        assert take(future) == 1
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter({("executor.result", "MainThread/right", "MainThread/take"): 1})


def test_map_and_wait_take_every_outcome(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor, wait

        def square(n): return n * n
        def mapped(pool): return list(pool.map(square, [1, 2, 3]))
        def waited(futures): return wait(futures)

        with ThreadPoolExecutor(1, "pool") as pool:
            assert mapped(pool) == [1, 4, 9]
            assert len(waited([pool.submit(square, 1), pool.submit(square, 2)]).done) == 2
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.result") == Counter(
        {
            ("executor.result", "pool_0", "MainThread/mapped"): 3,
            ("executor.result", "pool_0", "MainThread/waited"): 2,
        }
    )
