"""Work that is cancelled stops at once, wherever it is, and nothing reaches what its thread does afterwards."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.server.task import Cancelled, Task


def spin(task):
    """Python that never looks whether it is wanted."""
    number = 0
    with task.interruptible():
        while True:
            number += 1


def test_work_that_never_looks_is_interrupted():
    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(spin, task)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        assert workers.submit(lambda: "still there").result(30) == "still there"


def test_those_who_handle_errors_do_not_swallow_an_interruption():
    def stubborn(task):
        with task.interruptible():
            while True:
                try:
                    time.sleep(0.001)
                except Exception:
                    continue

    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(stubborn, task)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)


def test_a_section_of_work_that_was_cancelled_before_does_not_begin():
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled), task.interruptible():
        pytest.fail("it began")


def test_an_import_is_finished_first(tmp_path, monkeypatch):
    """The import system would never again import what it was interrupted in."""
    (tmp_path / "takes_a_while.py").write_text("import time\nfor _ in range(300):\n    time.sleep(0.001)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def work(task):
        with task.interruptible():
            import takes_a_while

            assert takes_a_while.time
            while True:
                pass

    with ThreadPoolExecutor(1) as workers:
        task = Task()
        future = workers.submit(work, task)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
    assert "takes_a_while" in sys.modules
    del sys.modules["takes_a_while"]


def count(task):
    with task.interruptible():
        return sum(range(200))


def test_what_comes_after_the_work_is_never_interrupted():
    """Cancelled at any instant around its end, the thread goes on unharmed: with the answer, or cancelled."""
    with ThreadPoolExecutor(1) as workers:
        for attempt in range(300):
            task = Task()
            future = workers.submit(count, task)
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
        future = workers.submit(work, task)
        time.sleep(0.05)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        lock.release()
        assert workers.submit(work, Task()).result(30) == "held"
        assert not lock.locked()


def test_sections_leave_nothing_for_the_interpreter_to_look_for():
    """A thread with a trace function would hang: CPython looks for an exception that was taken back for ever."""
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
