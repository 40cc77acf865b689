"""Conditions, events, semaphores, barriers: a wait has an edge from the call that ended it, and no other edge."""

from __future__ import annotations

from collections import Counter

import pytest


def test_condition_wait_depends_on_the_notify_that_ended_it(locks):
    run = locks(
        """
    condition = threading.Condition()
    ready = []

    def first():
        with condition:
            said.append(1)
            condition.wait()

    def second():
        with condition:
            said.append(1)
            condition.wait_for(lambda: ready)

    def notify_one():
        with condition: condition.notify()

    def notify_rest():
        with condition:
            ready.append(1)
            condition.notify_all()

    threads = start(first)
    until(lambda: len(said) == 1)
    threads += start(second)
    until(lambda: len(said) == 2)
    notify_one()
    threads[0].join()
    notify_rest()
    join(threads)
    """
    )
    assert run.syncs("condition") == Counter(
        {
            ("condition", "MainThread/notify_one", "first/first"): 1,
            ("condition", "MainThread/notify_rest", "second/second"): 1,
        }
    )


def test_condition_wait_notified_before_it_blocks_has_an_edge(locks):
    run = locks(
        """
    class Mutex:
        # Lets the notifier in between giving up the lock and waiting.
        def __init__(self): self.lock = threading.Lock()
        def acquire(self, *blocking): return self.lock.acquire(*blocking)
        def __enter__(self): return self.acquire()
        def __exit__(self, *exception): self.release()

        def release(self):
            self.lock.release()
            if said == [1] and threading.current_thread().name == "waiter":
                said.append(2)
                until(lambda: len(said) == 3)

    mutex = Mutex()
    condition = threading.Condition(mutex)

    def waiter():
        with condition:
            said.append(1)
            condition.wait()

    def notifier():
        with condition: condition.notify()

    threads = start(waiter)
    until(lambda: len(said) == 2)
    notifier()
    said.append(3)
    join(threads)
    """
    )
    assert run.syncs() == Counter({("condition", "MainThread/notifier", "waiter/waiter"): 1})


def test_event_set_has_edges_to_all_waits_and_checks(locks):
    run = locks(
        """
    event = threading.Event()

    def early():
        said.append(1)
        event.wait()

    def late(): assert event.wait()
    def look(): assert event.is_set()
    def first(): event.set()
    def again(): event.set()

    assert not event.is_set()
    threads = start(early)
    until(lambda: said)
    first()
    again()
    join(threads + start(late, look))
    event.clear()
    assert not event.is_set()
    """
    )
    assert run.syncs() == Counter(
        {
            ("event", "MainThread/first", "early/early"): 1,
            ("event", "MainThread/first", "late/late"): 1,
            ("event", "MainThread/first", "look/look"): 1,
        }
    )


def test_event_cleared_and_set_again_has_edges_from_the_later_set(locks):
    run = locks(
        """
    event = threading.Event()
    def first(): event.set()
    def second(): event.set()
    def waiter(): event.wait()

    first()
    event.clear()
    second()
    join(start(waiter))
    """
    )
    assert run.syncs() == Counter({("event", "MainThread/second", "waiter/waiter"): 1})


@pytest.mark.parametrize("make", ["Semaphore", "BoundedSemaphore"])
def test_semaphore_waiter_depends_on_the_release_that_admitted_it(locks, make):
    run = locks(
        f"""
    semaphore = threading.{make}(2)

    def one(): semaphore.release()
    def two(): semaphore.release()

    def waiter():
        said.append(1)
        with semaphore:
            said.append(2)
            until(lambda: len(said) > 3)

    semaphore.acquire(); semaphore.acquire()
    threads = start(waiter)
    until(lambda: said)
    one()
    until(lambda: len(said) == 2)
    two()
    said.extend((3, 4))
    join(threads)
    """
    )
    assert run.syncs() == Counter({("semaphore", "MainThread/one", "waiter/waiter"): 1})


def test_barrier_departures_depend_on_all_arrivals_and_on_the_last(locks):
    run = locks(
        """
    barrier = threading.Barrier(3)

    def early():
        said.append(1)
        barrier.wait()

    def middle():
        said.append(1)
        barrier.wait()

    def last(): barrier.wait()

    threads = start(early)
    until(lambda: len(said) == 1)
    threads += start(middle)
    until(lambda: len(said) == 2)
    join(threads + start(last))
    """
    )
    assert run.syncs("barrier") == Counter(
        {
            ("barrier", "early/early", "last/last"): 1,
            ("barrier", "middle/middle", "last/last"): 1,
            ("barrier", "last/last", "early/early"): 1,
            ("barrier", "last/last", "middle/middle"): 1,
        }
    )


def test_barrier_after_reset_does_not_depend_on_earlier_arrivals(locks):
    run = locks(
        """
    barrier = threading.Barrier(2)

    def gone():
        try: barrier.wait(0.01)
        except threading.BrokenBarrierError: barrier.reset()

    def one():
        said.append(1)
        barrier.wait()

    def two(): barrier.wait()

    join(start(gone))
    threads = start(one)
    until(lambda: said)
    join(threads + start(two))
    """
    )
    assert run.syncs("barrier") == Counter({("barrier", "one/one", "two/two"): 1, ("barrier", "two/two", "one/one"): 1})


def test_timer_cancelled_depends_on_the_cancel_call(locks):
    run = locks(
        """
    def cancel(timer): timer.cancel()
    timer = threading.Timer(1000, print)
    timer.name = "timer"
    timer.start()
    cancel(timer)
    timer.join()
    """
    )
    assert set(run.syncs()) == {("event", "MainThread/cancel", "timer")}
