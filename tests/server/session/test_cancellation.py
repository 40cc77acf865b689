"""Cancelled work stops at once, and the later work of its thread is unaffected."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from clew.server.session.cancellation import Cancelled, Task


@contextmanager
def cancelled(work):
    """Cancel work in the middle: the work must end, and its thread must stay usable."""
    with ThreadPoolExecutor(1) as workers:
        task, begun = Task(), threading.Event()
        future = workers.submit(work, task, begun.set)
        assert begun.wait(120)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(120)
        yield workers
        assert workers.submit(lambda: "still there").result(120) == "still there"


def test_task_cancel_interrupts_a_busy_loop():
    def spin(task, begun):
        number = 0
        with task.interruptible():
            begun()
            while True:
                number += 1

    with cancelled(spin):
        pass


def test_task_cancel_is_not_caught_by_except_exception():
    def stubborn(task, begun):
        with task.interruptible():
            begun()
            while True:
                try:
                    time.sleep(0.001)
                except Exception:
                    continue

    with cancelled(stubborn):
        pass


def test_task_when_unwanted_calls_back_once_and_only_while_inside():
    task, told = Task(), []
    with task.on_cancel(lambda: told.append("before")):
        assert told == []
    with pytest.raises(Cancelled), task.on_cancel(lambda: told.append("told")):
        task.cancel()
        task.cancel()
        task.check()
    assert told == ["told"]
    with pytest.raises(Cancelled), task.on_cancel(lambda: told.append("too late")):
        pytest.fail("it began")
    assert told == ["told"]


def test_task_interruptible_after_cancel_does_not_begin():
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled), task.interruptible():
        pytest.fail("it began")


def test_task_cancel_during_import_finishes_the_import_first(tmp_path, monkeypatch):
    """An interrupted import would leave a module that can never be imported again."""
    (tmp_path / "takes_a_while.py").write_text(
        "import threading, time\nthreading.current_thread().begun()\n"
        "for _ in range(300):\n    time.sleep(0.001)\ndone = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def work(task, begun):
        threading.current_thread().begun = begun
        with task.interruptible():
            import takes_a_while

            assert takes_a_while.done
            while True:
                pass

    with cancelled(work):
        assert sys.modules["takes_a_while"].done
    del sys.modules["takes_a_while"]


def count(task):
    with task.interruptible():
        return sum(range(200))


def test_task_cancel_at_the_end_leaves_the_thread_usable():
    """Cancelling at any instant around the end gives the answer or Cancelled, and the thread stays usable."""
    with ThreadPoolExecutor(1) as workers:
        for attempt in range(300):
            task = Task()
            future = workers.submit(count, task)
            for _ in range(attempt % 50):
                pass
            task.cancel()
            try:
                assert future.result(120) == sum(range(200))
            except Cancelled:
                pass
            assert workers.submit(lambda: sum(range(1000))).result(120) == 499_500


def test_task_hold_cancelled_while_waiting_for_a_lock_raises():
    lock = threading.Lock()
    lock.acquire()

    def work(task, begun):
        begun()
        with task.hold(lock):
            return "held"

    with cancelled(work) as workers:
        lock.release()
        assert workers.submit(work, Task(), lambda: None).result(120) == "held"
        assert not lock.locked()


def test_task_interruptible_leaves_no_pending_exception():
    """A thread with a trace function would hang otherwise: CPython keeps looking for a withdrawn exception."""
    for _ in range(3):
        with Task().interruptible():
            pass
    lines = []

    def trace(frame, event, argument):
        sys.settrace(None)
        lines.append(event)
        sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        count(Task())
    finally:
        sys.settrace(None)
    assert "return" in lines
