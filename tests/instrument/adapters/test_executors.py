"""Thread pools: a submit causes only its own work item, and an outcome causes the call that takes it."""

from __future__ import annotations

import re
from collections import Counter

from clew.records.format.event import FACTS, Kind


def test_executor_work_item_is_caused_by_its_submit_and_result_by_its_run(record):
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


def test_executor_work_item_scope_contains_its_calls_and_outcome(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor

        def work(): pass

        with ThreadPoolExecutor(1, "pool") as pool:
            pool.submit(work).result()
        """
    )
    pool = [placed for placed in run.events if placed.strand == "pool_0" and placed.event.kind not in FACTS]
    assert [placed.event.kind for placed in pool] == [
        Kind.JOIN, Kind.SCOPE_BEGIN, Kind.ENTER, Kind.EXIT, Kind.SEND, Kind.SCOPE_END, Kind.SEND,
    ]  # fmt: skip
    begin, end = (placed for placed in pool if placed.event.kind in (Kind.SCOPE_BEGIN, Kind.SCOPE_END))
    assert begin.key == end.key


def test_executor_exception_is_an_outcome_with_untraced_traceback(record):
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


def test_executor_future_without_outcome_has_no_result_edge(record):
    run = record(
        """
        import threading
        from concurrent.futures import Future, ThreadPoolExecutor, wait

        release = threading.Event()
        with ThreadPoolExecutor(1, "pool") as pool:
            running = pool.submit(release.wait)
            try: running.result(0.01)
            except TimeoutError: pass
            assert not running.cancel()
            assert not wait([running], 0.01).done
            release.set()
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.submit", "executor.result") == Counter({("executor.submit", "MainThread", "pool_0"): 1})


def test_result_of_cancelled_future_depends_on_its_cancellation(record):
    run = record(
        """
        import threading
        from concurrent.futures import CancelledError, ThreadPoolExecutor

        release = threading.Event()
        def cancel(future): assert future.cancel()
        def again(future): assert future.cancel()
        def take(future):
            try: future.result()
            except CancelledError: pass

        with ThreadPoolExecutor(1, "pool") as pool:
            pool.submit(release.wait)
            waiting = pool.submit(print)
            cancel(waiting)
            again(waiting)
            take(waiting)
            release.set()
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.submit", "executor.result") == Counter(
        {
            ("executor.submit", "MainThread", "pool_0"): 1,
            ("executor.result", "MainThread/cancel", "MainThread/take"): 1,
        }
    )


def test_done_callback_scope_is_caused_by_outcome_and_registration(record):
    run = record(
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor

        release = threading.Event()
        def work(): release.wait()
        def early(future): pass
        def late(future): pass
        def add_early(future): future.add_done_callback(early)
        def add_late(future): future.add_done_callback(late)

        with ThreadPoolExecutor(1, "pool") as pool:
            future = pool.submit(work)
            add_early(future)
            release.set()
        add_late(future)
        assert future._done_callbacks[0] is not None
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("executor.result", "executor.callback") == Counter(
        {
            ("executor.result", "pool_0", "pool_0"): 1,
            ("executor.callback", "MainThread/add_early", "pool_0"): 1,
            ("executor.result", "pool_0", "MainThread/add_late"): 1,
            ("executor.callback", "MainThread/add_late", "MainThread/add_late"): 1,
        }
    )
    kinds = [str(Kind(placed.event.kind).name) for placed in run.events if placed.strand == "pool_0"]
    assert kinds == [
        "JOIN", "SCOPE_BEGIN", "ENTER", "EXIT", "SEND",
        "SCOPE_BEGIN", "JOIN", "ENTER", "EXIT", "SCOPE_END",
        "SCOPE_END", "SEND",
    ]  # fmt: skip


def test_done_callback_that_fails_is_reported_as_untraced_and_ends_scope(record):
    source = """
        import logging
        from concurrent.futures import Future
        logging.basicConfig(format="%(message)s")

        def fails(future): 1 / 0

        future = Future()
        try: future.add_done_callback(3)
        except TypeError as error: print(error)
        future.add_done_callback(fails)
        future.set_result(1)
        """
    traced, untraced = record(source, logs=None), record(source, environment={"CLEW_RUN": ""})

    def without_addresses(text):
        return re.sub("0x[0-9a-f]+", "", text)

    assert without_addresses(traced.stderr) == without_addresses(untraced.stderr) != ""
    assert len(traced.of(Kind.SCOPE_BEGIN)) == len(traced.of(Kind.SCOPE_END)) == 1


def test_as_completed_depends_on_each_future_when_it_yields_it(record):
    run = record(
        """
        from concurrent.futures import Future, as_completed

        def settle_one(future): future.set_result(1)
        def settle_two(future): future.set_exception(ValueError())
        def first(iterator): return next(iterator)
        def rest(iterator): return list(iterator)

        one, two, never = Future(), Future(), Future()
        settle_one(one)
        iterator = as_completed([one, two, never], timeout=0.5)
        assert first(iterator) is one
        settle_two(two)
        try: rest(iterator)
        except TimeoutError: pass
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter(
        {
            ("executor.result", "MainThread/settle_one", "MainThread/first"): 1,
            ("executor.result", "MainThread/settle_two", "MainThread/rest"): 1,
        }
    )


def test_as_completed_accepts_any_class_and_is_invisible_to_settrace(record):
    """A class that behaves as futures do works, and `sys.settrace` sees the same frames as without recording."""
    program = """
        import sys, threading
        from concurrent.futures import Future, as_completed

        class Alike:
            def __init__(self):
                self._condition, self._state, self._waiters = threading.Condition(), "FINISHED", []

        def tracer(frame, event, argument):
            seen.append((frame.f_code.co_filename.rpartition("/")[2], frame.f_code.co_name))

        seen = []
        one = Future()
        one.set_result(1)
        futures = [one, Alike()]
        sys.settrace(tracer)
        found = list(as_completed(futures))
        sys.settrace(None)
        assert set(found) == set(futures)
        print(sorted(seen))
        """
    run, plain = record(program), record(program, environment={"CLEW_RUN": ""})
    assert run.code == 0, run.stderr
    assert run.stdout == plain.stdout != ""


def test_executor_initializer_is_caused_by_submit_that_started_its_thread(record):
    run = record(
        """
        from concurrent.futures import ThreadPoolExecutor

        def prepare(): pass
        def work(): pass
        def submit(pool): pool.submit(work).result()

        with ThreadPoolExecutor(1, "pool", initializer=prepare) as pool: submit(pool)
        """
    )
    assert run.edges("thread.start", "executor.submit") == Counter(
        {("thread.start", "MainThread/submit", "pool_0"): 1, ("executor.submit", "MainThread/submit", "pool_0"): 1}
    )
    pool = [placed.event.kind for placed in run.events if placed.strand == "pool_0"]
    assert pool[:4] == [Kind.JOIN, Kind.ENTER, Kind.EXIT, Kind.SCOPE_BEGIN]


def test_future_refused_second_outcome_is_not_a_cause(record):
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


def test_executor_map_and_wait_depend_on_every_outcome(record):
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
