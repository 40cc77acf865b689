"""Work that is cancelled stops at once, wherever it is, and nothing reaches what its thread does afterwards."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.server.task import Cancelled, Task


def spin(task):
    """Python that never looks whether it is wanted."""
    number = 0
    while True:
        number += 1


def test_work_that_never_looks_is_interrupted():
    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(task.run, spin)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        assert workers.submit(lambda: "still there").result(30) == "still there"


def test_those_who_handle_errors_do_not_swallow_an_interruption():
    def stubborn(task):
        while True:
            try:
                spin(task)
            except Exception:
                continue

    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(task.run, stubborn)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)


def test_work_that_was_cancelled_before_it_began_does_not_begin():
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        task.run(lambda _task: pytest.fail("it began"))


def test_what_comes_after_the_work_is_never_interrupted():
    """Cancelled at any instant around its end, the thread goes on unharmed: with the answer, or cancelled."""
    with ThreadPoolExecutor(1) as workers:
        for attempt in range(300):
            task = Task()
            future = workers.submit(task.run, lambda _task: sum(range(200)))
            for _ in range(attempt % 50):
                pass
            task.cancel()
            try:
                assert future.result(30) == sum(range(200))
            except Cancelled:
                pass
            assert workers.submit(lambda: sum(range(1000))).result(30) == 499_500


def test_a_lock_that_another_holds_is_not_waited_for_in_vain():
    lock = threading.Lock()
    lock.acquire()

    def work(task):
        with task.hold(lock):
            return "held"

    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(task.run, work)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        lock.release()
        assert workers.submit(Task().run, work).result(30) == "held"
        assert not lock.locked()
