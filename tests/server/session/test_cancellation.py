"""Work that is cancelled stops at once, wherever it is, and nothing reaches what its thread does afterwards."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from clew.server.session.cancellation import Cancelled, Task


@contextmanager
def cancelled(work):
    """A thread that is in the middle of some work when that is cancelled; it has to end, and the thread goes on."""
    with ThreadPoolExecutor(1) as workers:
        task, begun = Task(), threading.Event()
        future = workers.submit(work, task, begun.set)
        assert begun.wait(30)
        task.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        yield workers
        assert workers.submit(lambda: "still there").result(30) == "still there"


def test_work_that_never_looks_is_interrupted():
    def spin(task, begun):
        number = 0
        with task.interruptible():
            begun()
            while True:
                number += 1

    with cancelled(spin):
        pass


def test_those_who_handle_errors_do_not_swallow_an_interruption():
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


def test_cancelled_task_calls_its_waiter_once_and_only_while_it_waits():
    task, told = Task(), []
    with task.when_unwanted(lambda: told.append("before")):
        assert told == []
    with pytest.raises(Cancelled), task.when_unwanted(lambda: told.append("told")):
        task.cancel()
        task.cancel()
        task.check()
    assert told == ["told"]
    with pytest.raises(Cancelled), task.when_unwanted(lambda: told.append("too late")):
        pytest.fail("it began")
    assert told == ["told"]


def test_a_section_of_work_that_was_cancelled_before_does_not_begin():
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled), task.interruptible():
        pytest.fail("it began")


def test_an_import_is_finished_first(tmp_path, monkeypatch):
    """The import system would never again import what it was interrupted in."""
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

    def work(task, begun):
        begun()
        with task.hold(lock):
            return "held"

    with cancelled(work) as workers:
        lock.release()
        assert workers.submit(work, Task(), lambda: None).result(30) == "held"
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
